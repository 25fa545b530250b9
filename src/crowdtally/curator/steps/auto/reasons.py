"""Why a measurement of contexts is not taken, in plain words."""

from __future__ import annotations

from crowdtally.curator.steps.auto.course import SoFar
from crowdtally.curator.steps.auto.design import Design
from crowdtally.curator.steps.auto.planned import decided_of
from crowdtally.curator.steps.auto.reserving import stopped

TOO_FEW = "too few people per context: each context has the overall ranking"
ALIKE = "a first look found no difference between contexts that stands above its noise"
NOTHING = "no item was published that could be measured once more"


def why_not(design: Design, released: SoFar, own: str | None = None) -> str:
    """The first reason that holds.

    Args:
        design: what is public.
        released: what was released so far.
        own: the step's own reason, where it is never taken for such a request.
    """
    decided = decided_of(released)
    if not design.has_contexts:
        return "there are no contexts"
    if design.aim == "top":
        return "a release for top lists spends nothing on what is special in a context"
    if own is not None:
        return own
    if stopped(released):
        return ALIKE
    if not decided.sizes.reliable:
        return "there are too few users to measure anything in a context"
    if decided.small:
        return "the list of items is short: all of them are measured at once"
    return TOO_FEW
