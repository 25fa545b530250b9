"""How a release of ``auto`` is paid for on the way: one account, asserted before each draw.

Contract: whatever was released on the way, the steps' prices add up to at most the total, which was
charged before the first draw. The total is ε, or ρ of zCDP. An account of ε may be turned once:
what is left of ε, with δ, is given away for the ρ that it grants, and later steps are paid for in
ρ. A step that is passed over leaves its share unspent: nothing is given back. The proof that this
is enough is in ``auto.md``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import sqrt
from typing import Any

from crowdtally.core.numbers import show
from crowdtally.core.privacy import Delta, Epsilon, Price, Rho
from crowdtally.errors import CrowdtallyError
from crowdtally.laws.conversion import rho_of


def worth(price: Price) -> float:
    """The ε whose Laplace noise deviates as much as the noise that the price buys.

    For counts of bound 1, in L1 or in L2: √2/ε = 1/√(2ρ), so ε = 2√ρ.

    >>> worth(Epsilon(Fraction(1, 2))), worth(Rho(Fraction(1, 16)))
    (0.5, 0.5)
    """
    return float(price.value) if isinstance(price, Epsilon) else 2 * sqrt(price.value)


@dataclass(frozen=True)
class Taken:
    """A step that was taken, or passed over at no cost."""

    name: str
    """The step's, which is its table's."""
    cost: Fraction
    """What it cost; 0 where it was passed over."""
    why: str
    """Why it was taken with that share, or not, in plain words."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What was decided for it: bounds, numbers of items; all of it public."""
    currency: str = Epsilon.field
    """What the cost is in: ``epsilon`` or ``rho``."""

    def as_dict(self) -> dict[str, Any]:
        """For ``release.json``."""
        return {"name": self.name, self.currency: show(self.cost), "why": self.why, **self.facts}


@dataclass(frozen=True)
class Course:
    """What was spent so far, step by step.

    >>> course = Course(Epsilon(Fraction(1)))
    >>> course, cost = course.spend("sizes", Fraction(3, 100), "always")
    >>> cost, course.left
    (Epsilon(value=Fraction(3, 100)), Fraction(97, 100))
    """

    total: Price
    """What was charged; once it is turned, the ρ that what was left of it grants."""
    taken: tuple[Taken, ...] = ()
    """The steps so far, in order."""

    @property
    def currency(self) -> str:
        """What steps are paid for in now: ``epsilon`` or ``rho``."""
        return self.total.field

    @property
    def spent(self) -> Fraction:
        """What the steps cost so far, of the total."""
        costs = (one.cost for one in self.taken if one.currency == self.currency)
        return sum(costs, Fraction(0))

    @property
    def left(self) -> Fraction:
        """What may still be spent."""
        return self.total.value - self.spent

    def share(self, of: Fraction) -> Fraction:
        """A share of the total."""
        return of * self.total.value

    def worth(self, cost: Fraction) -> float:
        """What a cost is worth as noise, see :func:`worth`."""
        return worth(self._price(cost))

    def turn(self, delta: Delta) -> Course:
        """The course that is paid for in ρ from here on: the ρ of what is left of ε, and δ.

        Once: an account of ρ cannot be turned, so δ is not spent twice.
        """
        if not isinstance(self.total, Epsilon):
            raise CrowdtallyError(
                "what is left of rho would be turned into rho once more: this is a fault of the "
                "program, and nothing is released."
            )
        return replace(self, total=Rho(rho_of(self.left, delta.value)))

    def spend(self, name: str, cost: Fraction, why: str, **facts: Any) -> tuple[Course, Price]:
        """The course with one more step, and the price to draw its noise with; within the total.

        Every draw takes its price from here, so none can be made that was not counted.
        """
        if not isinstance(cost, Fraction) or cost <= 0 or cost > self.left:
            raise CrowdtallyError(
                f"the step {name!r} would spend {show(Fraction(cost))} where "
                f"{show(self.left)} is left of {show(self.total.value)}: this is a fault of the "
                "program, and nothing is released."
            )
        if name in {one.name for one in self.taken}:
            raise CrowdtallyError(
                f"the step {name!r} would be taken twice: this is a fault of the program, and "
                "nothing is released."
            )
        taken = Taken(name, cost, why, facts, self.currency)
        return self._with(taken), self._price(cost)

    def pass_over(self, name: str, why: str) -> Course:
        """The course with a step that is not taken."""
        return self._with(Taken(name, Fraction(0), why, currency=self.currency))

    def note(self, **facts: Any) -> Course:
        """The course with more said about its last step: what was read off its released table."""
        *before, last = self.taken
        noted = replace(last, facts={**last.facts, **facts})
        return replace(self, taken=(*before, noted))

    def _with(self, step: Taken) -> Course:
        return replace(self, taken=(*self.taken, step))

    def _price(self, cost: Fraction) -> Price:
        return type(self.total)(cost)

    def as_dict(self) -> dict[str, Any]:
        """For ``release.json``: the steps, what is left, and the ρ that they are paid out of."""
        steps = [one.as_dict() for one in self.taken]
        rho = {} if isinstance(self.total, Epsilon) else {Rho.field: show(self.total.value)}
        return {"steps": steps, **rho, "unspent": show(self.left)}
