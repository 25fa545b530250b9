"""DFT: the first k noisy coefficients of a cosine transform, for a private k.

The method of Rastogi & Nath 2010, on counts of cells instead of a time series.

Contract. Relation: all records of one user added or removed; each user is cut to L records. For
each table, of its part ε_t of ε: half pays for k, of the powers of two up to 512 and N, with
Pr ∝ exp(ε_c·q(k)/(2Δ)), q(k) = −(⌊√(H²‖x‖² − ‖A_k·x‖²)⌋ + expected noise), whose sensitivity is
at most Δ = ⌈H·Δ₂⌉, both ways: Δ₂ = √L where a user's cells are distinct, else L. Half pays for
A_k·x, integers of an integer matrix: they move by at most L·c_k in L1, c_k the largest L1 norm
of a column of A_k, and get discrete Laplace noise of scale L·c_k/(ε_t/2). All of A, c_k and H are
public. The proof note is ``dft.md``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from crowdtally.core.counts import Counts
from crowdtally.core.numbers import Integers
from crowdtally.core.privacy import Epsilon
from crowdtally.curator.converse import Reading
from crowdtally.curator.request.request import Subject
from crowdtally.errors import UsageError
from crowdtally.lab.baselines.baseline import (
    Bounded,
    Estimates,
    each_table,
    keyed,
    laplace_part,
    noisy,
)
from crowdtally.lab.baselines.basis import Basis, basis, root_up
from crowdtally.ledger import Part
from crowdtally.noise.draws import Draws

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
        """Of a table."""
        matrix = basis(counts.size)
        energy = sum(value * value for value in counts.values.tolist())
        coefficients = matrix.coefficients(counts.dense())
        return cls(coefficients, energy, counts.l1_bound, distinct, matrix)

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


@dataclass(frozen=True)
class DFT:
    """A private k, k noisy coefficients, and the smooth counts that have them."""

    name: ClassVar[str] = "dft"

    bounded: Bounded
    """The tables, each user cut to L records."""

    @classmethod
    def of(cls, subject: Subject, limit: int, *, is_uncut: bool = False) -> DFT:
        """At most ``limit`` records of a user count; ``is_uncut`` where nobody has more."""
        bounded = Bounded.of(subject, limit, is_uncut=is_uncut)
        for table in bounded.tables:
            if table.cells.size > LARGEST:
                raise UsageError(
                    f"the method 'dft' transforms at most {LARGEST:,} cells: the table "
                    f"{table.name!r} has {table.cells.size:,}. Leave dft out of --methods."
                )
        return cls(bounded)

    def parts(self, epsilon: Epsilon) -> Sequence[Part]:
        """For each table the choice of k and the coefficients."""
        found = []
        for table in self.bounded.at(epsilon):
            matrix = basis(table.cells.size)
            first, second = table.epsilon * CHOICE, table.epsilon * (1 - CHOICE)
            of = {"largest_candidate": matrix.candidates[-1]}
            found.append(Part(f"{table.name} choose", first, "exponential", of))
            most = table.bound * matrix.column_norms[-1]
            found.append(laplace_part(f"{table.name} coefficients", second, most, chosen=True))
        return found

    def count(self, reading: Reading, seed: int) -> dict[str, Spectrum]:
        """The coefficients of every table."""
        counts, distinct = self.bounded.count(keyed(reading, seed)), self.bounded.distinct
        return {name: Spectrum.of(table, distinct=distinct) for name, table in counts.items()}

    def release(self, counted: Mapping[str, Spectrum], epsilon: Epsilon, draws: Draws) -> Estimates:
        """The counts that the noisy coefficients have."""

        def smooth(spectrum: Spectrum, share: Epsilon) -> NDArray[np.float64]:
            return spectrum.basis.inverse(measured(spectrum, share, draws).tolist())

        return each_table(self.bounded.at(epsilon), counted, smooth)


def measured(spectrum: Spectrum, epsilon: Epsilon, draws: Draws) -> Integers:
    """The first k coefficients with their noise; their number is k."""
    for_choice, for_measure = epsilon * CHOICE, epsilon * (1 - CHOICE)
    rate = for_choice.value / (2 * spectrum.tail_bound)
    place = draws.choose(spectrum.scores(for_measure), rate)
    first = spectrum.coefficients[: spectrum.basis.candidates[place]]
    bound = spectrum.l1_bound * spectrum.basis.column_norms[place]
    return noisy(first, bound, for_measure, draws)
