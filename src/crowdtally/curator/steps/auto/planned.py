"""A step of ``auto`` after the first: decided from what is released, counted, charged, drawn.

Contract: :meth:`Query.plan` sees released values alone. The plan's cost is spent before the noise
is drawn, and the noise is drawn with exactly the price that was spent. What a plan counts has the
bound that its table states, for every database. ``auto.md`` says why that is enough.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Protocol

from crowdtally.core.privacy import Price
from crowdtally.curator.converse import Bound, Course, Decided, Reading, Released
from crowdtally.curator.counting.bounded import Read
from crowdtally.curator.counting.rows import Visits
from crowdtally.curator.steps.auto.design import Design
from crowdtally.curator.steps.auto.visiting import visits_of
from crowdtally.curator.table import Measured, Table
from crowdtally.ledger import Part
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
    def design(self) -> Design:
        """What is public from the start."""

    @property
    def name(self) -> str:
        """The step's, which is its table's."""

    def plan(self, released: Released) -> Planned | Passed:
        """A function of released values alone."""


@dataclass(frozen=True, eq=False)
class PlannedStep:
    """One step: what its query asks is counted, charged and drawn, in this order."""

    query: Query
    """What it asks."""

    @property
    def name(self) -> str:
        """The step's."""
        return self.query.name

    def parts(self) -> Sequence[Part]:
        """Nothing: the first step was charged for all."""
        return []

    def count(self, reading: Reading, released: Released) -> Read[Any]:
        """The plan, and what it counts; None where the step does not run."""
        visits, plan = visits_of(reading, self.query.design), self.query.plan(released)
        if isinstance(plan, Passed):
            return Read(None, visits.dropped)
        return Read((plan, plan.question.count(visits)), visits.dropped)

    def release(self, counted: Read[Any], released: Released, draws: Draws) -> Released:
        """The noisy table, once it is paid for."""
        course = course_of(released)
        if counted.found is None:
            plan = self.query.plan(released)
            why = plan.why if isinstance(plan, Passed) else ""
            return replace(released, course=course.pass_over(self.name, why))
        plan, exact = counted.found
        asked = plan.question
        course, price = course.spend(asked.name, plan.cost, plan.why, **plan.facts)
        noisy = asked.table(price).publish(exact, draws)
        noisy = replace(noisy, facts={**noisy.facts, **asked.extra()})
        bounds = {} if plan.bound is None else {asked.name: Bound(plan.bound)}
        bounds = {**released.bounds, **bounds}
        return replace(released.with_tables([noisy]), course=course, bounds=bounds)


def course_of(released: Released) -> Course:
    """The account, which the first step opened."""
    if released.course is None:
        raise TypeError("the first step of auto opens the account")
    return released.course


def decided_of(released: Released) -> Decided:
    """What was decided once the sizes were released."""
    if released.decided is None:
        raise TypeError("the first step of auto decides which steps run")
    return released.decided
