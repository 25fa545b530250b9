"""Step 7U, split head: the largest items, counted among the users of each context.

Contract: contexts are a property of the user, of which each has one value, so a user is in the
cells of one context only, each at most once. Every context has an interval noise of its own, drawn
at the whole ε of the step: one user changes one of these blocks, by 0 or 1 in each cell, all the
same way. ε-differentially private, without any bound on her row. The proof is in ``contexts.md``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdtally.core.counts import Memberships
from crowdtally.core.layout import SPLIT_HEAD as KIND
from crowdtally.core.layout import Crossed, Picked, grid
from crowdtally.core.privacy import Price
from crowdtally.curator.counting.rows import Visits, users_by_block
from crowdtally.curator.request.method import AUTO_PART
from crowdtally.curator.steps.auto.course import SoFar
from crowdtally.curator.steps.auto.design import Design
from crowdtally.curator.steps.auto.head import head_places
from crowdtally.curator.steps.auto.planned import Passed, Planned, course_of, decided_of
from crowdtally.curator.steps.auto.reasons import NOTHING, why_not
from crowdtally.curator.steps.auto.reserving import stopped
from crowdtally.curator.table import Measured, MembersTable, members_table


@dataclass(frozen=True, eq=False)
class SplitHead:
    """Step 7U: instead of the plain head."""

    design: Design
    """What is public."""
    name: str = KIND.name
    """The step's, which is its table's."""

    def plan(self, released: SoFar) -> Planned | Passed:
        """Where the head is split; a small domain is measured in each context as a whole."""
        decided = decided_of(released)
        wanted = decided.split_head and not decided.small and decided.shares.head > 0
        if not wanted or stopped(released):
            return Passed(why_not(self.design, released, self._never()))
        places = head_places(self.design, released)
        if not len(places):
            return Passed(NOTHING)
        return Planned(
            UsersByContext(self.design, self.name, places),
            course_of(released).share(decided.shares.head),
            "each user has one context, so the largest items are counted in every context at the "
            "price of one",
            {"items": len(places)},
        )

    def _never(self) -> str | None:
        """Why such a request never splits its head."""
        if not self.design.per_user:
            return "a user may be in several contexts"
        if self.design.repeats:
            return "a user may have an item several times, which distinct users do not show"
        return None


@dataclass(frozen=True, eq=False)
class UsersByContext:
    """Distinct users of chosen items in each context: a draw for each, nothing is bounded."""

    design: Design
    """What is public; its contexts are a property of the user."""
    name: str
    """Of the table."""
    chosen: NDArray[np.int64]
    """The items, ascending."""

    def count(self, visits: Visits) -> Memberships:
        """Users of each chosen item in each context."""
        return users_by_block(visits, self.chosen, self.design.contexts)

    def table(self, price: Price) -> Measured | MembersTable:
        """Every chosen item in every context; a block for each context, without phantoms."""
        layout = Crossed(Picked(self.design.cells, self.chosen), grid(self.design.context_axes))
        return members_table(self.name, AUTO_PART, layout, price, 0, self.design.contexts)

    def extra(self) -> Mapping[str, Any]:
        """Nothing more: that items were chosen, its kind says."""
        return {}
