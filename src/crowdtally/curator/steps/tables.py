"""The tables of counts: bound every user, count, add noise. All noises are independent draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from crowdtally.core.counts import Counts, What
from crowdtally.curator.bounding.dpsense import DPSense
from crowdtally.curator.bounding.row import EveryRow
from crowdtally.curator.counting.reading import Read
from crowdtally.curator.counting.tables import count, count_rows, count_scaled
from crowdtally.curator.request.tables import table_bound
from crowdtally.curator.steps.step import Bound, Reading, Released
from crowdtally.curator.table import Table
from crowdtally.ledger import Part
from crowdtally.noise.draws import Draws


@dataclass(frozen=True)
class SampledTables:
    """Tables that are counted on one and the same sample of each user's records."""

    tables: tuple[Table, ...]
    """The items, and perhaps the items in context or the pairs; or the cells."""
    rule: Any
    """The rule that keeps records, with its bound unless that is chosen."""
    what: What
    """Whether records or distinct users are counted."""
    pairs: bool
    """Whether the second table is of pairs."""

    def parts(self) -> Sequence[Part]:
        """Each table."""
        return [table.charge() for table in self.tables]

    def count(self, reading: Reading, released: Released) -> Read[Any]:
        """(user, cell) → at most l rows per user → counts of every table."""
        rule = replace(self.rule, limit=self._limit(released)) if released.bounds else self.rule
        if released.tables:
            rule = replace(rule, popularity=released.tables[0].values)
        read = count(
            reading.engine, reading.prepared, rule,
            key=reading.fresh_key(), what=self.what, pairs=self.pairs, times=rule.times,
        )  # fmt: skip
        return Read((rule, read.found), read.dropped)

    def release(self, counted: Read[Any], released: Released, draws: Draws) -> Released:
        """Every table with its noise."""
        rule, found = counted.found
        settled = [_settled(table, rule, self.what) for table in self.tables]
        bounds = {table.name: Bound(rule.limit) for table in settled}
        return _published(settled, found, replace(released, bounds=bounds), draws)

    def _limit(self, released: Released) -> int:
        (limit,) = {bound.limit for bound in released.bounds.values()}
        return limit


@dataclass(frozen=True)
class ScaledTables:
    """Tables for each of which a user's whole row is scaled down."""

    tables: tuple[Table, ...]
    """The tables."""
    rule: DPSense
    """The rule, with its bound unless that is chosen for each table."""

    def parts(self) -> Sequence[Part]:
        """Each table."""
        return [table.charge() for table in self.tables]

    def count(self, reading: Reading, released: Released) -> Read[Any]:
        """(user, cell) → rows scaled to θ → counts in units of 1/g."""
        rules = {table.name: self._rule(table, released.bounds) for table in self.tables}
        reads = [self._read(reading, table, rules[table.name]) for table in self.tables]
        return Read((rules, [read.found for read in reads]), reads[0].dropped)

    def _read(self, reading: Reading, table: Table, rule: DPSense) -> Read[Counts]:
        prepared, size = reading.prepared, table.cells.size
        return count_scaled(reading.engine, prepared, rule, size, width=prepared.width_of(size))

    def _rule(self, table: Table, bounds: Mapping[str, Bound]) -> DPSense:
        if table.name not in bounds:
            return self.rule
        bound = bounds[table.name]
        return replace(self.rule, theta=bound.limit, scaling=bound.scaling)

    def release(self, counted: Read[Any], released: Released, draws: Draws) -> Released:
        """Every table with its noise."""
        rules, found = counted.found
        settled = [_settled(table, rules[table.name], "users") for table in self.tables]
        bounds = {name: Bound(rule.theta, rule.scaling) for name, rule in rules.items()}
        return _published(settled, found, replace(released, bounds=bounds), draws)


@dataclass(frozen=True)
class RowTables:
    """Tables of rows without an id: one person each, as many as a weight says, or as stated."""

    tables: tuple[Table, ...]
    """The items, and perhaps the items in context; or the cells."""
    rule: EveryRow
    """How many rows are one person's."""

    def parts(self) -> Sequence[Part]:
        """Each table."""
        return [table.charge() for table in self.tables]

    def count(self, reading: Reading, released: Released) -> Read[Any]:
        """(cell[, weight]) → counts."""
        return count_rows(reading.engine, reading.prepared, self.rule)

    def release(self, counted: Read[Any], released: Released, draws: Draws) -> Released:
        """Every table with its noise."""
        bounds = {table.name: Bound(table.bound) for table in self.tables}
        return _published(self.tables, counted.found, replace(released, bounds=bounds), draws)


def _settled(table: Table, rule: Any, what: What) -> Table:
    """The table with the bound that its records were cut to."""
    return table if table.settled else table.settle(*table_bound(rule, table.cells, what))


def _published(
    tables: Sequence[Table], counts: Sequence[Counts], released: Released, draws: Draws
) -> Released:
    # Counts of cells without contexts come twice, once as items: the second is not asked for.
    pairs = zip(tables, counts, strict=False)
    return released.with_tables([table.publish(counted, draws) for table, counted in pairs])
