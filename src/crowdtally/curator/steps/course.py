"""How ε is spent on the way: one account, asserted before each draw.

Contract: whatever was released on the way, the steps' ε add up to at most the total, which was
charged before the first draw. A step that is passed over leaves its share unspent: nothing is given
back. The proof that this is enough is in ``auto.md``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from crowdtally.errors import CrowdtallyError
from crowdtally.values.epsilon import Epsilon
from crowdtally.values.rational import show


@dataclass(frozen=True)
class Taken:
    """A step that was taken, or passed over at no cost."""

    name: str
    """The step's, which is its table's."""
    epsilon: Fraction
    """What it cost; 0 where it was passed over."""
    why: str
    """Why it was taken with that share, or not, in plain words."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What was decided for it: bounds, numbers of items; all of it public."""

    def as_dict(self) -> dict[str, Any]:
        """For ``release.json``."""
        return {"name": self.name, "epsilon": show(self.epsilon), "why": self.why, **self.facts}


@dataclass(frozen=True)
class Course:
    """What was spent so far, step by step.

    >>> course = Course(Fraction(1))
    >>> course, cost = course.spend("sizes", Fraction(3, 100), "always")
    >>> cost, course.left
    (Epsilon(value=Fraction(3, 100)), Fraction(97, 100))
    """

    total: Fraction
    """What was charged."""
    taken: tuple[Taken, ...] = ()
    """The steps so far, in order."""

    @property
    def spent(self) -> Fraction:
        """What the steps cost so far."""
        return sum((one.epsilon for one in self.taken), Fraction(0))

    @property
    def left(self) -> Fraction:
        """What may still be spent."""
        return self.total - self.spent

    def spend(self, name: str, epsilon: Fraction, why: str, **facts: Any) -> tuple[Course, Epsilon]:
        """The course with one more step, and the ε to draw its noise with; never beyond the total.

        Every draw takes its ε from here, so none can be made that was not counted.
        """
        if not isinstance(epsilon, Fraction) or epsilon <= 0 or epsilon > self.left:
            raise CrowdtallyError(
                f"the step {name!r} would spend {show(Fraction(epsilon))} where "
                f"{show(self.left)} is left of {show(self.total)}: this is a fault of the program, "
                "and nothing is released."
            )
        if name in {one.name for one in self.taken}:
            raise CrowdtallyError(
                f"the step {name!r} would be taken twice: this is a fault of the program, and "
                "nothing is released."
            )
        return self._with(Taken(name, epsilon, why, facts)), Epsilon(epsilon)

    def pass_over(self, name: str, why: str) -> Course:
        """The course with a step that is not taken."""
        return self._with(Taken(name, Fraction(0), why))

    def note(self, **facts: Any) -> Course:
        """The course with more said about its last step: what was read off its released table."""
        *before, last = self.taken
        noted = replace(last, facts={**last.facts, **facts})
        return replace(self, taken=(*before, noted))

    def _with(self, step: Taken) -> Course:
        return replace(self, taken=(*self.taken, step))

    def as_list(self) -> list[dict[str, Any]]:
        """For ``release.json``."""
        return [one.as_dict() for one in self.taken]
