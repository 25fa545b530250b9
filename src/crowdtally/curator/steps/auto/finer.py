"""What a look has measured, with less noise: its second half.

Contract: the cells and counts are those of the look. Its values are refined, not measured anew, so
the look and this cost together what the finer table costs alone; this step's ε is the difference.
Paid for in ρ, they are measured anew, and what is released is the mean of both.
The proof is in ``contexts.md``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from crowdtally.core.privacy import Epsilon, Price
from crowdtally.curator.counting.rows import Visits
from crowdtally.curator.refined import Averaged, Refined, can_be_refined
from crowdtally.curator.steps.auto.course import SoFar
from crowdtally.curator.steps.auto.planned import Passed, Planned, Question, course_of
from crowdtally.curator.table import Table
from crowdtally.format import NoisyTable

_WHY = "the first look found that contexts differ: the same cells with half of its noise"
_WHY_MEAN = "the first look found that contexts differ: the mean of it and of a second one"
_HELD = "a value of the first look is beyond what a table can hold"


def refine(
    question: Question, look: NoisyTable, released: SoFar, facts: Mapping[str, Any]
) -> Planned | Passed:
    """The look's own question once more: at what the look cost, its noise is halved.

    Args:
        question: the look's, by another name.
        look: what it released.
        released: all that was released.
        facts: what is said about the step.
    """
    if not can_be_refined(look):
        return Passed(_HELD)
    course = course_of(released)
    (cost,) = (step.cost for step in course.taken if step.name == look.name)
    why = _WHY if course.currency == Epsilon.field else _WHY_MEAN
    return Planned(Finer(question, look), cost, why, facts)


@dataclass(frozen=True, eq=False)
class Finer:
    """A question that was asked before."""

    question: Question
    """Its cells and counts."""
    look: NoisyTable = field(compare=False)
    """What was released of them; the counts do not depend on it."""

    @property
    def name(self) -> str:
        """Of the table."""
        return self.question.name

    def count(self, visits: Visits) -> Any:
        """The same exact counts."""
        return self.question.count(visits)

    def table(self, price: Price) -> Table:
        """The same cells, with less noise."""
        plain = self.question.table(price)
        if not isinstance(plain, Table):
            raise TypeError(f"the noise of {self.name!r} cannot be refined")
        kind = Refined if isinstance(price, Epsilon) else Averaged
        return kind(
            plain.name, plain.part, plain.cells, price, plain.bound, plain.unit,
            squared=plain.squared, before=self.look,
        )  # fmt: skip

    def extra(self) -> Mapping[str, Any]:
        """What was said about the look."""
        return self.question.extra()
