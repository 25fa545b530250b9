"""A step of ``auto`` after the first: decided from what is released, counted, charged, drawn.

Contract: :meth:`Query.plan` sees released values alone. The plan's cost is spent before the noise
is drawn, and the noise is drawn with exactly the price that was spent. What a plan counts has the
bound that its table states, for every database. ``auto.md`` says why that is enough.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Protocol

from crowdtally.core.privacy import Price
from crowdtally.curator.counting.rows import Visits
from crowdtally.curator.questions import Bound
from crowdtally.curator.steps.auto.course import Course, Decided, SoFar
from crowdtally.curator.table import Measured, Table
from crowdtally.noise.draws import Draws


@dataclass(frozen=True)
class Passed:
    """A step that does not run."""

    why: str
    """A plain sentence."""


class Question(Protocol):
    """What is counted: its bound and its counts, which know nothing of its price."""

    @property
    def name(self) -> str:
        """Of the table."""

    def count(self, visits: Visits) -> Any:
        """Exact counts, or memberships; private."""

    def table(self, price: Price) -> Table | Measured:
        """What publishes them."""

    def extra(self) -> Mapping[str, Any]:
        """What the table's entry says beside what the table itself says."""


@dataclass(frozen=True, eq=False)
class Planned:
    """A step that runs."""

    question: Question
    """What it counts."""
    cost: Fraction
    """What it costs, in what the course is paid for."""
    why: str
    """Why it runs, and with that share: a plain sentence."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What was decided for it."""
    bound: int | None = None
    """θ, where the table is the items' own."""


class Query(Protocol):
    """What a step asks, once earlier steps were released."""

    @property
    def name(self) -> str:
        """The step's, which is its table's."""

    def plan(self, released: SoFar) -> Planned | Passed:
        """A function of released values alone."""


Plan = Planned | Passed | None
"""What a step does: it runs, it is passed over, or, None, it says nothing."""


class AutoStep(Protocol):
    """One step of ``auto``: decided from what is released, counted, paid for, drawn."""

    @property
    def name(self) -> str:
        """The step's."""

    def plan(self, released: SoFar) -> Plan:
        """A function of released values alone."""

    def release(self, plan: Plan, exact: Any, released: SoFar, draws: Draws) -> SoFar:
        """Pay for the plan and draw its noise; ``exact`` is what its question counts."""


@dataclass(frozen=True, eq=False)
class PlannedStep:
    """One step: what its query asks is counted, charged and drawn, in this order."""

    query: Query
    """What it asks."""

    @property
    def name(self) -> str:
        """The step's."""
        return self.query.name

    def plan(self, released: SoFar) -> Plan:
        """What its query plans."""
        return self.query.plan(released)

    def release(self, plan: Plan, exact: Any, released: SoFar, draws: Draws) -> SoFar:
        """The noisy table, once it is paid for."""
        if isinstance(plan, Planned):
            return paid_and_drawn(plan, exact, released, draws)
        why = plan.why if isinstance(plan, Passed) else ""
        return replace(released, course=course_of(released).pass_over(self.name, why))


def paid_and_drawn(plan: Planned, exact: Any, released: SoFar, draws: Draws) -> SoFar:
    """What was released, and the table of a plan: paid for, then drawn with just that price."""
    asked = plan.question
    course, price = course_of(released).spend(asked.name, plan.cost, plan.why, **plan.facts)
    noisy = asked.table(price).publish(exact, draws)
    noisy = replace(noisy, facts={**noisy.facts, **asked.extra()})
    bounds = {} if plan.bound is None else {asked.name: Bound(plan.bound)}
    bounds = {**released.bounds, **bounds}
    return replace(released.with_table(noisy), course=course, bounds=bounds)


def course_of(released: SoFar) -> Course:
    """The account, which the first step opened."""
    if released.course is None:
        raise TypeError("the first step of auto opens the account")
    return released.course


def decided_of(released: SoFar) -> Decided:
    """What was decided once the sizes were released."""
    if released.decided is None:
        raise TypeError("the first step of auto decides which steps run")
    return released.decided
