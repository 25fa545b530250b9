"""Private choice of θ and the scaling together: DPSense's Algorithm 2."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdtally.core.numbers import exact, show, whole_number
from crowdtally.core.privacy import Epsilon, Price
from crowdtally.curator.choices.bounds import NoiseCost, RowTable, check_theta
from crowdtally.errors import UsageError
from crowdtally.noise.draws import Draws

# The exact errors that DPSense-S scores, for all θ and all scalings at once.
#
# Notation: K the ascending integer numerators of the scalings s = k/D; G the grid; c_j the total
# of column j; C_j(θ) = Σ_ρ w_ρ(θ)·(total of column j in rows of sum ρ), with the row's weight
# w_ρ(θ) = G if ρ ≤ θ, else θ·⌊G/ρ⌋. Wanted: E(θ, k) = Σ_j |k·C_j(θ) − D·G·c_j|, an integer.
#
# Two facts make it fast. From θ−1 to θ a row of sum ρ ≥ θ gains ⌊G/ρ⌋, and once, when ρ = θ, the
# rest up to G: one slope per column, changed once per entry of the table. And C_j(θ) never falls,
# so the least k with k·C_j ≥ D·G·c_j, column j's *bucket*, never rises: bucket sums are carried
# along, and only a column that leaves its bucket is touched. In all O(entries + θ_max·(N + |K|) +
# N·|K|).

Integers = NDArray[Any]


def truncation_errors(
    table: RowTable, *, most: int, numerators: Sequence[int], whole: int, grid: int
) -> Integers:
    """E(θ, k) for θ = 1..``most`` (rows) and the ascending k of ``numerators`` (columns). Exact.

    Of N columns ``table`` has those that somebody has; ``whole`` is D, ``grid`` is G.
    """
    # Every intermediate value is at most 4·D·G·Σ_j c_j: see dpsense_s.md.
    largest = 4 * whole * grid * int(table.totals.sum())
    kind = np.int64 if largest < 2**63 else object
    last = min(most, int(table.sums.max(initial=0)))
    # Columns that nobody has err by 0 for every θ and s: they are left out, so N may be 10^12.
    columns, places = np.unique(table.columns, return_inverse=True)
    table = RowTable(table.sums, places.astype(np.int64), table.totals)
    sweep = _Sweep(table, len(columns), np.array(numerators, dtype=kind), whole, grid)
    scaled = np.zeros((last, len(numerators) + 1), dtype=kind)  # Σ C_j by θ and bucket
    true = np.zeros_like(scaled)  # Σ D·G·c_j by θ and bucket
    for theta, leaving in enumerate(_by_row_sum(table, last), 1):
        sweep.advance(theta, *leaving)
        scaled[theta - 1], true[theta - 1] = sweep.scaled, sweep.true
    errors = np.zeros((most, len(numerators)), dtype=kind)
    errors[:last] = _from_buckets(scaled, true, sweep.numerators)
    if last:
        errors[last:] = errors[last - 1]  # past the largest row only the noise term changes
    return errors


def _by_row_sum(table: RowTable, last: int) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """(columns, totals) of the entries with row sum 1, 2, … last."""
    sums = np.minimum(table.sums, last + 1)
    order = np.argsort(sums, kind="stable")
    columns, totals = table.columns[order], table.totals[order]
    ends = np.searchsorted(sums[order], np.arange(last + 1), side="right")
    return [(columns[a:b], totals[a:b]) for a, b in pairwise(ends.tolist())]


def _from_buckets(scaled: Integers, true: Integers, numerators: Integers) -> Integers:
    """E(θ, k) = 2·Σ_{j: k·C_j ≥ D·G·c_j} (k·C_j − D·G·c_j) + Σ_j D·G·c_j − k·Σ_j C_j."""
    over = numerators * np.cumsum(scaled[:, :-1], axis=1) - np.cumsum(true[:, :-1], axis=1)
    every = true.sum(axis=1, keepdims=True) - numerators * scaled.sum(axis=1, keepdims=True)
    return np.asarray(2 * over + every)


class _Sweep:
    """The columns at one θ, and their sums by bucket.

    Bucket t holds the columns j with K[t−1]·C_j < D·G·c_j ≤ K[t]·C_j; the last one, t = |K|, those
    that no k lifts to their true total, C_j = 0 among them.
    """

    def __init__(
        self, table: RowTable, cells: int, numerators: Integers, whole: int, grid: int
    ) -> None:
        kind = numerators.dtype
        self.numerators = numerators
        self.grid = grid
        self._true = np.zeros(cells, dtype=kind)  # D·G·c_j
        np.add.at(self._true, table.columns, table.totals.astype(kind) * (whole * grid))
        self._slope = np.zeros(cells, dtype=kind)  # Σ ⌊G/ρ⌋·total over rows of sum ρ > θ
        np.add.at(self._slope, table.columns, table.totals.astype(kind) * (grid // table.sums))
        self._scaled = np.zeros(cells, dtype=kind)  # C_j
        self._bucket = np.full(cells, len(numerators))
        # A column leaves its bucket when K[t−1]·C_j reaches the goal. Below bucket 0 there is none,
        # and an empty column never moves: the factor 0 and the goal 1 say so.
        self._factors = np.concatenate((np.zeros(1, dtype=kind), numerators))
        self._factor = self._factors[self._bucket]
        self._goal = np.maximum(self._true, 1)
        self.scaled, self.true, self.slopes = (
            np.zeros(len(numerators) + 1, dtype=kind) for _ in range(3)
        )
        self.true[-1], self.slopes[-1] = self._true.sum(), self._slope.sum()

    def advance(self, theta: int, columns: Integers, totals: Integers) -> None:
        """From θ−1 to θ = ``theta``; the given entries are those of row sum θ."""
        self._scaled += self._slope
        self.scaled += self.slopes
        # Rows of sum θ now have weight θ·⌊G/θ⌋: make it G, and let them grow no more.
        step = self.grid // theta
        buckets, totals = self._bucket[columns], totals.astype(self._scaled.dtype, copy=False)
        for sums, place in ((self._scaled, columns), (self.scaled, buckets)):
            np.add.at(sums, place, totals * (self.grid - theta * step))
        for sums, place in ((self._slope, columns), (self.slopes, buckets)):
            np.subtract.at(sums, place, totals * step)
        self._move(np.flatnonzero(self._factor * self._scaled >= self._goal))

    def _move(self, columns: NDArray[np.intp]) -> None:
        scaled, true = self._scaled[columns], self._true[columns]
        least = -(-true // scaled)  # the least k with k·C_j ≥ D·G·c_j; C_j > 0, or it had not moved
        new = np.searchsorted(self.numerators, least)
        old, slope = self._bucket[columns], self._slope[columns]
        for sums, moved in ((self.scaled, scaled), (self.true, true), (self.slopes, slope)):
            np.subtract.at(sums, old, moved)
            np.add.at(sums, new, moved)
        self._bucket[columns], self._factor[columns] = new, self._factors[new]


SCORE_GRID = 17_297_280
"""Units per count: 24·lcm(1..16), so that the weights of short rows are not even rounded."""
SCALINGS = tuple(Fraction(k, 100) for k in range(100, 201))
_FINEST = 1_000_000


@dataclass(frozen=True)
class DPSenseSChoice:
    """DPSense-S's choice of (θ, s) (Day & Li 2015, Algorithm 2), exact and over all candidates.

    Contract. Relation: all records of one user added or removed. Score q_s(θ, s) = −(1/N)·Σ_j
    |s·c_j^θ − c_j| − s·θ/ε_p, where c_j^θ sums the rows weighted on the grid 1/G; its sensitivity
    is at most r, the cap per cell (1 for binary rows), both ways. Output law: (θ, s) of {1..θ_max}
    × scalings with Pr ∝ exp(ε_c·q_s/(2r)), which is ε_c-differentially private. The proof is in
    ``dpsense_s.md``.
    """

    cells: int
    """N: the columns, each of which will get noise."""
    most: int
    """θ_max."""
    epsilon: Epsilon
    published: Price
    cap: int = 1
    """r: the most that a user counts in one column; 1 for binary rows."""
    scalings: tuple[Fraction, ...] = SCALINGS
    """Ascending."""
    grid: int = SCORE_GRID
    """G: a row of sum ρ > θ weighs θ·⌊G/ρ⌋/G."""
    rooted: bool = False
    """Whether one user changes the published counts by √θ in L2, not by θ."""

    def __post_init__(self) -> None:
        check_scalings(self.scalings)
        whole_number(self.grid, "the grid of the weights", 1, 2**40)
        check_theta(self.most, self.cells, self.cap, self.most * len(self.scalings))

    def scores(self, table: RowTable) -> Integers:
        """q_s times the positive integer N·G·D·a, a units per count: θ in rows, s in columns.

        One user changes each entry by at most r·N·G·D·a.
        """
        if not table.fits(self.cells, self.cap):
            raise ValueError("the table does not belong to rows over these cells with this cap.")
        whole = self._whole
        numerators = [int(s * whole) for s in self.scalings]
        errors = truncation_errors(
            table, most=self.most, numerators=numerators, whole=whole, grid=self.grid
        )
        cost = NoiseCost(self.published, self.rooted)
        a, unit = cost.unit, self.cells * self.grid  # of the noise term: unit·k·(a times noise)
        noises = [cost.at(theta) for theta in range(1, self.most + 1)]
        # At least 1 instead of the largest error: numpy refuses to multiply even zeros, which
        # a database without records has, by an a beyond 64 bits.
        largest = a * max(int(errors.max(initial=0)), 1) + unit * numerators[-1] * noises[-1]
        kind = np.int64 if largest < 2**63 else object
        noise = unit * np.array(noises, dtype=kind)[:, None] * np.array(numerators, dtype=kind)
        return np.asarray(-(a * errors.astype(kind) + noise))

    @property
    def rate(self) -> Fraction:
        """ε_c/(2r) for scores in the units of :meth:`scores`. The ½ is needed: see the proof."""
        units = self.cells * self.grid * self._whole * NoiseCost(self.published).unit
        return self.epsilon.value / (2 * self.cap * units)

    def pick(self, table: RowTable, draws: Draws) -> tuple[int, Fraction]:
        """Returns (θ, s) distributed as Pr ∝ exp(ε_c·q_s/(2r)) over all candidates."""
        scores = self.scores(table).ravel()
        index = draws.choose(scores.tolist() if scores.dtype == object else scores, self.rate)
        row, column = divmod(index, len(self.scalings))
        return row + 1, self.scalings[column]

    @property
    def _whole(self) -> int:
        """D: every s is a multiple of 1/D."""
        return lcm(*(s.denominator for s in self.scalings))


def given_scalings(given: object, *, one: bool) -> tuple[Fraction, ...]:
    """The s to choose from, none for all of them; with ``one``, the only one."""
    pieces = (given,) if isinstance(given, str | int | float | Fraction) else given
    if not isinstance(pieces, list | tuple):
        kind = type(given).__name__
        raise UsageError(
            f"scalings of DPSenseS are numbers, such as [1, 1.1, 1.2]: received a {kind}."
        )
    scalings = tuple(exact(piece, "a scaling") for piece in pieces)
    if scalings:
        check_scalings(scalings)
    if one and len(scalings) != 1:
        raise UsageError(
            "DPSenseS needs one scaling, such as scalings=1.2, or choose=dpsense to choose from "
            "them."
        )
    return scalings


def check_scalings(scalings: tuple[Fraction, ...]) -> None:
    """Refuse scalings that the sensitivity is not proved for, or that are not a public grid.

    >>> check_scalings((Fraction(1), Fraction(5, 2)))
    Traceback (most recent call last):
    ...
    crowdtally.errors.UsageError: scalings must be ascending and between 1 and 2: received 1, 2.5.
    """
    if not scalings or not all(isinstance(s, Fraction) for s in scalings):
        raise UsageError("the scalings of DPSense-S must be exact Fractions, at least one.")
    ascending = all(s < t for s, t in pairwise(scalings))
    if not ascending or scalings[0] < 1 or scalings[-1] > 2:
        raise UsageError(
            "scalings must be ascending and between 1 and 2: received "
            f"{', '.join(map(show, scalings))}."
        )
    if lcm(*(s.denominator for s in scalings)) > _FINEST:
        raise UsageError(
            f"the scalings of DPSense-S must be multiples of one 1/d with d at most {_FINEST}."
        )
