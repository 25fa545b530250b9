"""A small domain: all items as distinct users, with interval noise instead of bounds.

Contract: one user is in each cell once or not at all. By context, she is in the cells of one
context alone, and each context has a draw of its own: parallel composition at the same ε. It
replaces the table, the zoom and the bins; there is no pilot, crowd or head beside it.
"""

from __future__ import annotations

from fractions import Fraction

from crowdtally.core.layout import EDGES
from crowdtally.curator.steps.auto.course import Decided
from crowdtally.curator.steps.auto.design import Design
from crowdtally.curator.steps.auto.planned import Planned
from crowdtally.curator.steps.auto.questions import AllMembers, AllMembersByContext

_WHY = "the list of items is so short that noise on all of them together is less than bounds cost"


def small_domain(design: Design, decided: Decided, rest: Fraction) -> Planned:
    """All items, or all items in each context where there are enough users for that."""
    if decided.split_head:
        why = f"{_WHY}; each context has enough users for counts of its own"
        asked = AllMembersByContext(design, EDGES.name)
        return Planned(asked, rest, why, {"items": design.items, "contexts": design.contexts})
    return Planned(AllMembers(design), rest, _WHY, {"items": design.items})
