"""Step 5, zoom: the items that hold most, in rows of their own.

Contract: the part of a row inside the chosen items is divided by its own sum inside them, so one
user changes the table by at most g·θ₁ units, θ₁ ≥ 1, and discrete Laplace noise of scale g·θ₁/ε is
ε-differentially private; paid for in ρ, by its norm inside them. The items are chosen by what was
released.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt

from crowdtally.core.layout import ZOOM
from crowdtally.curator.steps.auto.course import SoFar
from crowdtally.curator.steps.auto.design import Design
from crowdtally.curator.steps.auto.estimating import crowd_of, fact_of, item_estimates
from crowdtally.curator.steps.auto.items import norm_fact, unreserved
from crowdtally.curator.steps.auto.planned import Passed, Planned, decided_of
from crowdtally.curator.steps.auto.questions import ChosenItems
from crowdtally.curator.steps.auto.reserving import stopped
from crowdtally.inference.items import heaviest
from crowdtally.inference.rows import Norm


@dataclass(frozen=True, eq=False)
class Zoom:
    """A second look at the items that hold most of the estimated mass."""

    design: Design
    """What is public."""
    name: str = ZOOM.name
    """The step's."""

    def plan(self, released: SoFar) -> Planned | Passed:
        """The other half of what is left, for few items."""
        decided = decided_of(released)
        stop = stopped(released)
        if not decided.zooms and not stop:
            return Passed(self._why_not(released))
        crowd = crowd_of(released).tolist()
        chosen = heaviest(item_estimates(self.design, released), decided.zoom_mass, crowd)
        if not len(chosen):
            return Passed("no item stands above the noise: there is nothing to look at again")
        theta = fact_of(released, self.design.table.name, "theta")
        inside = zoom_theta(theta, decided.zoom_mass, decided.norm)
        percent = round(100 * decided.zoom_mass)
        return Planned(
            ChosenItems(self.design, self.name, inside, chosen, decided.norm),
            unreserved(released), _why(percent, stop=stop),
            {"theta": inside, **norm_fact(decided.norm), "items": len(chosen)},
        )  # fmt: skip

    def _why_not(self, released: SoFar) -> str:
        decided = decided_of(released)
        if decided.small:
            return "the list of items is short: all of them are measured without bounds"
        if not decided.sizes.reliable:
            return "there are too few users to tell how long their rows are"
        if self.design.is_sparse:
            return "there are too many items to publish all"
        return "there are enough users per item"


def _why(percent: int, *, stop: bool) -> str:
    if stop:
        return (
            "contexts hardly differ: what was set aside for them goes to the items that hold the "
            f"top {percent}%"
        )
    return f"few users per item: those that hold the top {percent}% are measured once more"


def zoom_theta(theta: int, mass: float, norm: Norm = "l1") -> int:
    """θ₁: 3/10 of θ for 30% of the mass, 3/20 for 15%, and at least 1; of norms, their roots.

    >>> zoom_theta(50, 0.3), zoom_theta(50, 0.15), zoom_theta(2, 0.3), zoom_theta(10, 0.3, "l2")
    (15, 7, 1, 5)
    """
    part = 3 * theta ** (1 if norm == "l1" else 2) // (10 if mass > 0.2 else 20)
    return max(1, part if norm == "l1" else isqrt(part))
