"""What is still set aside for later steps, and what a stop leaves over.

Contract: a function of released values. On every path what was spent and what is set aside add up
to at most the total: a step's share is set aside until it is spent, or until the stop gives it to
the zoom.
"""

from __future__ import annotations

from fractions import Fraction

from crowdtally.core import layout as kinds
from crowdtally.curator.steps.auto.course import SoFar
from crowdtally.curator.steps.auto.deciding import HEAD
from crowdtally.curator.steps.auto.planned import course_of, decided_of

DIFFER = "differ"
"""The fact by which a first look at contexts says whether they differ."""
_SET_ASIDE = {
    kind.name
    for kind in (
        kinds.BINS, kinds.HEAD, kinds.SPLIT_HEAD, kinds.CONTEXTS, kinds.TASTES, kinds.TASTES_AGAIN,
        kinds.HEAD_ROWS, kinds.HEAD_ROWS_AGAIN,
    )
}  # fmt: skip
"""The steps whose shares are fixed once the sizes are released."""


def reserved(released: SoFar) -> Fraction:
    """What later steps may still take: nobody else may."""
    course = course_of(released)
    set_aside = course.share(decided_of(released).shares.total)
    spent = sum((step.cost for step in course.taken if step.name in _SET_ASIDE), Fraction(0))
    return set_aside - spent - saved(released)


def stopped(released: SoFar) -> bool:
    """Whether a look found that contexts hardly differ: nothing more is spent on them."""
    taken = released.course.taken if released.course is not None else ()
    return any(step.facts.get(DIFFER) is False for step in taken)


def saved(released: SoFar) -> Fraction:
    """What the stop leaves to the zoom; 0 where it did not stop.

    The other half of the look, what else would have measured contexts, and of a head that would
    have been split what a plain one does not need.
    """
    if not stopped(released):
        return Fraction(0)
    decided, course = decided_of(released), course_of(released)
    look = sum((step.cost for step in course.taken if DIFFER in step.facts), Fraction(0))
    shares = decided.shares
    split = shares.head - HEAD if decided.split_head else Fraction(0)
    return course.share(shares.tastes + shares.head_rows + split) - look
