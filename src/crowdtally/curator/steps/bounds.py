"""The bound of each table, chosen privately for its share of ε."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from crowdtally.core.counts import What
from crowdtally.core.privacy import Epsilon, Price
from crowdtally.curator.choosing.candidates import log_spaced
from crowdtally.curator.choosing.dpsense import DPSenseChoice
from crowdtally.curator.choosing.dpsense_s import DPSenseSChoice
from crowdtally.curator.choosing.rank import RankChoice
from crowdtally.curator.counting.reading import Read
from crowdtally.curator.counting.rows import record_sums, row_totals, scaled_sums
from crowdtally.curator.request.split import CHOOSE
from crowdtally.curator.steps.step import Bound, Reading, Released
from crowdtally.curator.table import Table
from crowdtally.laws.conversion import selection_epsilon
from crowdtally.ledger import Part
from crowdtally.noise.draws import Draws


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
