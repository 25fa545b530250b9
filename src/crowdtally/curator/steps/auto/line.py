"""The steps of ``auto`` in their order, each asked as one question of a conversation."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cached_property
from typing import Any

import numpy as np

from crowdtally.core.layout import HEAD_ROWS, TASTES
from crowdtally.core.privacy import Delta, Rho
from crowdtally.curator.converse import IN_STEPS, Asking
from crowdtally.curator.counting.bounded import Read
from crowdtally.curator.counting.count import Reading, count
from crowdtally.curator.counting.rows import make_visits
from crowdtally.curator.questions import Question, Tables
from crowdtally.curator.request.method import AUTO_PART
from crowdtally.curator.steps.auto.bins import Bins
from crowdtally.curator.steps.auto.contexts import Contexts
from crowdtally.curator.steps.auto.course import SoFar
from crowdtally.curator.steps.auto.crowd import Crowd
from crowdtally.curator.steps.auto.design import Design
from crowdtally.curator.steps.auto.head import Head
from crowdtally.curator.steps.auto.head_rows import HeadRows, HeadRowsAgain
from crowdtally.curator.steps.auto.items import Items
from crowdtally.curator.steps.auto.pilot import Pilot
from crowdtally.curator.steps.auto.planned import AutoStep, Plan, Planned, PlannedStep
from crowdtally.curator.steps.auto.sizes import SizesStep
from crowdtally.curator.steps.auto.split_head import SplitHead
from crowdtally.curator.steps.auto.stop import LookStep, Unsaid
from crowdtally.curator.steps.auto.tastes import Tastes, TastesAgain
from crowdtally.curator.steps.auto.zoom import Zoom
from crowdtally.ledger import Part
from crowdtally.noise.draws import Draws


def auto_steps(design: Design) -> tuple[AutoStep, ...]:
    """All steps; which of them run is decided on the way."""
    return (
        SizesStep(design),
        PlannedStep(Pilot(design)),
        PlannedStep(Crowd(design)),
        PlannedStep(Items(design)),
        Unsaid(design, PlannedStep(Contexts(design))),
        LookStep(design, PlannedStep(Tastes(design)), PlannedStep(HeadRows(design))),
        PlannedStep(Zoom(design)),
        PlannedStep(Bins(design)),
        PlannedStep(Head(design)),
        Unsaid(design, PlannedStep(SplitHead(design))),
        Unsaid(design, PlannedStep(Tastes(design))),
        Unsaid(design, PlannedStep(TastesAgain(design)), after=TASTES.name),
        Unsaid(design, PlannedStep(HeadRows(design))),
        Unsaid(design, PlannedStep(HeadRowsAgain(design)), after=HEAD_ROWS.name),
    )


@dataclass(frozen=True)
class StepAnswer:
    """What one step released."""

    tables: Tables
    """Its table, if it ran."""
    released: SoFar
    """That, and all before it."""


@dataclass(frozen=True, eq=False)
class StepQuestion(Question):
    """What one step asks, after all that was released before it.

    The first one states the price of all; later ones are paid for by the course, in steps.
    """

    design: Design
    """What is public."""
    step: AutoStep
    """The step."""
    before: SoFar
    """What was released."""
    paid: tuple[Part, ...]
    """The price of all, for the first step."""

    @property
    def name(self) -> str:
        """The step's."""
        return self.step.name

    def parts(self) -> tuple[Part, ...]:
        """All of it at first, then nothing."""
        return self.paid

    @cached_property
    def plan(self) -> Plan:
        """A function of released values alone."""
        return self.step.plan(self.before)

    @cached_property
    def _counts(self) -> Hashable:
        """What its plan asks, if it runs: all that decides what is counted."""
        return asked(self.plan.question) if isinstance(self.plan, Planned) else None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StepQuestion) and self._counts == other._counts

    def __hash__(self) -> int:
        return hash(self._counts)

    def draw(self, exact: Any, draws: Draws) -> StepAnswer:
        """Paid for within the course, then drawn."""
        released = self.step.release(self.plan, exact, self.before, draws)
        return StepAnswer(released.tables[len(self.before.tables) :], released)


@dataclass(frozen=True)
class AutoMethod:
    """All steps, one question each."""

    design: Design
    """What is public."""
    steps: tuple[AutoStep, ...] = field(default=())
    """Those of :func:`auto_steps`, unless others are given."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "steps", self.steps or auto_steps(self.design))

    @property
    def parts(self) -> tuple[Part, ...]:
        """The whole of the price.

        Where later steps may be paid for in ρ, all of it is one pair of ε and δ.
        """
        total, aim = self.design.opening, {"aim": self.design.aim}
        if isinstance(total, Rho):
            return (Part(AUTO_PART, None, IN_STEPS, aim, rho=total),)
        delta = self.design.delta if self.design.may_turn else Delta()
        return (Part(AUTO_PART, total, IN_STEPS, aim, delta),)

    @property
    def questions(self) -> int:
        """One for each step, also where it will be passed over."""
        return len(self.steps)

    def ask(self) -> Asking:
        """Every step in its order."""
        released, paid = SoFar(), self.parts
        for step in self.steps:
            taken = yield StepQuestion(self.design, step, released, paid)
            released, paid = taken.released, ()
        return released


@count.register
def planned_counts(question: StepQuestion, records: Reading) -> Read[Any]:
    """(user, item, context, amount), computed once, under one sampling key → what the plan asks."""
    design, plan = question.design, question.plan
    visits = records.once(
        ("visits", design.per_user, design.repeats),
        lambda: make_visits(
            records.engine, records.prepared, key=records.fresh_key(),
            per_user=design.per_user, repeats=design.repeats,
        ),
    )  # fmt: skip
    found = plan.question.count(visits) if isinstance(plan, Planned) else None
    return Read(found, visits.dropped)


def asked(question: object) -> Hashable:
    """All that a plan's question says, but what the whole release has in common.

    Fields that are not compared do not change what is counted.

    >>> asked([1, {"a": np.array([2, 3])}])
    ('list', (1, ('dict', (('a', ('ndarray', (2, 3))),))))
    """
    if isinstance(question, Design):
        return "design"
    kind = type(question).__name__
    if isinstance(question, np.ndarray):
        return kind, tuple(question.ravel().tolist())
    if isinstance(question, Mapping):
        return kind, tuple((name, asked(value)) for name, value in question.items())
    if isinstance(question, list | tuple):
        return kind, tuple(asked(one) for one in question)
    if is_dataclass(question):
        return kind, tuple(
            asked(getattr(question, one.name)) for one in fields(question) if one.compare
        )
    return question if isinstance(question, Hashable) else repr(question)
