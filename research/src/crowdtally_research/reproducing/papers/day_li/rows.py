"""What DPSense counts at any θ, from one reading of the records.

A release counts the rows for the one θ that it was given or that was chosen. These figures need
dozens of θ, so the rows are read once, by the step that DPSense-S reads them with: for each length
of a row and each column, how many rows have both. A row of ρ ones weighs g in each of its columns
where ρ ≤ θ, else ⌊g·θ/ρ⌋: the same integers as the counting step's, which the tests hold equal.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from crowdtally.curator.bounding.dpsense import GRID, DPSense
from crowdtally.curator.choosing.rows import RowSums, RowTable
from crowdtally.values.counts import Counts

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class BinaryRows:
    """Rows of zeros and ones: exact, private."""

    table: RowTable
    """How many rows of each length have each column, sorted by column."""
    cells: int
    """d, the number of columns."""

    @classmethod
    def of(cls, table: RowTable, cells: int) -> Self:
        """From what a step read, in whatever order."""
        order = np.argsort(table.columns, kind="stable")
        parts = (part[order] for part in (table.sums, table.columns, table.totals))
        return cls(RowTable(*parts), cells)

    @cached_property
    def truth(self) -> Ints:
        """The true count of every column."""
        return self._by_column(self.table.totals)

    @cached_property
    def sums(self) -> RowSums:
        """How many rows have which length."""
        lengths, places = self._lengths
        ones = np.zeros(len(lengths), dtype=np.int64)
        np.add.at(ones, places, self.table.totals)
        return RowSums(lengths, ones // lengths)  # a row of ρ ones was met ρ times

    @property
    def users(self) -> int:
        """How many rows there are."""
        return int(self.sums.users.sum())

    @property
    def most(self) -> int:
        """Δ_D: the length of the longest row."""
        return int(self.sums.sums.max())

    @property
    def column_mean(self) -> float:
        """ac(D): the average column count."""
        return float(self.truth.sum()) / self.cells

    @property
    def row_mean(self) -> float:
        """The average length of a row."""
        return float(self.truth.sum()) / self.users

    def scaled(self, rule: DPSense) -> Counts:
        """What a release with this rule counts, in its units."""
        lengths, places = self._lengths
        weights = np.where(lengths <= rule.theta, GRID, GRID * rule.theta // lengths)
        values = self._by_column(weights[places] * self.table.totals)
        squared = rule.l2_squared("users")
        return Counts(
            self.cells, np.arange(self.cells), values, rule.l1_bound, rule.unit, squared=squared
        )

    def whole(self) -> Counts:
        """What is counted where nobody is cut, because the bound is the longest row's length."""
        places = np.arange(self.cells)
        return Counts(self.cells, places, self.truth, self.most, squared=self.most)

    @cached_property
    def _lengths(self) -> tuple[Ints, NDArray[np.int32]]:
        """Every length of a row, ascending, and which of them each entry has."""
        lengths = np.unique(self.table.sums)
        return lengths, np.searchsorted(lengths, self.table.sums).astype(np.int32)

    @cached_property
    def _starts(self) -> tuple[Ints, Ints]:
        columns, starts = np.unique(self.table.columns, return_index=True)
        return columns, starts.astype(np.int64)

    def _by_column(self, values: Ints) -> Ints:
        columns, starts = self._starts
        found = np.zeros(self.cells, dtype=np.int64)
        if len(values):
            found[columns] = np.add.reduceat(values, starts)
        return found
