"""9R, head rows: the largest items in each context, where a user may be in several contexts.

Contract: the items are the largest by released counts. A user's row is what she has in the cells of
these items and the contexts, scaled to a sum of at most 1 over exactly these cells: L1 = g units,
so Laplace noise of scale g/ε is ε-differentially private. Where a look is taken first,
the same cells are released later with half of its noise. The proof is in ``contexts.md``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdtally.core.counts import Counts
from crowdtally.core.layout import HEAD_ROWS, HEAD_ROWS_AGAIN, Crossed, Picked, grid
from crowdtally.core.privacy import Price
from crowdtally.curator.bounding.scaling import GRID
from crowdtally.curator.counting.rows import UNIT, Visits, rows_of_chosen
from crowdtally.curator.request.method import AUTO_PART
from crowdtally.curator.steps.auto.course import SoFar
from crowdtally.curator.steps.auto.deciding import ROWS_RECORD, ROWS_USER
from crowdtally.curator.steps.auto.design import Design
from crowdtally.curator.steps.auto.finer import refine
from crowdtally.curator.steps.auto.planned import Passed, Planned, course_of, decided_of
from crowdtally.curator.steps.auto.ranking import top_places
from crowdtally.curator.steps.auto.reasons import NOTHING, why_not
from crowdtally.curator.steps.auto.reserving import stopped
from crowdtally.curator.steps.auto.stop import HALF, looks_at_rows
from crowdtally.curator.table import Table

_WHY = "how the largest items are spread over the contexts"


@dataclass(frozen=True, eq=False)
class HeadRows:
    """9R at once, or its first half."""

    design: Design
    """What is public."""
    name: str = HEAD_ROWS.name
    """The step's, which is its table's."""

    def plan(self, released: SoFar) -> Planned | Passed:
        """Where users may be in several contexts, or repeat, and there are enough of them."""
        decided = decided_of(released)
        if not decided.shares.head_rows or stopped(released):
            return Passed(why_not(self.design, released, self._never()))
        most = ROWS_USER if self.design.per_user else ROWS_RECORD
        places = top_places(self.design, released, most)
        if not len(places):
            return Passed(NOTHING)
        share = decided.shares.head_rows * (HALF if looks_at_rows(self.design, decided) else 1)
        asked = RowsByContext(self.design, self.name, places)
        cost = course_of(released).share(share)
        return Planned(asked, cost, _WHY, {"items": len(places)})

    def _never(self) -> str | None:
        """Why such a request has no head rows."""
        if self.design.aim == "counts":
            return "they say more about ranks than about counts: for a release to recommend by"
        if self.design.per_user and not self.design.repeats:
            return "each user has one context and counts once: the split head says more"
        return None


@dataclass(frozen=True, eq=False)
class HeadRowsAgain:
    """The second half of 9R, after a look that found differences: the same with less noise."""

    design: Design
    """What is public."""
    name: str = HEAD_ROWS_AGAIN.name
    """The step's, which is its table's."""

    def plan(self, released: SoFar) -> Planned | Passed:
        """With the items of the first half."""
        decided, before = decided_of(released), released.table(HEAD_ROWS.name)
        if before is None or not looks_at_rows(self.design, decided) or stopped(released):
            return Passed(why_not(self.design, released))
        places = _places(before.layout)
        asked = RowsByContext(self.design, self.name, places)
        return refine(asked, before, released, {"items": len(places)})


def _places(layout: Any) -> NDArray[np.int64]:
    """The items of a table of chosen items in context."""
    found: NDArray[np.int64] = layout.first.places
    return found


@dataclass(frozen=True, eq=False)
class RowsByContext:
    """Rows inside chosen items × contexts, scaled to 1. L1 = 1, in counts."""

    design: Design
    """What is public."""
    name: str
    """Of the table."""
    chosen: NDArray[np.int64]
    """The items, ascending."""

    def count(self, visits: Visits) -> Counts:
        """What the chosen items have in each context."""
        return rows_of_chosen(visits, self.chosen, self.design.contexts)

    def table(self, price: Price) -> Table:
        """Every chosen item in every context."""
        layout = Crossed(Picked(self.design.cells, self.chosen), grid(self.design.context_axes))
        return Table(self.name, AUTO_PART, layout, price, GRID, UNIT)

    def extra(self) -> Mapping[str, Any]:
        """Nothing more: that items were chosen, its kind says."""
        return {}
