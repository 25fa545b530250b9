"""The first rows of the orthonormal DCT-II times G, as integers: public, never whole.

Row i, column j lies within 1 of G·s_i·cos(π·i·(2j+1)/(2N)), s_0 = √(1/N), s_i = √(2/N) else. The
entries of row 0 are equal, and all others are among 4N numbers: so the matrix is looked up, in
blocks of columns. What a proof needs of it is in ``dft.md``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import isqrt, sqrt

import numpy as np
from flint import arb, fmpq
from numpy.typing import NDArray

from crowdtally.core.numbers import Integers, largest
from crowdtally.errors import CrowdtallyError
from crowdtally.laws.balls import precision

GRID = 2**32
"""G: so fine that rounding changes a tail by a thousandth of the table's norm, or less."""
MOST_ROWS = 512
_BLOCK = 4096
_WORD = 2**63

Columns = tuple[slice, NDArray[np.int64]]
"""Some columns, and the entries of all rows there."""


@dataclass(frozen=True)
class Basis:
    """The integer matrix A for N cells, and what one cell can move through it."""

    cells: int
    """N."""
    candidates: tuple[int, ...]
    """The numbers of rows to choose from: powers of two, at most 512 and N."""
    column_norms: tuple[int, ...]
    """For each of them the largest L1 norm of a column of so many rows."""

    @property
    def norm(self) -> int:
        """H: at least the L2 norm of A as a map, of all its rows or of the first of them."""
        return GRID + root_up(self.candidates[-1] * self.cells)

    def coefficients(self, counts: NDArray[np.int64]) -> Integers:
        """A·counts, exactly, as Python integers."""
        total = np.zeros(self.candidates[-1], dtype=object)
        for columns, entries in _blocks(self.cells, self.candidates[-1]):
            total += _product(entries, counts[columns]).astype(object)
        return total

    def inverse(self, coefficients: Sequence[int]) -> NDArray[np.float64]:
        """The counts that have these first coefficients, and zero for the others. Approximate."""
        first = np.array([float(value) for value in coefficients]) / GRID
        first *= np.where(np.arange(len(first)), sqrt(2 / self.cells), sqrt(1 / self.cells))
        turned = first * np.exp(0.5j * np.pi * np.arange(len(first)) / self.cells)
        waves = np.fft.ifft(turned, 2 * self.cells) * (2 * self.cells)
        return np.asarray(waves.real[: self.cells], dtype=np.float64)


def _product(entries: NDArray[np.int64], counts: NDArray[np.int64]) -> Integers:
    """No sum can leave 64 bits, or else it is one of Python integers: the same numbers."""
    if largest(entries.ravel()) * largest(counts) * len(counts) < _WORD:
        return np.asarray(entries @ counts)
    return np.asarray(entries.astype(object) @ counts.astype(object))


@lru_cache(maxsize=8)
def basis(cells: int) -> Basis:
    """The matrix for so many cells. A function of public numbers, so it is computed once."""
    candidates = tuple(2**i for i in range(MOST_ROWS.bit_length()) if 2**i <= min(cells, MOST_ROWS))
    starts = [0, *candidates[:-1]]
    norms = np.zeros(len(candidates), dtype=np.int64)
    for _, entries in _blocks(cells, candidates[-1]):
        sums = np.cumsum(np.add.reduceat(np.abs(entries), starts, axis=0), axis=0)
        norms = np.maximum(norms, sums.max(axis=1))
    return Basis(cells, candidates, tuple(norms.tolist()))


def _blocks(cells: int, rows: int) -> Iterator[Columns]:
    first, others = _entries(cells)
    numbers = np.arange(rows)[:, None]
    for start in range(0, cells, _BLOCK):
        columns = slice(start, min(start + _BLOCK, cells))
        odd = 2 * np.arange(columns.start, columns.stop) + 1
        entries = others[numbers * odd % (4 * cells)]
        entries[0] = first
        yield columns, entries


@lru_cache(maxsize=4)
def _entries(cells: int) -> tuple[int, NDArray[np.int64]]:
    """The entry of row 0, and those of the angles 0, 1, …, 4N−1 in units of π/(2N)."""
    with precision(128):
        height = GRID * (arb(2) / cells).sqrt()
        quarter = [_near(height * arb.cos_pi_fmpq(fmpq(m, 2 * cells))) for m in range(cells)]
        first = _near(GRID / arb(cells).sqrt())
    half = np.array([*quarter, 0, *(-value for value in quarter[:0:-1])], dtype=np.int64)
    return first, np.concatenate([half, -half])


def _near(value: arb) -> int:
    """An integer that certainly lies within 1 of a real number."""
    found = round(float(value))
    if not abs(value - found) < 1:
        raise CrowdtallyError("a cosine could not be certified: this is a fault of the program.")
    return found


def root_up(square: int) -> int:
    """The least integer that is at least the root of ``square``.

    >>> [root_up(n) for n in (0, 1, 2, 4, 5)]
    [0, 1, 2, 2, 3]
    """
    return isqrt(square - 1) + 1 if square else 0
