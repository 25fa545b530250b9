"""Step 7, head: the largest items as distinct users, without bounds.

Contract: one user is in each cell once or not at all, so interval noise at rate ε on all cells
together is ε-differentially private. The items are chosen by what was released.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crowdtally.core.layout import HEAD
from crowdtally.curator.counting.rows import NONE
from crowdtally.curator.steps.auto.course import SoFar
from crowdtally.curator.steps.auto.deciding import HEAD as HEAD_SHARE
from crowdtally.curator.steps.auto.deciding import head_items
from crowdtally.curator.steps.auto.design import Design
from crowdtally.curator.steps.auto.estimating import crowd_of, item_estimates
from crowdtally.curator.steps.auto.planned import Passed, Planned, course_of, decided_of
from crowdtally.curator.steps.auto.questions import ChosenMembers, Ints
from crowdtally.curator.steps.auto.reserving import stopped
from crowdtally.inference.items import largest


@dataclass(frozen=True, eq=False)
class Head:
    """The top K by estimate, outside the crowd."""

    design: Design
    """What is public."""
    name: str = HEAD.name
    """The step's."""

    def plan(self, released: SoFar) -> Planned | Passed:
        """Distinct users of them."""
        decided = decided_of(released)
        split = decided.split_head and not stopped(released)
        if split or not decided.shares.head:
            return Passed(self._why_not(released))
        chosen = head_places(self.design, released)
        if not len(chosen):
            return Passed("no item was published that could be measured once more")
        return Planned(
            ChosenMembers(self.design, self.name, chosen),
            course_of(released).share(HEAD_SHARE if decided.split_head else decided.shares.head),
            "the largest items are measured directly, without bounds",
            {"items": len(chosen)},
        )  # fmt: skip

    def _why_not(self, released: SoFar) -> str:
        decided = decided_of(released)
        if decided.small:
            return "the list of items is short: all of them are measured without bounds"
        if decided.split_head:
            return "the largest items are measured in each context instead"
        if not head_items(self.design):
            return "the list of items is short: its head would be more than a quarter of it"
        return "the bound keeps more than 80% of the records"


def head_places(design: Design, released: SoFar) -> Ints:
    """The K items of the largest estimates outside the crowd, in list order."""
    wanted = head_items(design)
    if design.is_sparse:
        return _largest_published(design, released, wanted)
    crowd = crowd_of(released).tolist()
    return np.sort(largest(item_estimates(design, released), wanted, crowd))


def _largest_published(design: Design, released: SoFar, wanted: int) -> Ints:
    """Of the cells that a sparse publishing kept, those of the largest noisy counts."""
    table = released.table(design.table.name)
    if table is None or table.cells is None:
        return NONE
    order = np.argsort(-np.asarray(table.values, dtype=np.float64), kind="stable")[:wanted]
    return np.sort(np.asarray(table.cells[order], dtype=np.int64))
