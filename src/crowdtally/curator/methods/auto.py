"""``auto``: measures how long users' rows are, and bounds and spends by that.

Four questions at most. Each is a function of public parameters and of earlier answers, which are
noisy; each table is paid for with a share of the price, and the shares sum to the whole of it.
``auto.md`` proves the guarantee and explains the method.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any, Self

import numpy as np

from crowdtally.core import layout as kinds
from crowdtally.core.domain import Axis
from crowdtally.core.layout import Crossed, Layout, Numbered, Picked, grid
from crowdtally.core.numbers import show
from crowdtally.core.privacy import Delta, Epsilon, Price, Rho
from crowdtally.curator import row_questions as measures
from crowdtally.curator.bounding.scaling import Aim, Auto
from crowdtally.curator.converse import IN_STEPS, Asking, Facts, Released
from crowdtally.curator.methods import auto_rules as rules
from crowdtally.curator.methods.auto_rules import KAPPA, SIZES, Purse, Setting
from crowdtally.curator.questions import Bound, Question
from crowdtally.curator.questions import Noisy as Answer
from crowdtally.curator.request.method import AUTO_PART
from crowdtally.curator.request.options import AUTO
from crowdtally.curator.request.request import Request
from crowdtally.curator.request.table_specs import Paid
from crowdtally.curator.row_questions import Measure, RowQuestion, UserRows, row_table
from crowdtally.curator.summaries.base import Dense
from crowdtally.curator.table import Table
from crowdtally.format import NoisyTable
from crowdtally.inference.auto import estimate_auto
from crowdtally.inference.facts import AutoFacts, Chosen, Noisy, Path
from crowdtally.inference.posterior import Floats
from crowdtally.inference.rows import BINS, RowLengths
from crowdtally.laws.base import as_counts
from crowdtally.laws.conversion import rho_of
from crowdtally.ledger import Part


@dataclass(frozen=True, eq=False)
class Design:
    """What is public before anything is counted."""

    paid: Paid
    """Its noise is ``laplace``; with δ ``gaussian``, or ``auto``: decided by the sizes."""
    aim: Aim
    rows: UserRows
    items: Table
    """The items' table (or that of cells of attributes), its price and bound still open."""
    cells: Table | None
    """That of items in contexts, if there are contexts and not too many cells."""
    contexts: tuple[Axis, ...]

    @classmethod
    def of(cls, request: Request) -> Self:
        rule = request.method.rule
        tables = [table for table in request.tables if isinstance(table, Table)]
        if not isinstance(rule, Auto) or request.domain is None:
            raise TypeError("a design is made for a request that leaves its method to auto")
        rows = UserRows(per_user=bool(rule.per_user), repeats=rule.repeats)
        cells = tables[1] if len(tables) > 1 else None
        return cls(request.paid, rule.aim, rows, tables[0], cells, request.domain.contexts)

    @property
    def may_turn(self) -> bool:
        """Whether later tables may be paid for in ρ although the first is not."""
        return self.paid.noise == AUTO and self.paid.delta.value > 0

    @property
    def size(self) -> int:
        """m: how many items there are, or cells of attributes."""
        return self.items.cells.size

    @property
    def purses(self) -> tuple[Purse, ...]:
        """What may pay for all tables but the sizes: the rest, or the ρ that it grants with δ."""
        whole, once = self.paid.price, not self.rows.repeats
        rest = type(whole)(whole.value * (1 - SIZES))
        if not self.may_turn or not isinstance(rest, Epsilon):
            return (Purse(rest, once),)
        return Purse(rest, once), Purse(Rho(rho_of(rest, self.paid.delta)), once)

    def setting(self, purse: Purse, lengths: RowLengths) -> Setting:
        cells, listed = self.cells is not None, not self.items.publishing.leaves_out
        lengths = replace(lengths, by_norm=purse.ones and isinstance(purse.left, Rho))
        return Setting(self.size, self.aim, bool(self.contexts), cells, listed, purse, lengths)


@dataclass(frozen=True)
class Step:
    """One table, and what it cost."""

    name: str
    price: Price
    theta: int | None = None
    """What its rows were scaled to; None where nobody was bounded."""

    def as_dict(self, path: Path) -> dict[str, Any]:
        """With the reason why it is there, on the path that was taken."""
        price, reason = show(self.price.value), rules.why(self.name, path)
        bound = {} if self.theta is None else {"theta": self.theta}
        return {"name": self.name, self.price.field: price, "why": reason, **bound}


@dataclass(frozen=True)
class Outcome(Facts):
    """How a release of ``auto`` went."""

    path: Path = "long"
    rich: bool = False
    kappa: float = KAPPA
    steps: tuple[Step, ...] = ()
    rho: Rho | None = None
    """ρ that later tables were paid out of."""

    def as_dict(self) -> dict[str, Any]:
        """For ``release.json``."""
        of_items = (kinds.ITEMS.name, kinds.CELLS.name, kinds.EDGES.name)
        bounded = {step.name: step.theta for step in self.steps if step.name in of_items}
        bounds = {name: Bound(theta).as_dict() for name, theta in bounded.items() if theta}
        rho = {} if self.rho is None else {Rho.field: show(self.rho.value)}
        steps = [step.as_dict(self.path) for step in self.steps]
        auto = {"path": self.path, "rich": self.rich, "kappa": f"{self.kappa:.3f}", "steps": steps}
        return {"bounds": bounds, "auto": {**auto, **rho}}


def outcome_of(released: Released) -> Outcome:
    """How a whole release of ``auto`` went."""
    if not isinstance(released.facts, Outcome):
        raise TypeError("only a release of auto has such facts")
    return released.facts


def released_facts(design: Design, outcome: Outcome, tables: Sequence[NoisyTable]) -> AutoFacts:
    """What noisy tables say, as a reader of the release would have it."""
    bounds = {step.name: step.theta or inf for step in outcome.steps}
    noisy = {table.name: _noisy(table, bounds[table.name]) for table in tables}
    rich, repeats = outcome.rich, design.rows.repeats
    return AutoFacts.of(design.size, noisy, outcome.path, outcome.kappa, rich=rich, repeats=repeats)


def _noisy(table: NoisyTable, bound: float = inf) -> Noisy:
    """A table as estimates are made of it."""
    values: Floats = np.asarray(as_counts(table.values, table.law.unit), dtype=np.float64)
    layout = table.layout.first if isinstance(table.layout, Crossed) else table.layout
    if table.cells is not None:
        kept = np.asarray(table.cells, dtype=np.int64)
        return Chosen(values, table.law, bound, places=kept, keeping=table.keeping)
    if isinstance(layout, Picked):
        return Chosen(values, table.law, bound, places=layout.places)
    return Noisy(values, table.law, bound)


@dataclass
class Course:
    """A release on its way: what was decided and paid for, and what was answered."""

    design: Design
    outcome: Outcome = Outcome()
    tables: tuple[NoisyTable, ...] = ()

    def ask(
        self, prices: Mapping[str, Price], asked: Mapping[str, tuple[Layout, Measure]]
    ) -> Generator[Question, Answer, list[Noisy]]:
        """Tables whose parameters are known at the same moment are one question.

        Of each there are the cells and what is measured of them; a price is that of a share.
        """
        rows, own, ranked = self.design.rows, self.design.items, self.design.aim == "top"
        tables, steps = [], []
        for name, (cells, measure) in asked.items():
            price = prices[rules.PAID_AS.get(name, name)]
            form = own.publishing if name == own.name else Dense()
            table = row_table(name, cells, price, measure, rows, publishing=form, ranked=ranked)
            theta = getattr(measure, "to", getattr(measure, "most", None))
            tables.append(table)
            steps.append(Step(name, price, theta))
        self.outcome = replace(self.outcome, steps=(*self.outcome.steps, *steps))
        answer = yield RowQuestion(tuple(tables), rows, tuple(m for _, m in asked.values()))
        self.tables += answer.tables
        return [_noisy(table) for table in answer.tables]

    def estimates(self) -> Floats:
        """What a reader would take for each item's count by now."""
        facts = released_facts(self.design, self.outcome, self.tables)
        return estimate_auto(facts).items.mean


@dataclass(frozen=True)
class AutoMethod:
    """Sizes; perhaps a pilot; the tables; perhaps the largest items once more, or twice."""

    design: Design

    @property
    def parts(self) -> tuple[Part, ...]:
        """The whole of the price. Where later tables may be paid for in ρ, δ is part of it."""
        whole, aim = self.design.paid.price, {"aim": self.design.aim}
        if isinstance(whole, Rho):
            return (Part(AUTO_PART, None, IN_STEPS, aim, rho=whole),)
        delta = self.design.paid.delta if self.design.may_turn else Delta()
        return (Part(AUTO_PART, whole, IN_STEPS, aim, delta),)

    @property
    def questions(self) -> int:
        return 4

    def ask(self) -> Asking:
        course, whole = Course(self.design), self.design.paid.price
        bins = Numbered("bin", BINS), measures.Lengths()
        (sizes,) = yield from course.ask({"sizes": whole * SIZES}, {kinds.SIZES.name: bins})
        setting = self.known(RowLengths(sizes.values, sizes.std))
        path, kappa = yield from self._path(course, setting)
        rho = next((p for p in (whole, setting.purse.left) if isinstance(p, Rho)), None)
        rich = setting.lengths.rich
        course.outcome = replace(course.outcome, path=path, rich=rich, kappa=kappa, rho=rho)
        yield from self._tables(course, setting)
        if path == "long" and setting.head:
            if setting.zooms:
                yield from self._zoom(course, setting)
            yield from self._head(course, setting)
        return course.outcome

    def known(self, lengths: RowLengths) -> Setting:
        """What follows from the sizes; the rest is paid for in what is expected to err less."""
        settings = (self.design.setting(purse, lengths) for purse in self.design.purses)
        return min(settings, key=Setting.expected_error).looking_at_tastes()

    def _path(
        self, course: Course, setting: Setting
    ) -> Generator[Question, Answer, tuple[Path, float]]:
        """Which tables there will be; where there are very many users, after a look at tastes."""
        lengths = setting.lengths
        if lengths.short and not lengths.weak:
            return "short", KAPPA
        if not lengths.rich:
            return "long", KAPPA
        bounds, cells = rules.of_the_pilot(lengths), self.design.items.cells
        classes = {
            kinds.PILOT_SHORT.name: (cells, bounds.short_rows),
            kinds.PILOT.name: (cells, bounds.long_rows(by_norm=lengths.by_norm)),
        }
        short, long = yield from course.ask(setting.prices("rich"), classes)
        kappa = rules.measured_kappa(lengths, bounds.short, short, long, setting.purse.fourth)
        if kappa is not None:
            return "rich", kappa
        return setting.path_without_kappa(), KAPPA

    def _tables(self, course: Course, setting: Setting) -> Generator[Question, Answer, None]:
        """The items, and what goes with them on this path."""
        design, path, cells = self.design, course.outcome.path, self.design.items.cells
        bounds = setting.bounds(path, course.outcome.kappa)
        long_rows = bounds.long_rows(by_norm=setting.lengths.by_norm)
        asked: dict[str, tuple[Layout, Measure]] = {design.items.name: (cells, long_rows)}
        if bounds.short:
            asked[kinds.ITEMS_SHORT.name] = cells, bounds.short_rows
        if path == "long":
            asked[kinds.TOTAL.name] = Numbered("total", 1), measures.Whole(setting.bound_of_total())
        if design.cells is not None:
            asked[kinds.EDGES.name] = design.cells.cells, replace(long_rows, over="cells")
        if design.contexts:
            in_contexts = measures.Scaled(setting.bound_of_contexts(bounds.theta), "contexts")
            asked[kinds.CONTEXTS.name] = grid(design.contexts), in_contexts
        yield from course.ask(setting.prices(path), asked)

    def _zoom(self, course: Course, setting: Setting) -> Generator[Question, Answer, None]:
        """Items that have much of the records, in rows of their own: so with less noise."""
        found = course.estimates()
        chosen = rules.zoomed(found, setting.head)
        own, steps = self.design.items.name, course.outcome.steps
        theta = next(step.theta or 1 for step in steps if step.name == own)
        bound = max(1, round(theta * float(found[chosen].sum() / found.sum())))
        cells = Picked(self.design.items.cells, chosen)
        again = {kinds.ZOOM.name: (cells, measures.Inside(tuple(chosen.tolist()), bound))}
        yield from course.ask(setting.prices("long"), again)

    def _head(self, course: Course, setting: Setting) -> Generator[Question, Answer, None]:
        """The largest items once more, nearly without bounds."""
        found = course.estimates()
        chosen = np.sort(np.argsort(-found, kind="stable")[: setting.head])
        places, cells = tuple(chosen.tolist()), Picked(self.design.items.cells, chosen)
        asked: dict[str, tuple[Layout, Measure]] = {
            kinds.HEAD.name: (cells, measures.UsersInside(places))
        }
        if self.design.rows.repeats:
            bound = rules.bound_inside(found[chosen], setting.lengths.users)
            asked = {kinds.HEAD_ROWS.name: (cells, measures.Inside(places, bound))}
        yield from course.ask(setting.prices("long"), asked)
