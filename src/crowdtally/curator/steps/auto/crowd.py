"""Step 3, crowd: the items that very many have, measured without bounds; they leave all rows.

Contract: one user is in each cell once or not at all, so interval noise at rate ε on all cells
together is ε-differentially private, however many of them a user has.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crowdtally.core.layout import CROWD, PILOT
from crowdtally.curator.steps.auto.course import SoFar
from crowdtally.curator.steps.auto.deciding import CROWD as SHARE
from crowdtally.curator.steps.auto.design import Design
from crowdtally.curator.steps.auto.estimating import as_floats
from crowdtally.curator.steps.auto.pilot import CROWDED
from crowdtally.curator.steps.auto.planned import Passed, Planned, course_of, decided_of
from crowdtally.curator.steps.auto.questions import ChosenMembers, Ints
from crowdtally.inference.facts import Floats

_MOST_ITEMS = 30
_TOGETHER = 0.05


@dataclass(frozen=True, eq=False)
class Crowd:
    """The largest items of the pilot."""

    design: Design
    """What is public."""
    name: str = CROWD.name
    """The step's."""

    def plan(self, released: SoFar) -> Planned | Passed:
        """Distinct users of them, if they matter."""
        pilot = released.table(PILOT.name)
        if pilot is None:
            return Passed("there was no first look at all items")
        chosen = crowded(as_floats(pilot), decided_of(released).sizes.users)
        if not len(chosen):
            return Passed("the first look shows no items that hold much of the mass")
        return Planned(
            ChosenMembers(self.design, self.name, chosen), course_of(released).share(SHARE),
            "items that very many users have are measured apart, and leave all rows",
            {"items": len(chosen)},
        )  # fmt: skip


def crowded(pilot: Floats, users: float) -> Ints:
    """The 30 largest of at least 1% of the users, in list order, if they are 5% together.

    >>> crowded(np.array([0.9, 7.0, 3.0, 1.0]), 100.0)
    array([1, 2, 3])
    >>> crowded(np.array([0.9, 0.1, 3.0, 1.0]), 100.0)
    array([], dtype=int64)
    """
    order = np.argsort(-pilot, kind="stable")[:_MOST_ITEMS]
    chosen = order[pilot[order] >= float(CROWDED) * users]
    together = pilot[chosen].sum() >= _TOGETHER * users
    return np.sort(chosen if together else chosen[:0]).astype(np.int64)
