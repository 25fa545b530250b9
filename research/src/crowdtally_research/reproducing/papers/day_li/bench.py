"""Read the rows of a look-alike once, and try every method on them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from crowdtally.core.counts import Counts
from crowdtally.core.domain import Domain
from crowdtally.core.layout import ITEMS
from crowdtally.core.privacy import Epsilon
from crowdtally.core.records import Records
from crowdtally.curator.bounding.scaling import GRID, DPSense
from crowdtally.curator.choices.bounds import RowSums, RowTable
from crowdtally.curator.counting.bounded import Read
from crowdtally.curator.counting.count import Reading
from crowdtally.curator.counting.users import row_totals
from crowdtally.curator.request.request import Request, make_request
from crowdtally.lab.baselines.base import ALPA, LPA, keyed
from crowdtally.lab.baselines.gs import GS, Pair
from crowdtally.lab.estimates import AutoEstimates, estimate_auto
from crowdtally.lab.rehearse import Rehearsal
from crowdtally.noise.draws import Draws, SystemDraws
from crowdtally.records.duckdb import DuckDBEngine
from crowdtally.records.engine import Dropped
from crowdtally.records.prepare import prepare

# What DPSense counts at any θ, from one reading of the records.
#
# A release counts the rows for the one θ that it was given or that was chosen. These figures need
# dozens of θ, so the rows are read once, by the step that DPSense-S reads them with: for each
# length of a row and each column, how many rows have both. A row of ρ ones weighs g in each of its
# columns where ρ ≤ θ, else ⌊g·θ/ρ⌋: the same integers as the counting step's, which the tests hold
# equal.

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
        return float(self.truth.sum()) / self.users

    def scaled(self, rule: DPSense) -> Counts:
        """What a release with this rule counts, in its units."""
        lengths, places = self._lengths
        weights = np.where(lengths <= rule.limit, GRID, GRID * rule.limit // lengths)
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


# The records of one data set, read once, and the methods that DPSense is held against.
#
# Every method draws with the product's own steps, exact noise included. Nothing is charged.

Floats = NDArray[np.float64]
_SEED = 1


@dataclass(frozen=True, eq=False)
class Bench:
    """A data set, ready for every method."""

    records: Records
    domain: Domain
    rows: BinaryRows
    dropped: Dropped
    """What a read says of rows that fall out: none do in a look-alike."""
    draws: Draws

    def request(self, epsilon: Epsilon, **options: Any) -> Request:
        return make_request(self.records, self.domain, epsilon=epsilon, count="users", **options)

    def gs(self, epsilon: Epsilon, runs: int) -> Iterator[Floats]:
        """GS, told the longest row as in the paper; one sample orders the columns of all runs."""
        method = GS.of(self.request(epsilon).subject, self.rows.most)
        with reading(self.records, self.domain) as records:
            rough = method.sampled.counts(keyed(records, _SEED))[ITEMS.name]
        counted = {ITEMS.name: Pair(rough, self.rows.whole())}
        for _ in range(runs):
            yield method.release(counted, epsilon, self.draws)[ITEMS.name]

    def alpa(self, epsilon: Epsilon, runs: int) -> Iterator[Floats]:
        method = ALPA.of(self.request(epsilon).subject, self.rows.most)
        counted = {ITEMS.name: self.rows.whole()}
        for _ in range(runs):
            yield method.release(counted, epsilon, self.draws)[ITEMS.name]

    def lpa(self, epsilon: Epsilon, runs: int) -> Iterator[Floats]:
        method = LPA.of(self.request(epsilon).subject, self.rows.most)
        whole = self.rows.whole()
        counted = Read((whole, whole), self.dropped)
        for _ in range(runs):
            yield method.release(counted, epsilon, self.draws)[ITEMS.name]

    def auto(self, epsilon: Epsilon, runs: int) -> Iterator[AutoEstimates]:
        """Our own method: what a reader makes of a release of it."""
        with reading(self.records, self.domain) as records:
            rehearsal = Rehearsal(self.request(epsilon), records.engine, records.prepared)
            for _ in range(runs):
                yield estimate_auto(rehearsal.request, rehearsal.run(_SEED, self.draws))


def bench_on(path: Path, draws: Draws | None = None) -> Bench:
    """The records of a look-alike; its items lie beside it."""
    records = Records(str(path), "user_id", "item_id", record_id="record_id")
    domain = Domain(_items(path.with_name(f"{path.stem}.items.parquet")))
    with reading(records, domain) as opened:
        read = row_totals(opened.engine, opened.prepared, 1, width=1)
    rows = BinaryRows.of(read.found, domain.size)
    return Bench(records, domain, rows, read.dropped, SystemDraws() if draws is None else draws)


@contextmanager
def reading(records: Records, domain: Domain) -> Iterator[Reading]:
    """The records in an engine of their own, so that what it held of them is gone afterwards."""
    request = make_request(records, domain, epsilon=1, count="users")
    with DuckDBEngine() as engine:
        yield Reading(engine, prepare(engine, request.records, request.domain, request.sources))


def _items(path: Path) -> list[int]:
    import pyarrow.parquet as pq

    listed: list[int] = pq.read_table(path)["item_id"].to_pylist()
    return listed
