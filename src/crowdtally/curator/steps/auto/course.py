"""What ``auto`` spent, what it decided, and what it released so far."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import isqrt, sqrt
from typing import Any

from crowdtally.core.numbers import show
from crowdtally.core.privacy import Delta, Epsilon, Price, Rho
from crowdtally.curator.bounding.scaling import LARGEST_THETA
from crowdtally.curator.converse import Facts, Released
from crowdtally.curator.questions import Bound
from crowdtally.errors import CrowdtallyError
from crowdtally.format import NoisyTable
from crowdtally.inference.rows import Norm, Sizes, best_theta, power_of
from crowdtally.laws.conversion import rho_of

# How a release of ``auto`` is paid for on the way: one account, asserted before each draw.
#
# Contract: whatever was released on the way, the steps' prices add up to at most the total, which
# was charged before the first draw. The total is ε, or ρ of zCDP. An account of ε may be turned
# once: what is left of ε, with δ, is given away for the ρ that it grants, and later steps are
# paid for in ρ. A step that is passed over leaves its share unspent: nothing is given back. The
# proof that this is enough is in ``auto.md``.


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


# What ``auto`` decided once it knew how long the users' rows are: public, like all it rests on.


@dataclass(frozen=True)
class Shares:
    """Shares of the total that are set aside after step 1; 0 for a step that does not run."""

    bins: Fraction = Fraction(0)
    """Of the totals of popularity bins."""
    head: Fraction = Fraction(0)
    """Of the head, split by context or not."""
    contexts: Fraction = Fraction(0)
    """Of the totals of contexts."""
    tastes: Fraction = Fraction(0)
    """F: of what users of a context like."""
    head_rows: Fraction = Fraction(0)
    """9R: of the head's items by context."""

    @property
    def total(self) -> Fraction:
        """All of them."""
        return self.bins + self.head + self.contexts + self.tastes + self.head_rows


@dataclass(frozen=True)
class Decided:
    """What was decided once the sizes were released."""

    sizes: Sizes
    """What they say."""
    shares: Shares
    """What is set aside."""
    light: bool
    """Whether next to nothing is lost at the best θ: its own formula, and no bins."""
    small: bool
    """Whether the domain is so small that interval noise on all of it beats bounding."""
    split_head: bool
    """7U: whether the head is measured in each context."""
    zooms: bool
    """Whether part of the table's share goes to the items that hold most."""
    zoom_mass: float
    """The share of the estimated mass whose items are zoomed."""
    q: float
    """Users × ε per context value; 0 where sizes are unreliable."""

    items: int
    """m."""
    norm: Norm = "l1"
    """What is bounded of the rows of the table and of the zoom."""
    repeats: bool = False
    """Whether a user may have an item several times."""

    def theta(self, rest: float) -> int:
        """θ for a table (and zoom) whose price is worth so much ε."""
        if not self.sizes.reliable:
            return 1
        power = power_of(self.norm, repeats=self.repeats)
        found = best_theta(self.sizes, rest, self.items, light=self.light, power=power)
        return min(found, largest_theta(self.norm, self.items, repeats=self.repeats))


def largest_theta(norm: Norm, items: int, *, repeats: bool) -> int:
    """The largest θ that may be chosen: no row of ones is longer in L2 than √m.

    >>> largest_theta("l2", 10, repeats=False), largest_theta("l1", 10, repeats=False)
    (4, 8192)
    """
    if norm == "l1" or repeats:
        return LARGEST_THETA
    return min(isqrt(items - 1) + 1, LARGEST_THETA)


@dataclass(frozen=True)
class SoFar(Facts):
    """What the steps have released so far: all of it noisy, all of it public."""

    tables: tuple[NoisyTable, ...] = ()
    """The tables, in the order they were drawn."""
    bounds: Mapping[str, Bound] = field(default_factory=dict)
    """The bound of the items' table."""
    course: Course | None = None
    """How ε was spent."""
    decided: Decided | None = None
    """What was decided once it was known how long rows are."""

    def table(self, name: str) -> NoisyTable | None:
        """The table of a step, if it was released."""
        return next((table for table in self.tables if table.name == name), None)

    def with_table(self, table: NoisyTable) -> SoFar:
        """With one more table."""
        return replace(self, tables=(*self.tables, table))

    def as_dict(self) -> dict[str, Any]:
        """For ``release.json``: the bound, and the steps with what is left."""
        course = {} if self.course is None else {"auto": self.course.as_dict()}
        bounds = {name: bound.as_dict() for name, bound in self.bounds.items()}
        return {"bounds": bounds} | course


def so_far(released: Released) -> SoFar:
    """What a whole release of ``auto`` released, by its steps."""
    if not isinstance(released.facts, SoFar):
        raise TypeError("only a release of auto has steps")
    return released.facts
