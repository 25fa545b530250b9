"""What a release of top items was asked for: all of it public."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crowdtally.curator.measured import Measured
from crowdtally.curator.selecting.top_items import TopItems
from crowdtally.values.domain import Domain
from crowdtally.values.epsilon import Epsilon
from crowdtally.values.layout import Picked, grid
from crowdtally.values.table_kinds import HEAD, HEADS

SELECT, MEASURE = "select", "measure"
"""The parts of the split that pay."""


@dataclass(frozen=True, eq=False)
class TopRequest:
    """Everything public about a release of top items."""

    items: int
    """K: how many, in each context where there are contexts."""
    domain: Domain
    """The public lists."""
    per_user: bool
    """Whether the contexts are a property of the user, of which she has one value."""
    select: Epsilon
    """ε of the selection."""
    measure: Epsilon
    """ε of the counts."""

    @property
    def contexts(self) -> int:
        """h: combinations of the contexts' values; 1 without contexts."""
        return self.domain.contexts_size

    @property
    def table(self) -> str:
        """The name of its table."""
        return HEADS.name if self.domain.contexts else HEAD.name

    @property
    def rule(self) -> TopItems:
        """How the items of one context are selected: users of several contexts pay for each."""
        shares = 1 if self.per_user else self.contexts
        return TopItems(self.items, Epsilon(self.select.value / shares))

    def layout(self, places: NDArray[np.int64]) -> Picked:
        """These cells of the public table."""
        return Picked(grid(self.domain.axes), places)

    def measured(self, places: NDArray[np.int64]) -> Measured:
        """The table of the selected cells, of which every h-th is of one context.

        It is drawn in this order; published, its rows are sorted by cell (``steps/top.py``).

        Users of different values of their own property are different users, so each context has a
        draw of its own; otherwise one draw covers all cells that one user may be in.
        """
        blocks = self.contexts if self.per_user else 1
        return Measured(self.table, MEASURE, self.layout(places), self.measure, blocks=blocks)

    def planned(self) -> Measured:
        """The table before anything is selected: as many cells, whichever they will be."""
        return self.measured(np.arange(self.items * self.contexts))
