"""Sra, hpa, dpsense, declared, rows, interval."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from crowdtally.core.counts import Counts, What
from crowdtally.core.numbers import show
from crowdtally.core.privacy import Epsilon, Price, Rho
from crowdtally.curator.bounding.rules import EveryRow
from crowdtally.curator.bounding.sampling import SRA
from crowdtally.curator.bounding.scaling import DPSense
from crowdtally.curator.choices.bounds import DPSenseChoice, NormChoice, RankChoice, log_spaced
from crowdtally.curator.choices.dpsense_s import DPSenseSChoice
from crowdtally.curator.converse import Bound, Reading, Released
from crowdtally.curator.counting.bounded import Read, count, count_rows, count_scaled
from crowdtally.curator.counting.users import (
    distinct_users,
    record_sums,
    row_norms,
    row_totals,
    scaled_sums,
)
from crowdtally.curator.pricing import zcdp
from crowdtally.curator.request.method import CHOOSE
from crowdtally.curator.request.table_specs import table_bound
from crowdtally.curator.table import Measured, Table
from crowdtally.laws.conversion import selection_epsilon
from crowdtally.ledger import Part
from crowdtally.noise.draws import Draws

# The tables of counts: bound every user, count, add noise. All noises are independent draws.


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


# The popularity that hand-picking goes by: SRA(d₀) counts of all items, noisy, drawn once.


@dataclass(frozen=True)
class Popularity:
    """At most d₀ records of each user, counted by item."""

    table: Table
    """The table of popularities; its bound is d₀."""
    what: What
    """Whether records or distinct users are counted."""

    def parts(self) -> Sequence[Part]:
        """The one table."""
        return [self.table.charge()]

    def count(self, reading: Reading, released: Released) -> Read[Any]:
        """(user, cell) → at most d₀ per user → item counts."""
        return count(
            reading.engine, reading.prepared, SRA(self.table.bound),
            key=reading.fresh_key(), what=self.what,
        )  # fmt: skip

    def release(self, counted: Read[Any], released: Released, draws: Draws) -> Released:
        """The noisy item counts."""
        items, _ = counted.found
        return released.with_tables([self.table.publish(items, draws)])


# Tables of distinct users with interval noise: nobody is bounded, every table has its own draw.


@dataclass(frozen=True)
class MeasuredTables:
    """Tables that each user counts in once for each of her cells."""

    tables: tuple[Measured, ...]
    """The items, and perhaps the items in context; or the cells."""

    def parts(self) -> Sequence[Part]:
        """Each table."""
        return [table.charge() for table in self.tables]

    def count(self, reading: Reading, released: Released) -> Read[Any]:
        """(user, cell) → the distinct users of every cell, table by table."""
        sizes = [table.layout.size for table in self.tables]
        return distinct_users(reading.engine, reading.prepared, sizes)

    def release(self, counted: Read[Any], released: Released, draws: Draws) -> Released:
        """Every table with its noise."""
        bounds = {table.name: Bound(table.l1_bound) for table in self.tables}
        pairs = zip(self.tables, counted.found, strict=True)
        noisy = [table.publish(users, draws) for table, users in pairs]
        return replace(released, bounds=bounds).with_tables(noisy)


# The bound of each table, chosen privately for its share of ε.


def _parts(price: Price, rule: str, most: int, choices: int = 1) -> list[Part]:
    """What the choices cost: in pure ε together, by zCDP one by one."""
    facts = {"rule": rule, "largest_candidate": most}
    if isinstance(price, Epsilon):
        return [Part(CHOOSE, price, "exponential", facts)]
    each = _each_choice(price, choices)
    return [Part(CHOOSE, each, "exponential", facts, selects=True) for _ in range(choices)]


def _each_choice(price: Price, choices: int) -> Epsilon:
    """The parameter ε of each of several choices: a share of ε, or what its share of ρ buys."""
    if isinstance(price, Epsilon):
        return price * Fraction(1, choices)
    return selection_epsilon(price, choices)


@dataclass(frozen=True)
class ChooseLimit:
    """l by the rank rule. One sample serves all tables; it is fitted to the first of them."""

    tables: tuple[Table, ...]
    """The tables that it serves."""
    most: int
    """The largest candidate."""
    price: Price
    """What the choice costs."""
    what: What
    """Whether records or distinct users are counted."""
    least: int
    """The smallest candidate: 2 where pairs are counted."""
    times: int = 1
    """C: the most that a kept record counts."""

    def parts(self) -> Sequence[Part]:
        """The one choice."""
        return _parts(self.price, "rank", self.most)

    def count(self, reading: Reading, released: Released) -> Read[Any]:
        """(user, cell) → how many users have how many records, or distinct cells."""
        return record_sums(reading.engine, reading.prepared, self.what)

    def release(self, counted: Read[Any], released: Released, draws: Draws) -> Released:
        """One bound for all tables."""
        candidates = tuple(c for c in log_spaced(self.most) if c >= self.least)
        first = self.tables[0]
        choice = RankChoice(
            first.cells.size, candidates, _each_choice(self.price, 1), first.price, self.times,
            rooted=self.what == "users",
        )  # fmt: skip
        bound = Bound(choice.pick(counted.found, draws))
        return replace(released, bounds={table.name: bound for table in self.tables})


def _each(
    read: Callable[..., Read[Any]], reading: Reading, tables: Sequence[Table], cap: int
) -> Read[Any]:
    """One read for each table, with the table's own numbers of cells."""
    prepared = reading.prepared
    widths = [prepared.width_of(table.cells.size) for table in tables]
    reads = [read(reading.engine, prepared, cap, width=width) for width in widths]
    return Read([one.found for one in reads], reads[0].dropped)


@dataclass(frozen=True)
class ChooseTheta:
    """θ for each table, by the rank rule or by DPSense's Algorithm 1."""

    tables: tuple[Table, ...]
    """The tables, which share the cost evenly."""
    how: str
    """``rank`` or ``dpsense``."""
    most: int
    """The largest candidate."""
    price: Price
    """What the choices cost together."""
    cap: int
    """The most that a user counts in one cell."""

    def parts(self) -> Sequence[Part]:
        """All choices together."""
        return _parts(self.price, self.how, self.most, len(self.tables))

    def count(self, reading: Reading, released: Released) -> Read[Any]:
        """(user, cell) → how many users have which row sum, for each table."""
        return _each(scaled_sums, reading, self.tables, self.cap)

    def release(self, counted: Read[Any], released: Released, draws: Draws) -> Released:
        """A bound for each table."""
        bounds = {}
        for table, sums in zip(self.tables, counted.found, strict=True):
            bounds[table.name] = Bound(self._choice(table).pick(sums, draws))
        return replace(released, bounds=bounds)

    def _choice(self, table: Table) -> RankChoice | DPSenseChoice:
        share, cells = _each_choice(self.price, len(self.tables)), table.cells.size
        once = self.cap == 1
        if self.how == "rank":
            return RankChoice(cells, log_spaced(self.most), share, table.price, rooted=once)
        return DPSenseChoice(cells, self.most, share, table.price, self.cap, rooted=once)


@dataclass(frozen=True)
class ChooseThetaAndScaling:
    """θ and s for each table, by DPSense-S's Algorithm 2."""

    tables: tuple[Table, ...]
    """The tables, which share the cost evenly."""
    most: int
    """The largest candidate of θ."""
    scalings: tuple[Fraction, ...]
    """The candidates of s."""
    price: Price
    """What the choices cost together."""
    cap: int
    """The most that a user counts in one cell."""

    def parts(self) -> Sequence[Part]:
        """All choices together."""
        return _parts(self.price, "dpsense", self.most, len(self.tables))

    def count(self, reading: Reading, released: Released) -> Read[Any]:
        """(user, cell) → the total of each column by row sum, for each table."""
        return _each(row_totals, reading, self.tables, self.cap)

    def release(self, counted: Read[Any], released: Released, draws: Draws) -> Released:
        """A bound and a scaling for each table."""
        share = _each_choice(self.price, len(self.tables))
        bounds = {}
        for table, rows in zip(self.tables, counted.found, strict=True):
            choice = DPSenseSChoice(
                table.cells.size, self.most, share, table.price, self.cap, self.scalings,
                rooted=self.cap == 1,
            )  # fmt: skip
            bounds[table.name] = Bound(*choice.pick(rows, draws))
        return replace(released, bounds=bounds)


# The norm that rows are scaled to, chosen privately for its share of ρ.


@dataclass(frozen=True)
class ChooseNorm:
    """θ for each table, from a noisy histogram of how long its rows are."""

    tables: tuple[Table, ...]
    """The tables, which share the cost evenly."""
    most: int
    """The largest candidate."""
    rho: Rho
    """What the histograms cost together."""
    cap: int
    """The most that a user counts in one cell."""

    def parts(self) -> Sequence[Part]:
        """All histograms together: a user is in one bin of each."""
        variance = self._choice(self.tables[0]).variance
        facts = {"rule": "histogram", "sigma2": show(variance), "l2_squared": len(self.tables)}
        return [Part(CHOOSE, None, "discrete-gaussian", facts, rho=self.rho)]

    def count(self, reading: Reading, released: Released) -> Read[Any]:
        """(user, cell) → how many users have which norm, for each table by its own cells."""
        engine, prepared = reading.engine, reading.prepared
        widths = [prepared.width_of(table.cells.size) for table in self.tables]
        reads = [row_norms(engine, prepared, self.cap, width=width) for width in widths]
        return Read([one.found for one in reads], reads[0].dropped)

    def release(self, counted: Read[Any], released: Released, draws: Draws) -> Released:
        """A bound for each table."""
        bounds = {
            table.name: Bound(self._choice(table).pick(norms, draws))
            for table, norms in zip(self.tables, counted.found, strict=True)
        }
        return replace(released, bounds=bounds)

    def _choice(self, table: Table) -> NormChoice:
        share = Rho(self.rho.value / len(self.tables))
        return NormChoice(table.cells.size, self.most, share, zcdp(table.price), self.cap)
