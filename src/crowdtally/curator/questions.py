"""What a method may ask: each question with its price, its exact noise and its answer.

A question is public: parameters of a request, and values that were released before. It says what is
counted; ``counting/`` counts it, and :class:`~crowdtally.curator.converse.Conversation` pays for it
and lets it draw. Questions that are equal count the same: who counts may remember the counts by the
question, whatever its noise and its price are.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from crowdtally.core.counts import Counts, Memberships, What
from crowdtally.core.layout import ITEMS, Listed
from crowdtally.core.numbers import show
from crowdtally.core.privacy import Epsilon, Price, Rho
from crowdtally.curator.bounding.rules import EveryRow
from crowdtally.curator.bounding.scaling import DPSense
from crowdtally.curator.choices.bounds import (
    DPSenseChoice,
    NormChoice,
    RankChoice,
    RowNorms,
    RowSums,
    RowTable,
    log_spaced,
)
from crowdtally.curator.choices.dpsense_s import DPSenseSChoice
from crowdtally.curator.choices.selection import Discovered, Kept
from crowdtally.curator.pricing import cost_facts, zcdp
from crowdtally.curator.request.discover import Discovery, UnknownTable
from crowdtally.curator.request.method import CHOOSE, TOTAL
from crowdtally.curator.request.top import TopRequest
from crowdtally.curator.table import Table
from crowdtally.format import NoisyTable
from crowdtally.format.manifest import DISCOVERED
from crowdtally.laws.conversion import selection_epsilon
from crowdtally.ledger import Part
from crowdtally.noise.draws import Draws

Tables = tuple[NoisyTable, ...]


class Answer(Protocol):
    """What one question released. All of it is noisy and public."""

    @property
    def tables(self) -> Tables:
        """The tables that go into the folder; none where a bound or some cells were chosen."""


class Question(ABC):
    @property
    def name(self) -> str:
        return " and ".join(part.name for part in self.parts())

    @abstractmethod
    def parts(self) -> tuple[Part, ...]:
        """What answering it costs, as it is charged."""

    @abstractmethod
    def draw(self, exact: Any, draws: Draws) -> Answer:
        """The exact counts with noise."""


# Tables of counts. All noises are independent draws.


@dataclass(frozen=True)
class Noisy:
    tables: Tables


@dataclass(frozen=True)
class AboutTables(Question):
    """A question about tables. Their price and summary are no part of what is counted."""

    tables: tuple[Any, ...] = field(compare=False)
    """The items, and perhaps the items in context or the pairs; or the cells."""
    sizes: tuple[int, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "sizes", tuple(table.cells.size for table in self.tables))


@dataclass(frozen=True)
class TableQuestion(AboutTables):
    """Tables that are counted together; each draws its own noise, for its own price."""

    def parts(self) -> tuple[Part, ...]:
        return tuple(table.charge() for table in self.tables)

    def draw(self, exact: Sequence[Any], draws: Draws) -> Noisy:
        # Counts of cells without contexts come twice, once as items: the second is not asked for.
        pairs = zip(self.tables, exact, strict=False)
        return Noisy(tuple(table.publish(counted, draws) for table, counted in pairs))


@dataclass(frozen=True)
class SampledCounts(TableQuestion):
    """Counts of one sample of each user's records."""

    rule: Any
    what: What
    pairs: bool = False


@dataclass(frozen=True)
class ScaledCounts(TableQuestion):
    """Counts for each of which a user's whole row is scaled down."""

    rules: tuple[DPSense, ...]
    """One for each table, with its bound."""


@dataclass(frozen=True)
class RowCounts(TableQuestion):
    """Counts of rows without an id: one person each, as many as a weight says, or as stated."""

    rule: EveryRow


@dataclass(frozen=True)
class DistinctUsers(TableQuestion):
    """Counts of distinct users of every cell: nobody is bounded."""


# The bound of each table, chosen privately for its share of the price.


@dataclass(frozen=True)
class Bound:
    """A table's bound; published with it."""

    limit: int
    scaling: Fraction = Fraction(1)

    def as_dict(self) -> dict[str, Any]:
        return {"bound": self.limit, "scaling": show(self.scaling)}


@dataclass(frozen=True)
class Chosen:
    bounds: Mapping[str, Bound]
    tables: Tables = field(default=(), init=False)


@dataclass(frozen=True)
class ChoiceQuestion(AboutTables):
    """Which bound each of the tables gets, while they are open."""

    most: int
    price: Price = field(compare=False)

    @property
    def name(self) -> str:
        return CHOOSE

    def _parts(self, rule: str, choices: int = 1) -> tuple[Part, ...]:
        """The parts of the price: in pure ε one, in ρ one for each choice."""
        facts = {"rule": rule, "largest_candidate": self.most}
        if isinstance(self.price, Epsilon):
            return (Part(CHOOSE, self.price, "exponential", facts),)
        return (Part(CHOOSE, self._each(choices), "exponential", facts, selects=True),) * choices

    def _each(self, choices: int) -> Epsilon:
        """The parameter ε of each of several choices."""
        if isinstance(self.price, Epsilon):
            return self.price * Fraction(1, choices)
        return selection_epsilon(self.price, choices)


@dataclass(frozen=True)
class ChooseLimit(ChoiceQuestion):
    """l by the rank rule. One sample serves all tables; it is fitted to the first of them."""

    what: What
    least: int
    """The smallest candidate: 2 where pairs are counted."""
    times: int = 1
    """C: the most that a kept record counts."""

    def parts(self) -> tuple[Part, ...]:
        return self._parts("rank")

    def draw(self, exact: RowSums, draws: Draws) -> Chosen:
        candidates = tuple(c for c in log_spaced(self.most) if c >= self.least)
        first, once = self.tables[0], self.what == "users"
        cells, share = first.cells.size, self._each(1)
        choice = RankChoice(cells, candidates, share, first.price, self.times, rooted=once)
        bound = Bound(choice.pick(exact, draws))
        return Chosen({table.name: bound for table in self.tables})


@dataclass(frozen=True)
class ScaledChoice(ChoiceQuestion):
    """θ for each table, from how long the users' rows over its cells are."""

    cap: int

    def draw(self, exact: Sequence[Any], draws: Draws) -> Chosen:
        pairs = zip(self.tables, exact, strict=True)
        return Chosen({table.name: self.bound_of(table, rows, draws) for table, rows in pairs})

    @abstractmethod
    def bound_of(self, table: Table, rows: Any, draws: Draws) -> Bound:
        """The bound of one table."""


@dataclass(frozen=True)
class ChooseTheta(ScaledChoice):
    """θ by the rank rule or by DPSense's Algorithm 1; the tables share the price evenly."""

    how: str
    """``rank`` or ``dpsense``."""

    def parts(self) -> tuple[Part, ...]:
        return self._parts(self.how, len(self.tables))

    def bound_of(self, table: Table, rows: RowSums, draws: Draws) -> Bound:
        share, cells, once = self._each(len(self.tables)), table.cells.size, self.cap == 1
        choice: RankChoice | DPSenseChoice
        if self.how == "rank":
            choice = RankChoice(cells, log_spaced(self.most), share, table.price, rooted=once)
        else:
            choice = DPSenseChoice(cells, self.most, share, table.price, self.cap, rooted=once)
        return Bound(choice.pick(rows, draws))


@dataclass(frozen=True)
class ChooseThetaAndScaling(ScaledChoice):
    """θ and s by DPSense-S's Algorithm 2; the tables share the price evenly."""

    scalings: tuple[Fraction, ...]

    def parts(self) -> tuple[Part, ...]:
        return self._parts("dpsense", len(self.tables))

    def bound_of(self, table: Table, rows: RowTable, draws: Draws) -> Bound:
        cells, share = table.cells.size, self._each(len(self.tables))
        choice = DPSenseSChoice(
            cells, self.most, share, table.price, self.cap, self.scalings, rooted=self.cap == 1
        )
        return Bound(*choice.pick(rows, draws))


@dataclass(frozen=True)
class ChooseNorm(ScaledChoice):
    """θ from a noisy histogram of the norms of rows; the tables share ρ evenly."""

    def parts(self) -> tuple[Part, ...]:
        """All histograms together: a user is in one bin of each."""
        variance, rho = self._choice(self.tables[0]).variance, zcdp(self.price)
        facts = {"rule": "histogram", "sigma2": show(variance), "l2_squared": len(self.tables)}
        return (Part(CHOOSE, None, "discrete-gaussian", facts, rho=rho),)

    def bound_of(self, table: Table, rows: RowNorms, draws: Draws) -> Bound:
        return Bound(self._choice(table).pick(rows, draws))

    def _choice(self, table: Table) -> NormChoice:
        share = Rho(zcdp(self.price).value / len(self.tables))
        return NormChoice(table.cells.size, self.most, share, zcdp(table.price), self.cap)


# The items that most users have: selected, then measured.


@dataclass(frozen=True)
class Selected:
    cells: tuple[int, ...]
    """The first of each context, the second of each, and so on."""
    tables: Tables = field(default=(), init=False)


@dataclass(frozen=True)
class MostUsers(Question):
    """Which K cells of each context most users have, by the exponential mechanism."""

    request: TopRequest

    def parts(self) -> tuple[Part, ...]:
        return (self.request.selection(),)

    def draw(self, exact: Memberships, draws: Draws) -> Selected:
        rule, width = self.request.rule, self.request.contexts
        by_context = exact.values.reshape(-1, width).T
        picked = [
            rule.select(Memberships(len(users), np.ascontiguousarray(users)), draws) * width + place
            for place, users in enumerate(by_context)
        ]
        return Selected(tuple(np.stack(picked, axis=1).ravel().tolist()))


@dataclass(frozen=True)
class UsersOf(Question):
    """How many users the selected cells have: interval noise, or Gaussian where ρ pays."""

    request: TopRequest
    cells: tuple[int, ...]
    """The selected cells, in the order of their draws."""

    def parts(self) -> tuple[Part, ...]:
        return (self.request.planned().charge(),)

    def draw(self, exact: Memberships, draws: Draws) -> Noisy:
        cells = np.array(self.cells, dtype=np.int64)
        noisy, order = self.request.measured(cells).publish(exact, draws), np.argsort(cells)
        layout = self.request.layout(cells[order])
        return Noisy((replace(noisy, layout=layout, values=noisy.values[order]),))


# Cells without public lists: those that enough users have, under (ε, δ).


@dataclass(frozen=True)
class Found:
    tables: Tables
    other: Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class CommonCells(Question):
    """Which cells enough users have. All tables count the same kept cells, at most l of each user.

    A table of listed values alone has all of its cells; there too a user counts once in at most l.
    """

    discovery: Discovery
    plain: tuple[Table, ...] = ()
    """The tables with a list for every column."""

    def parts(self) -> tuple[Part, ...]:
        found = self.discovery
        return (
            found.other.part(TOTAL),
            *(table.charge() for table in self.plain),
            *(table.rule.part(table.name) for table in found.tables),
        )

    @property
    def limit(self) -> int:
        return self.discovery.other.limit

    @property
    def widths(self) -> tuple[int, ...]:
        """Of how many columns the cells of each table are."""
        listed = (len(table.layout.names) for table in self.plain)
        return (*listed, *(len(table.columns) for table in self.discovery.tables))

    def draw(self, exact: Sequence[Kept], draws: Draws) -> Found:
        """The tables in their order, then the mass of what the last one does not release."""
        unknown, others = self.discovery.tables, exact[len(self.plain) :]
        tables = [
            table.publish(_listed(table, kept), draws)
            for table, kept in zip(self.plain, exact, strict=False)
        ]
        passed = [
            table.select(kept.users, draws) for table, kept in zip(unknown, others, strict=True)
        ]
        tables += map(self._found, unknown, others, passed)
        other = self.discovery.other.draw(others[-1].users, passed[-1], draws)
        return Found(tuple(tables), self._mass(other))

    def _found(self, table: UnknownTable, kept: Kept, passed: Discovered) -> NoisyTable:
        rule = table.rule
        facts = {
            **cost_facts(rule, rule.price),
            "delta": show(rule.actual_delta),
            "publishing": DISCOVERED,
            "threshold": rule.threshold,
        }
        columns = {}
        for name, values in zip(table.columns, kept.values, strict=True):
            axis, found = self.discovery.domain.lists.get(name), values[passed.places]
            # Of a column with a list what was found are places in it.
            columns[name] = found if axis is None else axis.values[found.astype(np.int64)]
        return NoisyTable(table.name, Listed(columns), passed.noisy, rule.law, facts)

    def _mass(self, other: int) -> dict[str, Any]:
        table, law = self.discovery.tables[-1], self.discovery.other.law.to_json()
        what = "item" if table.name == ITEMS.name else "cell"
        words = f"noisy number of (user, {what}) pairs among the kept ones whose {what} is not "
        noise = {f"noise_{name}": law[name] for name in ("scale", "variance") if name in law}
        return {"count": other, **noise, "counts": f"{words}released", "table": table.name}


def _listed(table: Table, kept: Kept) -> Counts:
    """The users of each listed value: such a table has one column, that of the items."""
    (places,) = kept.values
    size, bound = table.cells.size, table.bound
    return Counts(size, places.astype(np.int64), kept.users, bound, squared=bound)
