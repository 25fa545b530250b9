"""The exact errors that DPSense-S scores, for all θ and all scalings at once.

Notation: K the ascending integer numerators of the scalings s = k/D; G the grid; c_j the total of
column j; C_j(θ) = Σ_ρ w_ρ(θ)·(total of column j in rows of sum ρ), with the row's weight
w_ρ(θ) = G if ρ ≤ θ, else θ·⌊G/ρ⌋. Wanted: E(θ, k) = Σ_j |k·C_j(θ) − D·G·c_j|, an integer.

Two facts make it fast. From θ−1 to θ a row of sum ρ ≥ θ gains ⌊G/ρ⌋, and once, when ρ = θ, the rest
up to G: one slope per column, changed once per entry of the table. And C_j(θ) never falls, so the
least k with k·C_j ≥ D·G·c_j, column j's *bucket*, never rises: bucket sums are carried along, and
only a column that leaves its bucket is touched. In all O(entries + θ_max·(N + |K|) + N·|K|).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdtally.curator.choosing.rows import RowTable

Integers = NDArray[Any]
"""int64 where nothing can overflow, else Python integers in an object array."""


def truncation_errors(
    table: RowTable, *, most: int, numerators: Sequence[int], whole: int, grid: int
) -> Integers:
    """E(θ, k) for θ = 1..most (rows) and k in ``numerators`` (columns). Exact.

    Args:
        table: column totals by row sum; of N columns those that somebody has.
        most: θ_max.
        numerators: K, ascending, from D to 2D.
        whole: D.
        grid: G.
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
        """Put columns whose bucket has changed into their new one."""
        scaled, true = self._scaled[columns], self._true[columns]
        least = -(-true // scaled)  # the least k with k·C_j ≥ D·G·c_j; C_j > 0, or it had not moved
        new = np.searchsorted(self.numerators, least)
        old, slope = self._bucket[columns], self._slope[columns]
        for sums, moved in ((self.scaled, scaled), (self.true, true), (self.slopes, slope)):
            np.subtract.at(sums, old, moved)
            np.add.at(sums, new, moved)
        self._bucket[columns], self._factor[columns] = new, self._factors[new]
