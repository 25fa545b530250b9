"""The stop: a first look, at half of a share, says whether contexts differ at all.

Contract: the look is an ordinary step. Whether contexts differ is read off what it released, and is
released with it, so later steps may depend on it. Where they hardly do, what is left of the shares
for contexts goes to the zoom (``reserving.py``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from crowdtally.core.layout import CONTEXTS, Crossed, Picked
from crowdtally.curator.steps.auto.course import Decided, SoFar
from crowdtally.curator.steps.auto.design import Design
from crowdtally.curator.steps.auto.estimating import as_floats
from crowdtally.curator.steps.auto.planned import (
    Plan,
    Planned,
    PlannedStep,
    course_of,
    decided_of,
)
from crowdtally.curator.steps.auto.ranking import estimated_counts
from crowdtally.curator.steps.auto.reserving import DIFFER
from crowdtally.format import NoisyTable
from crowdtally.inference.contexts import ContextFacts
from crowdtally.inference.stopping import differ, squares_of
from crowdtally.noise.draws import Draws

HALF = Fraction(1, 2)
"""Of a share: what the look takes. The other half is for halving the noise of the same cells."""


def looks(design: Design, decided: Decided) -> bool:
    """Whether tastes or head rows are measured in two halves, with a decision between them.

    Only where what is saved can be used: by a zoom, which small and very long lists do not have.
    """
    measured = decided.shares.tastes or decided.shares.head_rows
    able = not decided.small and not design.is_sparse
    return design.aim == "recommend" and bool(measured) and able


def looks_at_rows(design: Design, decided: Decided) -> bool:
    """Whether head rows are the look: where tastes are measured, those are."""
    return looks(design, decided) and not decided.shares.tastes


@dataclass(frozen=True, eq=False)
class LookStep:
    """The first half of tastes or of head rows, and what it says; nothing where none is due."""

    design: Design
    """What is public."""
    tastes: PlannedStep
    """The look where features are given."""
    rows: PlannedStep
    """The look where they are not."""
    name: str = "a first look at contexts"
    """For people: its table has the name of what is measured."""

    def plan(self, released: SoFar) -> Plan:
        """What the look asks, where one is due."""
        due = self._due(released)
        return None if due is None else due.plan(released)

    def release(self, plan: Plan, exact: Any, released: SoFar, draws: Draws) -> SoFar:
        """Its noisy table, and whether that is more than noise."""
        due = self._due(released)
        if due is None:
            return released
        seen = due.release(plan, exact, released, draws)
        if not isinstance(plan, Planned):  # nothing to look at: said by the step
            return seen
        said = they_differ(self.design, released, seen.tables[-1])
        course = course_of(seen).note(**{DIFFER: said})
        return replace(seen, course=course)

    def _due(self, released: SoFar) -> PlannedStep | None:
        decided = decided_of(released)
        if not looks(self.design, decided):
            return None
        return self.rows if looks_at_rows(self.design, decided) else self.tastes


@dataclass(frozen=True, eq=False)
class Unsaid:
    """A step of contexts that says nothing where it was taken, or passed over, before.

    A release without contexts is not told about each of them either.
    """

    design: Design
    """What is public."""
    step: PlannedStep
    """The step."""
    after: str | None = None
    """The table of the look whose second half it is."""

    @property
    def name(self) -> str:
        """The step's."""
        return self.step.name

    def plan(self, released: SoFar) -> Plan:
        """What the step plans, if it is due."""
        return self.step.plan(released) if self._is_due(released) else None

    def release(self, plan: Plan, exact: Any, released: SoFar, draws: Draws) -> SoFar:
        """What the step releases, if it is due."""
        due = self._is_due(released)
        return self.step.release(plan, exact, released, draws) if due else released

    def _is_due(self, released: SoFar) -> bool:
        taken = course_of(released).taken
        if not self.design.has_contexts or self.name in {step.name for step in taken}:
            return False
        looked = {step.name for step in taken if DIFFER in step.facts}
        return self.after is None or self.after in looked


def they_differ(design: Design, before: SoFar, table: NoisyTable) -> bool:
    """Whether a released table of features or items × contexts shows more than noise.

    Args:
        design: what is public.
        before: what was released before it.
        table: the look's.
    """
    totals = before.table(CONTEXTS.name)
    if totals is None:
        raise TypeError("a look comes after the totals of contexts")
    users = decided_of(before).sizes.users
    shares = ContextFacts(as_floats(totals), totals.law.std(), users).shares
    cells, squares = as_floats(table).reshape(-1, design.contexts), squares_of(table.law)
    if isinstance(table.layout, Crossed) and isinstance(table.layout.first, Picked):
        counts = estimated_counts(design, before)[table.layout.first.places]
        return differ(cells, table.law.std(), shares, counts=counts, squares=squares)
    without_beta = cells[:-1]
    return differ(without_beta, table.law.std(), shares, squares=squares)
