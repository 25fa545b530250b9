"""``auto``: measures how long users' rows are, and bounds and spends by that.

Four questions at most. Each is a function of public parameters and of earlier answers, which are
noisy; each table is paid for with a share of the price, and the shares sum to the whole of it.
``auto.md`` proves the guarantee and explains the method.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import inf
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from crowdtally.core import layout as kinds
from crowdtally.core.counts import Keeping
from crowdtally.core.domain import Axis
from crowdtally.core.layout import Crossed, Layout, Numbered, Picked, grid
from crowdtally.core.numbers import show
from crowdtally.core.privacy import Delta, Epsilon, Price, Rho
from crowdtally.curator.bounding.scaling import Aim, Auto
from crowdtally.curator.converse import IN_STEPS, Asking, Facts, Released
from crowdtally.curator.methods.auto_rules import (
    KAPPA,
    RICH,
    SIZES,
    Bounds,
    Pilot,
    Purse,
    Setting,
    bound_inside,
    bound_of_total,
    of_the_pilot,
    zoomed,
)
from crowdtally.curator.questions import Bound, Noisy, Question
from crowdtally.curator.request.method import AUTO_PART
from crowdtally.curator.request.options import AUTO
from crowdtally.curator.request.request import Request
from crowdtally.curator.request.table_specs import Paid
from crowdtally.curator.row_questions import (
    Inside,
    Lengths,
    Measure,
    RowQuestion,
    Scaled,
    UserRows,
    UsersInside,
    Whole,
    row_table,
    users_table,
)
from crowdtally.curator.table import AnyTable, Table
from crowdtally.format import NoisyTable
from crowdtally.inference.auto import estimate_auto
from crowdtally.inference.auto_facts import Told, auto_facts
from crowdtally.inference.facts import AutoFacts, Path
from crowdtally.inference.rows import BINS, RowLengths, row_lengths
from crowdtally.laws.base import as_counts
from crowdtally.laws.conversion import rho_of
from crowdtally.ledger import Part


@dataclass(frozen=True, eq=False)
class Design:
    """What is public before anything is counted."""

    epsilon: Epsilon
    delta: Delta
    noise: str
    """``laplace``; with δ ``gaussian``, or ``auto``: decided once the sizes are released."""
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
        return cls(
            request.epsilon, request.delta, request.paid.noise, rule.aim, rows, tables[0], cells,
            request.domain.contexts,
        )  # fmt: skip

    @property
    def whole(self) -> Price:
        """All of ε, or all of the ρ that ε and δ grant."""
        return Paid(self.noise, self.epsilon, self.delta).price

    @property
    def may_turn(self) -> bool:
        """Whether later tables may be paid for in ρ although the first is not."""
        return self.noise == AUTO and self.delta.value > 0

    @property
    def size(self) -> int:
        """m: how many items there are, or cells of attributes."""
        return self.items.cells.size

    def setting(self, purse: Purse) -> Setting:
        cells, listed = self.cells is not None, not self.items.publishing.leaves_out
        return Setting(self.size, self.aim, bool(self.contexts), cells, listed, purse)


@dataclass(frozen=True)
class Step:
    """One table: what it cost, and why it is there."""

    name: str
    price: Price
    why: str
    theta: int | None = None
    """What its rows were scaled to; None where nobody was bounded."""

    def as_dict(self) -> dict[str, Any]:
        bound = {} if self.theta is None else {"theta": self.theta}
        return {
            "name": self.name,
            self.price.field: show(self.price.value),
            "why": self.why,
            **bound,
        }


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
        names = (kinds.ITEMS.name, kinds.CELLS.name, kinds.EDGES.name)
        bounded = {step.name: step.theta for step in self.steps if step.name in names}
        rho = {} if self.rho is None else {Rho.field: show(self.rho.value)}
        steps = [step.as_dict() for step in self.steps]
        auto = {"path": self.path, "rich": self.rich, "kappa": f"{self.kappa:.3f}", "steps": steps}
        bounds = {name: Bound(theta).as_dict() for name, theta in bounded.items() if theta}
        return {"bounds": bounds, "auto": {**auto, **rho}}


@dataclass
class Course:
    """A release on its way: what was asked, what it cost, and what was answered."""

    design: Design
    purse: Purse
    steps: list[Step] = field(default_factory=list)
    tables: list[NoisyTable] = field(default_factory=list)

    def table(
        self, kind: kinds.TableKind, layout: Layout, share: Fraction, measure: Measure, why: str
    ) -> tuple[Measure, AnyTable]:
        """A measure with its table, at a share of the price."""
        price, rows = self.purse.price(share), self.design.rows
        theta = getattr(measure, "to", getattr(measure, "most", None))
        self.steps.append(Step(kind.name, price, why, theta))
        if isinstance(measure, UsersInside):
            blocks = layout.size // len(measure.places)
            ranked = self.design.aim == "top"
            return measure, users_table(kind.name, layout, price, blocks, ranked=ranked)
        return measure, row_table(kind.name, layout, price, measure, rows)

    def items(self, measure: Scaled, share: Fraction, why: str) -> tuple[Measure, AnyTable]:
        """The same for the items' own table, as it is published: all of it or the most of it."""
        own, price = self.design.items, self.purse.price(share)
        l1, squared, unit = measure.bound(self.design.rows)
        self.steps.append(Step(own.name, price, why, measure.to))
        table = replace(
            own, part=own.name, price=price, bound=l1, unit=unit, squared=squared, settled=True
        )
        return measure, table

    def ask(self, *asked: tuple[Measure, AnyTable]) -> Generator[Question, Noisy, list[NoisyTable]]:
        """Tables whose parameters are known at the same moment are one question."""
        measures, tables = zip(*asked, strict=True)
        answer = yield RowQuestion(tables, self.design.rows, measures)
        self.tables += answer.tables
        return list(answer.tables)

    def estimates(self, outcome: Outcome) -> NDArray[np.float64]:
        """What a reader would take for each item's count by now."""
        outcome = replace(outcome, steps=tuple(self.steps))
        return estimate_auto(released_facts(self.design, outcome, self.tables)).items.mean


def outcome_of(released: Released) -> Outcome:
    """How a whole release of ``auto`` went."""
    if not isinstance(released.facts, Outcome):
        raise TypeError("only a release of auto has such facts")
    return released.facts


def released_facts(
    design: Design, outcome: Outcome, tables: list[NoisyTable] | tuple[NoisyTable, ...]
) -> AutoFacts:
    """What noisy tables say, as a reader of the release would have it."""
    theta = {step.name: step.theta for step in outcome.steps}
    told = {
        table.name: Told(
            _counts(table), table.law, theta[table.name], _places(table), _keeping(table)
        )
        for table in tables
    }
    return auto_facts(
        design.size, told, path=outcome.path, rich=outcome.rich, kappa=outcome.kappa,
        repeats=design.rows.repeats,
    )  # fmt: skip


def _keeping(table: NoisyTable) -> Keeping | None:
    return None if table.cells is None else table.keeping


def _places(table: NoisyTable) -> NDArray[np.int64] | None:
    """Which items a table has, where it has only some."""
    if table.cells is not None:
        return np.asarray(table.cells, dtype=np.int64)
    layout = table.layout.first if isinstance(table.layout, Crossed) else table.layout
    return layout.places if isinstance(layout, Picked) else None


@dataclass(frozen=True)
class AutoMethod:
    """Sizes; perhaps a pilot; the tables; perhaps the largest items once more, or twice."""

    design: Design

    @property
    def parts(self) -> tuple[Part, ...]:
        """The whole of the price. Where later tables may be paid for in ρ, δ is part of it."""
        whole, aim = self.design.whole, {"aim": self.design.aim}
        if isinstance(whole, Rho):
            return (Part(AUTO_PART, None, IN_STEPS, aim, rho=whole),)
        delta = self.design.delta if self.design.may_turn else Delta()
        return (Part(AUTO_PART, whole, IN_STEPS, aim, delta),)

    @property
    def questions(self) -> int:
        """At most."""
        return 4

    def ask(self) -> Asking:
        design = self.design
        course = Course(design, Purse(design.whole, not design.rows.repeats, part=Fraction(1)))
        why = "how long users' rows are decides the rest"
        (sizes,) = yield from course.ask(
            course.table(kinds.SIZES, Numbered("bin", BINS), SIZES, Lengths(), why)
        )
        lengths, setting = self.known(row_lengths(_counts(sizes), sizes.law.std()))
        course.purse = setting.purse
        path, kappa = yield from self._path(course, lengths)
        rho = next((one for one in (design.whole, course.purse.left) if isinstance(one, Rho)), None)
        outcome = Outcome(path, lengths.rich, kappa, rho=rho)
        yield from self._tables(course, lengths, outcome)
        if path == "long" and setting.head(lengths):
            if setting.zooms(lengths):
                yield from self._zoom(course, lengths, outcome)
            yield from self._head(course, lengths, outcome)
        return replace(outcome, steps=tuple(course.steps))

    def known(self, lengths: RowLengths) -> tuple[RowLengths, Setting]:
        """What the sizes say, and what later tables are paid out of."""
        purse = self._purse(lengths)
        return replace(lengths, rich_from=self._rich_from(purse)), self.design.setting(purse)

    def _purse(self, lengths: RowLengths) -> Purse:
        """What is left, in ε or, where that is expected to err less, in the ρ that it grants."""
        whole, ones = self.design.whole, not self.design.rows.repeats
        rest = type(whole)(whole.value * (1 - SIZES))
        if not self.design.may_turn or not isinstance(rest, Epsilon):
            return Purse(rest, ones)
        pure, turned = Purse(rest, ones), Purse(Rho(rho_of(rest, self.design.delta)), ones)
        path: Path = "short" if lengths.short else "long"
        errors = [
            self.design.setting(purse).bounds(lengths, path, KAPPA).error
            for purse in (pure, turned)
        ]
        return turned if errors[1] < errors[0] else pure

    def _rich_from(self, purse: Purse) -> float:
        """From how many users on tastes are looked at; never where only ranks of users matter."""
        if self.design.items.publishing.leaves_out:
            return inf
        if self.design.aim != "counts" and purse.ones:
            return inf
        return RICH * self.design.size / purse.worth

    def _path(
        self, course: Course, lengths: RowLengths
    ) -> Generator[Question, Noisy, tuple[Path, float]]:
        """Which tables there will be; where there are very many users, after a look at tastes."""
        if lengths.short and not lengths.weak:
            return "short", KAPPA
        if not lengths.rich:
            return "long", KAPPA
        setting, bounds = self.design.setting(course.purse), of_the_pilot(lengths)
        share, cells = setting.shares("rich", lengths)["pilot"], self.design.items.cells
        why = "tells whether users of long rows like other items than users of short ones"
        short, long = yield from course.ask(
            course.table(kinds.PILOT_SHORT, cells, share, _short(bounds), why),
            course.table(kinds.PILOT, cells, share, _long(bounds), why),
        )
        pilot = Pilot(
            bounds, _counts(short), _counts(long), (short.law.std() ** 2, long.law.std() ** 2),
            fourth=5 if isinstance(course.purse.left, Epsilon) else 2,
        )  # fmt: skip
        kappa = pilot.kappa(lengths)
        if kappa is not None:
            return "rich", kappa
        return setting.path_without_kappa(lengths), KAPPA

    def _tables(
        self, course: Course, lengths: RowLengths, outcome: Outcome
    ) -> Generator[Question, Noisy, None]:
        """The items, and what goes with them on this path."""
        design, path = self.design, outcome.path
        setting = design.setting(course.purse)
        shares, bounds = (
            setting.shares(path, lengths),
            setting.bounds(lengths, path, outcome.kappa),
        )
        theta = bounds.theta
        asked = [course.items(_long(bounds), shares["items"], _WHY_ITEMS[path])]
        if bounds.short:
            asked.append(
                course.table(
                    kinds.ITEMS_SHORT,
                    design.items.cells,
                    shares["items"],
                    _short(bounds),
                    "users of short rows, counted whole: at one price, since nobody is in both",
                )
            )
        if path == "long":
            most = bound_of_total(lengths, course.purse, shares["total"])
            why = "how many records there are in all, hardly bounded"
            asked.append(
                course.table(kinds.TOTAL, Numbered("total", 1), shares["total"], Whole(most), why)
            )
        if design.cells is not None:
            measure = Scaled(theta, "cells")
            asked.append(
                course.table(
                    kinds.EDGES,
                    design.cells.cells,
                    shares["edges"],
                    measure,
                    "every item in every context",
                )
            )
        if design.contexts:
            why, measure = "how many records each context has", Scaled(theta, "contexts")
            layout = grid(design.contexts)
            asked.append(course.table(kinds.CONTEXTS, layout, shares["contexts"], measure, why))
        yield from course.ask(*asked)

    def _zoom(
        self, course: Course, lengths: RowLengths, outcome: Outcome
    ) -> Generator[Question, Noisy, None]:
        """Items that have much of the records, in rows of their own: so with less noise."""
        found, setting = course.estimates(outcome), self.design.setting(course.purse)
        chosen = zoomed(found, setting.head(lengths))
        theta = next(step.theta or 1 for step in course.steps if step.name == kinds.ITEMS.name)
        bound = max(1, round(theta * float(found[chosen].sum() / found.sum())))
        layout = Picked(self.design.items.cells, chosen)
        share = setting.shares("long", lengths)["zoom"]
        why = "few users for so many items: those that seem to have much are looked at again"
        measure = Inside(tuple(chosen.tolist()), bound)
        yield from course.ask(course.table(kinds.ZOOM, layout, share, measure, why))

    def _head(
        self, course: Course, lengths: RowLengths, outcome: Outcome
    ) -> Generator[Question, Noisy, None]:
        """The largest items once more, nearly without bounds; in each context to recommend."""
        design, rows = self.design, self.design.rows
        found, setting = course.estimates(outcome), design.setting(course.purse)
        size, split = setting.head(lengths), setting.splits(lengths)
        chosen = np.sort(np.argsort(-found, kind="stable")[:size])
        places, cells = tuple(chosen.tolist()), Picked(design.items.cells, chosen)
        layout = Crossed(cells, grid(design.contexts)) if split else cells
        share = setting.shares("long", lengths)["head"]
        measure: Measure
        if not rows.repeats and (rows.per_user or not split):
            kind, measure = kinds.HEAD, UsersInside(places, split)
            why = "the largest items, by their distinct users: nobody is bounded"
        else:
            bound = bound_inside(found[chosen], lengths.users)
            kind, measure = kinds.HEAD_ROWS, Inside(places, bound, split)
            why = "the largest items, in rows that have nothing else"
        if split:
            kind = kinds.SPLIT_HEAD if kind is kinds.HEAD else kinds.SPLIT_ROWS
            why += "; in each context"
        yield from course.ask(course.table(kind, layout, share, measure, why))


_WHY_ITEMS: dict[Path, str] = {
    "short": "all rows are short: a bound loses next to nothing",
    "rich": "very many users: the noise is small, and the bound is high",
    "long": "rows are long: the bound is where noise and what is left out err least",
}


def _short(bounds: Bounds) -> Scaled:
    return Scaled(bounds.short, only_to=bounds.short)


def _long(bounds: Bounds) -> Scaled:
    return Scaled(bounds.theta, above=bounds.short)


def _counts(table: NoisyTable) -> NDArray[np.float64]:
    """The noisy values as counts."""
    return np.asarray(as_counts(table.values, table.law.unit), dtype=np.float64)
