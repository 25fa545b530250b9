"""Step 2, pilot: just enough to see an item that has 1% of the users' mass.

Contract: every row is scaled to a sum of at most 1, so one user changes the table by at most g
units, and discrete Laplace noise of scale g/ε is ε-differentially private.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import log, sqrt

from crowdtally.core.layout import PILOT
from crowdtally.core.privacy import Epsilon
from crowdtally.curator.counting.rows import NONE
from crowdtally.curator.steps.auto.course import SoFar
from crowdtally.curator.steps.auto.design import Design
from crowdtally.curator.steps.auto.planned import Passed, Planned, course_of, decided_of
from crowdtally.curator.steps.auto.questions import AllItems

CROWDED = Fraction(1, 100)
"""The share of the users at which an item is one of the crowd's."""
_LEAST_ITEMS = 1000
_MOST = Fraction(35, 1000)
_ROUNDED = 10**9


@dataclass(frozen=True, eq=False)
class Pilot:
    """Whether some items are so common that they are worth measuring apart."""

    design: Design
    """What is public."""
    name: str = PILOT.name
    """The step's."""

    def plan(self, released: SoFar) -> Planned | Passed:
        """All items, rows scaled to 1, if that is cheap."""
        why_not = self._why_not(released)
        if why_not is not None:
            return Passed(why_not)
        cost = self._cost(released)
        return Planned(
            AllItems(self.design, self.name, 1, NONE), cost,
            "a cheap look at all items shows those that more than 1% of the users have",
            {"theta": 1},
        )  # fmt: skip

    def _why_not(self, released: SoFar) -> str | None:
        design, decided = self.design, decided_of(released)
        if decided.small:
            return "the list of items is short: all of them are measured without bounds"
        if not decided.sizes.reliable:
            return "there are too few users to tell how long their rows are"
        if design.repeats:
            return "a user may have an item several times, which distinct users do not show"
        if design.is_sparse:
            return "there are too many items to look at each of them twice"
        if design.items < _LEAST_ITEMS:
            return f"there are fewer than {_LEAST_ITEMS} items"
        if not 0 < self._cost(released) <= course_of(released).share(_MOST):
            return "there are too few users for a look at all items to be cheap"
        return None

    def _cost(self, released: SoFar) -> Fraction:
        users, currency = decided_of(released).sizes.users, course_of(released).currency
        return pilot_cost(self.design.items, users, currency)


def pilot_cost(items: int, users: float, currency: str = Epsilon.field) -> Fraction:
    """(ln m + 2)/(0.01·n̂) of ε, or (√(2 ln m) + √2)²/(2·(0.01·n̂)²) of ρ, rounded down.

    About the largest noise of m cells, and a scale or two more, is then 1% of the users.

    >>> pilot_cost(3706, 6040.0), pilot_cost(3706, 604000.0, "rho")
    (Fraction(169167357, 1000000000), Fraction(409, 1000000000))
    """
    seen = float(CROWDED) * users
    if currency == Epsilon.field:
        return Fraction(int((log(items) + 2) / seen * _ROUNDED), _ROUNDED)
    deviations = sqrt(2 * log(items)) + sqrt(2)
    return Fraction(int((deviations / seen) ** 2 / 2 * _ROUNDED), _ROUNDED)
