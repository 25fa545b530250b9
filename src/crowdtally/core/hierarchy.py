"""Dyadic trees, Haar weights, sketch hashes, consistency."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crowdtally.core.numbers import is_whole
from crowdtally.errors import UsageError

# Dyadic trees over a table's axes: how nodes are numbered, and which nodes make up a range.
#
# An ordered axis of m values is padded, publicly, to 2^k leaves. Its nodes are numbered like a
# heap, from the root 0; the children of c are 2c+1 and 2c+2, and the leaf of value i is 2^k − 1 +
# i. A node of several axes is one node of each, numbered in mixed radix, the last axis fastest.
# So a node's number is always larger than those of its ancestors.

LARGEST_FACTOR = 10_000  # nodes that one record may count in: beyond it noise drowns every count


@dataclass(frozen=True)
class DyadicAxis:
    """One axis of a tree.

    >>> axis = DyadicAxis(6)
    >>> axis.levels, axis.nodes, axis.cover(1, 6)
    (3, 15, [8, 4, 5])
    """

    length: int
    """m: how many values it has."""
    ordered: bool = True
    """Whether ranges of it are asked; else it has no tree, and its nodes are its values."""

    def __post_init__(self) -> None:
        if not is_whole(self.length) or self.length < 1:
            raise UsageError(f"an axis needs at least one value: received {self.length!r}.")

    @property
    def levels(self) -> int:
        """k: steps from the root to a leaf."""
        return (self.length - 1).bit_length() if self.ordered else 0

    @property
    def leaves(self) -> int:
        """The number of leaves after padding."""
        return 1 << self.levels if self.ordered else self.length

    @property
    def nodes(self) -> int:
        """The number of nodes: 2^(k+1) − 1, or the values of an axis without a tree."""
        return 2 * self.leaves - 1 if self.ordered else self.length

    def cover(self, low: int, high: int) -> list[int]:
        """The fewest nodes whose leaves are low..high−1: at most 2k, or 1 where k = 0."""
        if not 0 <= low < high <= self.length:
            raise UsageError(
                f"a range must hold at least one of the {self.length} values of its axis: received "
                f"positions {low} to {high - 1}."
            )
        if not self.ordered:
            return list(range(low, high))
        # Heap numbers from 1, as usual: a left end that is a right child stands alone.
        left, right = low + self.leaves, high + self.leaves
        front, back = [], []
        while left < right:
            if left & 1:
                front.append(left - 1)
                left += 1
            if right & 1:
                right -= 1
                back.append(right - 1)
            left, right = left >> 1, right >> 1
        return front + back[::-1]


@dataclass(frozen=True)
class Dyadic:
    """The tree of a table.

    >>> tree = Dyadic.over([6, 3], ordered=[True, False])
    >>> tree.size, tree.factor, tree.cover([(0, 4), (2, 3)])
    (45, 4, [5])
    """

    axes: tuple[DyadicAxis, ...]
    """Slowest first."""

    def __post_init__(self) -> None:
        if not any(axis.ordered for axis in self.axes):
            raise UsageError("dyadic ranges need at least one ordered attribute.")
        if self.factor > LARGEST_FACTOR:
            raise UsageError(
                f"a record would count in {self.factor} nodes of this tree, with as many times the "
                f"noise; the most is {LARGEST_FACTOR}: use fewer ordered attributes."
            )

    @classmethod
    def over(cls, lengths: Sequence[int], *, ordered: Sequence[bool] | None = None) -> Dyadic:
        """The tree over axes of these lengths; all are ordered unless said otherwise."""
        which = [True] * len(lengths) if ordered is None else ordered
        return cls(tuple(DyadicAxis(*pair) for pair in zip(lengths, which, strict=True)))

    @property
    def cells(self) -> int:
        return prod(axis.length for axis in self.axes)

    @property
    def size(self) -> int:
        return prod(axis.nodes for axis in self.axes)

    @property
    def factor(self) -> int:
        """The number of nodes in which one record counts: Π(k_i + 1), one on each level."""
        return prod(axis.levels + 1 for axis in self.axes)

    def number(self, codes: Sequence[int]) -> int:
        """The number of the node that is node ``codes[i]`` on axis i."""
        number = 0
        for axis, code in zip(self.axes, codes, strict=True):
            number = number * axis.nodes + code
        return number

    def cover(self, ranges: Sequence[tuple[int, int]]) -> list[int]:
        """The nodes that make up a box, ascending; one half-open range of positions per axis."""
        if len(ranges) != len(self.axes):
            raise UsageError(
                f"a box needs one range for each of the {len(self.axes)} axes: received "
                f"{len(ranges)}."
            )
        pairs = zip(self.axes, ranges, strict=True)
        covers = [axis.cover(low, high) for axis, (low, high) in pairs]
        return sorted(self.number(codes) for codes in product(*covers))


def range_weights(levels: int, low: int, high: int) -> dict[int, float]:
    """The Haar coefficients whose weighted sum is that of the values low..high−1, with weights.

    Node j has weight (leaves of the range in its left half − in its right half)/(leaves of j), and
    the total (leaves of the range)/2^k: at most 2k nodes have any.

    >>> range_weights(2, 0, 1)
    {0: 0.25, 1: 0.25, 2: 0.5}
    """
    if not 0 <= low < high <= 1 << levels:
        raise UsageError(
            f"a range must hold at least one of {1 << levels} values: received positions {low} to "
            f"{high - 1}."
        )
    weights = {0: (high - low) / (1 << levels)}
    for level in range(levels):
        width = 1 << (levels - level)
        for end in {low // width, (high - 1) // width}:  # others lie wholly inside or outside
            start, half = end * width, end * width + width // 2
            left = max(0, min(high, half) - max(low, start))
            right = max(0, min(high, start + width) - max(low, half))
            if left != right:
                weights[(1 << level) + end] = (left - right) / width
    return dict(sorted(weights.items()))


# A dense dyadic tree made consistent: least squares in two passes (Hay et al.).
#
# The published nodes of one ordered axis have independent noise of one variance, and a node is the
# sum of its children. The counts that satisfy this and are closest to the published ones have the
# smallest variance of all linear unbiased estimates. Post-processing: it costs nothing.

Floats = NDArray[np.float64]


def consistent(nodes: ArrayLike) -> Floats:
    """The least-squares tree of a complete one: nodes in heap order from the root, all published.

    >>> consistent([7, 2, 3]).round(3).tolist()
    [6.333, 2.667, 3.667]
    """
    noisy = np.asarray(nodes, dtype=np.float64)
    if noisy.ndim != 1 or not _is_complete(len(noisy)):
        raise UsageError(
            f"a complete tree has 1, 3, 7, 15, … nodes in one flat array: received {noisy.size}."
        )
    return _downwards(_upwards(noisy))


def consistent_columns(nodes: ArrayLike) -> Floats:
    """The same for many trees at once: one in each column.

    >>> consistent_columns([[7, 3], [2, 1], [3, 2]]).round(3).tolist()
    [[6.333, 3.0], [2.667, 1.0], [3.667, 2.0]]
    """
    noisy = np.asarray(nodes, dtype=np.float64)
    if noisy.ndim != 2 or not _is_complete(len(noisy)):
        raise UsageError(
            "complete trees have 1, 3, 7, 15, … nodes, and stand in the columns of a table: "
            f"received an array of shape {noisy.shape}."
        )
    return _downwards(_upwards(noisy))


def _is_complete(nodes: int) -> bool:
    return nodes > 0 and nodes & (nodes + 1) == 0


def _levels(nodes: Floats) -> int:
    return len(nodes).bit_length() - 1


def _level(level: int) -> slice:
    return slice((1 << level) - 1, (2 << level) - 1)


def _siblings(nodes: Floats, level: int) -> Floats:
    """The nodes of a level, the two children of each node above it together."""
    row = nodes[_level(level)]
    return row.reshape(-1, 2, *row.shape[1:])


def _upwards(noisy: Floats) -> Floats:
    """The best estimate of each node from its own subtree.

    With 2^h leaves below it, a node's own value and the sum of its children's estimates are
    weighted by 2^h and 2^h − 1, the inverses of their variances up to a factor.
    """
    best = noisy.copy()
    for level in range(_levels(noisy) - 1, -1, -1):
        height = _levels(noisy) - level
        children = _siblings(best, level + 1).sum(axis=1)
        own, theirs = float(2**height), float(2**height - 1)
        best[_level(level)] = (own * noisy[_level(level)] + theirs * children) / (own + theirs)
    return best


def _downwards(best: Floats) -> Floats:
    """Divide what a node has more than its children equally between them."""
    final = best.copy()
    for level in range(_levels(best)):
        pairs = _siblings(best, level + 1)
        surplus = final[_level(level)] - pairs.sum(axis=1)
        children = pairs + surplus[:, None] / 2
        final[_level(level + 1)] = children.reshape(final[_level(level + 1)].shape)
    return final


def fitted_squares(size: int, nodes: Sequence[int]) -> float:
    """Σ weight² over all ``size`` nodes of a tree, for the fitted sum of some nodes.

    The weights of the fitted sum are the fit of those nodes' indicator: a projection is symmetric.
    """
    indicator = np.zeros(size)
    indicator[list(nodes)] = 1
    return float((consistent(indicator) ** 2).sum())


# The public hash functions of a count sketch: where each cell goes, and with which sign.
#
# Everybody who knows the seed can compute them. They are fixed before any record is read, so they
# affect accuracy, never privacy. For each row, bucket and sign are two hashes modulo 2^61 − 1: a
# cell's number, in 60-bit limbs x_j, is folded to z = Σ_j a_j·x_j, and the hash is a polynomial of
# degree 3 in z. With all coefficients uniform, four cells' values are independent (to within
# 2^-58). The variance of a sum over several cells needs four: with two, as for a straight line in
# z, the signs along a row of cells nearly cancel, for almost every seed.

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
    """N"""
    buckets: int
    """B, in each row."""
    rows: int
    """R, each with hashes of its own."""
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
        """The number of buckets; bucket j of row i has number i·B + j."""
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
