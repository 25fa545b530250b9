"""Step 6, bins: totals of four popularity bins, hardly bounded; they say what bounding lost.

Contract: every row without the crowd's items is scaled to C by its own sum over all the others,
which are all in a bin, so one user changes the totals by at most g·C units, and discrete Laplace
noise of scale g·C/ε is ε-differentially private. Bins and C follow from what was released.
"""

from __future__ import annotations

from dataclasses import dataclass

from crowdtally.core.layout import BINS
from crowdtally.curator.bounding.scaling import LARGEST_THETA
from crowdtally.curator.steps.auto.course import SoFar
from crowdtally.curator.steps.auto.design import Design
from crowdtally.curator.steps.auto.estimating import crowd_of, item_estimates
from crowdtally.curator.steps.auto.planned import Passed, Planned, course_of, decided_of
from crowdtally.curator.steps.auto.questions import Groups
from crowdtally.inference.items import equal_mass_groups
from crowdtally.inference.rows import best_cap

NUMBER = 4
"""G."""


@dataclass(frozen=True, eq=False)
class Bins:
    """Totals of items of about the same popularity."""

    design: Design
    """What is public."""
    name: str = BINS.name
    """The step's."""

    def plan(self, released: SoFar) -> Planned | Passed:
        """Four totals of equal estimated mass."""
        decided = decided_of(released)
        if not decided.shares.bins:
            return Passed(self._why_not(released))
        course = course_of(released)
        cost = course.share(decided.shares.bins)
        cap = min(best_cap(decided.sizes, NUMBER, course.worth(cost)), LARGEST_THETA)
        crowd = crowd_of(released).tolist()
        groups = equal_mass_groups(item_estimates(self.design, released), NUMBER, crowd)
        return Planned(
            Groups(self.name, cap, groups, NUMBER), cost,
            "totals of items of like popularity show how much the bound leaves out",
            {"cap": cap, "items": self.design.items - len(crowd)},
        )  # fmt: skip

    def _why_not(self, released: SoFar) -> str:
        decided = decided_of(released)
        if decided.small:
            return "the list of items is short: all of them are measured without bounds"
        if self.design.is_sparse:
            return "there are too many items to publish all"
        return "the bound leaves out less than 3% of the records"
