"""DFT: the first k noisy coefficients of a cosine transform, for a private k.

The method of Rastogi & Nath 2010, on counts of cells instead of a time series.

Contract. Relation: all records of one user added or removed; each user is cut to L records. For
each table, of its part ε_t of ε: half pays for k, of the powers of two up to 512 and N, with Pr
∝ exp(ε_c·q(k)/(2Δ)), q(k) = −(⌊√(H²‖x‖² − ‖A_k·x‖²)⌋ + expected noise), whose sensitivity is at
most Δ = ⌈H·Δ₂⌉, both ways: Δ₂ = √L where a user's cells are distinct, else L. Half pays for
A_k·x, integers of an integer matrix: they move by at most L·c_k in L1, c_k the largest L1 norm
of a column of A_k, and get discrete Laplace noise of scale L·c_k/(ε_t/2). All of A, c_k and H
are public. The proof note is ``dft.md``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import isqrt, sqrt
from typing import ClassVar, Self

import numpy as np
from flint import arb, fmpq
from numpy.typing import NDArray

from crowdtally.core.counts import Counts
from crowdtally.core.integers import Integers, largest
from crowdtally.core.privacy import Epsilon
from crowdtally.curator.counting.count import Reading
from crowdtally.curator.request.request import Subject
from crowdtally.errors import CrowdtallyError, UsageError
from crowdtally.lab.baselines.base import Bounded, Floats, keyed, laplace_part, noisy
from crowdtally.laws.balls import precision
from crowdtally.ledger import Part
from crowdtally.noise.draws import Draws

# The first rows of the orthonormal DCT-II times G, as integers: public, never whole.
#
# Row i, column j lies within 1 of G·s_i·cos(π·i·(2j+1)/(2N)), s_0 = √(1/N), s_i = √(2/N) else.
# The entries of row 0 are equal, and all others are among 4N numbers: so the matrix is looked up,
# in blocks of columns. What a proof needs of it is in ``dft.md``.

GRID = 2**32
"""G: so fine that rounding changes a tail by a thousandth of the table's norm, or less."""
MOST_ROWS = 512
_BLOCK = 4096
_WORD = 2**63


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

    def inverse(self, coefficients: Sequence[int]) -> Floats:
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
    candidates = tuple(2**i for i in range(MOST_ROWS.bit_length()) if 2**i <= min(cells, MOST_ROWS))
    starts = [0, *candidates[:-1]]
    norms = np.zeros(len(candidates), dtype=np.int64)
    for _, entries in _blocks(cells, candidates[-1]):
        sums = np.cumsum(np.add.reduceat(np.abs(entries), starts, axis=0), axis=0)
        norms = np.maximum(norms, sums.max(axis=1))
    return Basis(cells, candidates, tuple(norms.tolist()))


def _blocks(cells: int, rows: int) -> Iterator[tuple[slice, NDArray[np.int64]]]:
    """Some columns, and the entries of all rows there."""
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


# The choice of k, and the noisy coefficients.

CHOICE = Fraction(1, 2)
"""The part of a table's ε that pays for k. With a tenth, k is often one that drowns in noise."""
LARGEST = 4_000_000
"""The most cells: 512 rows of so many are a minute's work."""


@dataclass(frozen=True, eq=False)
class Spectrum:
    """What is counted of one table: exact, private."""

    coefficients: Integers
    """A·x."""
    energy: int
    """‖x‖², the sum of the squares of the counts."""
    l1_bound: int
    """L."""
    distinct: bool
    """Whether a user adds at most 1 to a cell."""
    basis: Basis
    """A."""

    @classmethod
    def of(cls, counts: Counts, *, distinct: bool) -> Spectrum:
        matrix = basis(counts.size)
        energy = sum(value * value for value in counts.values.tolist())
        return cls(matrix.coefficients(counts.dense()), energy, counts.l1_bound, distinct, matrix)

    def tails(self) -> list[int]:
        """For each k the norm of what its coefficients leave out, rounded down; in units of 1/G."""
        squares = np.cumsum(self.coefficients**2)
        whole = self.basis.norm**2 * self.energy
        return [isqrt(whole - int(squares[k - 1])) for k in self.basis.candidates]

    @property
    def tail_bound(self) -> int:
        """Δ: the most by which one user changes a tail."""
        squared = self.l1_bound if self.distinct else self.l1_bound**2
        return root_up(self.basis.norm**2 * squared)

    def scales(self, epsilon: Epsilon) -> list[Fraction]:
        """For each k the scale of the noise."""
        return [self.l1_bound * norm / epsilon.value for norm in self.basis.column_norms]

    def scores(self, epsilon: Epsilon) -> list[int]:
        """q(k), exact; ``epsilon`` is what the coefficients will be measured with."""
        candidates = zip(self.basis.candidates, self.scales(epsilon), strict=True)
        noises = [isqrt(int(2 * k * scale**2)) for k, scale in candidates]
        return [-(tail + noise) for tail, noise in zip(self.tails(), noises, strict=True)]


class DFT(Bounded):
    """A private k, k noisy coefficients, and the smooth counts that have them."""

    name: ClassVar[str] = "dft"

    @classmethod
    def of(cls, subject: Subject, limit: int, *, is_uncut: bool = False) -> Self:
        bounded = super().of(subject, limit, is_uncut=is_uncut)
        for table in bounded.tables:
            if table.cells.size > LARGEST:
                raise UsageError(
                    f"the method 'dft' transforms at most {LARGEST:,} cells: the table "
                    f"{table.name!r} has {table.cells.size:,}. Leave dft out of --methods."
                )
        return bounded

    def parts(self, epsilon: Epsilon) -> Sequence[Part]:
        """For each table the choice of k and the coefficients."""
        parts = []
        for table in self.at(epsilon):
            matrix = basis(table.cells.size)
            first, second = table.epsilon * CHOICE, table.epsilon * (1 - CHOICE)
            of = {"largest_candidate": matrix.candidates[-1]}
            parts.append(Part(f"{table.name} choose", first, "exponential", of))
            most = table.bound * matrix.column_norms[-1]
            parts.append(laplace_part(f"{table.name} coefficients", second, most, chosen=True))
        return parts

    def count(self, reading: Reading, seed: int) -> dict[str, Spectrum]:
        counts = self.counts(keyed(reading, seed))
        return {name: Spectrum.of(one, distinct=self.distinct) for name, one in counts.items()}

    def estimate(self, counted: Spectrum, epsilon: Epsilon, draws: Draws) -> Floats:
        return counted.basis.inverse(measured(counted, epsilon, draws).tolist())


def measured(spectrum: Spectrum, epsilon: Epsilon, draws: Draws) -> Integers:
    """The first k coefficients with their noise; their number is k."""
    for_choice, for_measure = epsilon * CHOICE, epsilon * (1 - CHOICE)
    rate = for_choice.value / (2 * spectrum.tail_bound)
    place = draws.choose(spectrum.scores(for_measure), rate)
    first = spectrum.coefficients[: spectrum.basis.candidates[place]]
    bound = spectrum.l1_bound * spectrum.basis.column_norms[place]
    return noisy(first, bound, for_measure, draws)
