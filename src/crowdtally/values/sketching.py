"""The public hash functions of a count sketch: where each cell goes, and with which sign.

Everybody who knows the seed can compute them. They are fixed before any record is read, so they
decide nothing that is private; what they decide is accuracy. For each row, bucket and sign are two
hashes modulo 2^61 − 1: a cell's number, in 60-bit limbs x_j, is folded to z = Σ_j a_j·x_j, and the
hash is a polynomial of degree 3 in z. With all coefficients uniform, four cells' values are
independent (to within 2^-58). The variance of a sum over several cells needs four: with two, as a
straight line in z has, the signs along a row of cells nearly cancel, for almost every seed.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdtally.errors import UsageError
from crowdtally.values.whole import is_whole

PRIME = (1 << 61) - 1
_LIMB = 60
_LARGEST = 1 << 40

Words = NDArray[np.uint64]


@dataclass(frozen=True)
class Sketching:
    """B buckets × R rows over a domain of N cells.

    >>> places, signs = Sketching(10**30, buckets=4, rows=2, seed=7).places(np.array([5, 6]), 0)
    >>> bool((places < 4).all() and (abs(signs) == 1).all())
    True
    """

    cells: int
    """N: how many cells are hashed."""
    buckets: int
    """B: buckets in a row."""
    rows: int
    """R: rows, each with hashes of its own."""
    seed: int
    """Public; chosen before the records are read."""

    def __post_init__(self) -> None:
        for name in ("cells", "buckets", "rows"):
            value = getattr(self, name)
            if not is_whole(value) or value < 1:
                raise UsageError(
                    f"a sketch needs a whole number of {name}, at least 1: received {value!r}."
                )
        if self.buckets * self.rows > _LARGEST:
            raise UsageError(
                f"a sketch of {self.buckets} buckets × {self.rows} rows is too large: use fewer."
            )
        if not is_whole(self.seed) or self.seed < 0:
            raise UsageError("the seed of a sketch must be a whole number of at least 0.")

    @property
    def size(self) -> int:
        """Buckets in all; bucket j of row i has number i·B + j."""
        return self.buckets * self.rows

    def places(self, cells: NDArray[Any], row: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The bucket of each cell in this row, 0..B−1, and its sign, ±1."""
        limbs = _limbs(cells, self.cells)
        bucket = self._hash(limbs, f"bucket {row}") % np.uint64(self.buckets)
        sign = self._hash(limbs, f"sign {row}") & np.uint64(1)
        return bucket.astype(np.int64), 1 - 2 * sign.astype(np.int64)

    def _hash(self, limbs: list[Words], purpose: str) -> Words:
        folded = np.zeros(limbs[0].shape, dtype=np.uint64)
        for place, limb in enumerate(limbs):
            folded = _reduced(folded + _times(limb, self._coefficient(f"{purpose}, limb {place}")))
        total = np.zeros(limbs[0].shape, dtype=np.uint64)
        for power in (3, 2, 1, 0):
            term = self._coefficient(f"{purpose}, power {power}")
            total = _reduced(_times(total, folded) + term)
        return total

    def _coefficient(self, purpose: str) -> np.uint64:
        text = f"crowdtally sketch, seed {self.seed}, {purpose}"
        digest = hashlib.blake2b(text.encode(), digest_size=32).digest()
        return np.uint64(int.from_bytes(digest) % PRIME)


def _limbs(cells: NDArray[Any], size: int) -> list[Words]:
    """The cells' numbers in base 2^60, lowest first; as many places as the domain needs."""
    places = max(1, -(-(size - 1).bit_length() // _LIMB))
    mask = (1 << _LIMB) - 1
    return [((cells >> _LIMB * place) & mask).astype(np.uint64) for place in range(places)]


def _times(values: Words, factors: Words | np.uint64) -> Words:
    """values·factors mod 2^61 − 1, in 64-bit steps: both are below 2^61."""
    low31, low30 = np.uint64((1 << 31) - 1), np.uint64((1 << 30) - 1)
    high, low = values >> np.uint64(31), values & low31
    factor_high, factor_low = factors >> np.uint64(31), factors & low31
    middle = high * factor_low + low * factor_high
    # 2^62 ≡ 2, and middle·2^31 = (middle ≫ 30)·2^61 + (middle & low30)·2^31
    total = np.uint64(2) * high * factor_high + low * factor_low
    total = total + (middle >> np.uint64(30)) + ((middle & low30) << np.uint64(31))
    return _reduced(total)


def _reduced(values: Words) -> Words:
    """The same modulo 2^61 − 1, below it."""
    prime = np.uint64(PRIME)
    values = (values & prime) + (values >> np.uint64(61))
    return np.where(values >= prime, values - prime, values)
