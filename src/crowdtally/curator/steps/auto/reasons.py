"""Why a measurement of contexts is not taken, in plain words."""

from __future__ import annotations

from crowdtally.curator.steps.auto.design import Design
from crowdtally.curator.steps.auto.planned import decided_of
from crowdtally.curator.steps.auto.reserving import stopped
from crowdtally.curator.steps.step import Released

TOO_FEW = "too few people per context: each context has the overall ranking"
NOTHING = "no item was published that could be measured once more"
ALIKE = "a first look found no difference between contexts that stands above its noise"


def why_not(
    design: Design, released: Released, *, per_user: bool | None = None,
    repeats: bool | None = None, features: bool = False,
) -> str:  # fmt: skip
    """The first reason that holds.

    Args:
        design: what is public.
        released: what was released so far.
        per_user: whether the step is for contexts that are a property of the user, if it matters.
        repeats: whether it is for repeats that count, if it matters.
        features: whether it needs features of items.
    """
    decided = decided_of(released)
    if not design.has_contexts:
        return "there are no contexts"
    if design.aim == "top":
        return "a release for top lists spends nothing on what is special in a context"
    if features and design.features is None:
        return "no features of items are given"
    if per_user is not None and design.per_user != per_user:
        return "a user may be in several contexts"
    if repeats is not None and design.repeats != repeats:
        return "it is not what this kind of context is measured by"
    if stopped(released):
        return ALIKE
    if not decided.sizes.reliable:
        return "too few people to measure anything in a context"
    if decided.small:
        return "there are so few items that all are measured in each context, or none"
    return TOO_FEW
