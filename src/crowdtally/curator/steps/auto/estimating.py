"""What was released about the items so far, and the estimates that later steps choose by."""

from __future__ import annotations

from typing import Any

import numpy as np

from crowdtally.core.layout import BINS, CROWD, HEAD, SIZES, ZOOM, Picked
from crowdtally.curator.counting.rows import NONE
from crowdtally.curator.steps.auto.course import SoFar
from crowdtally.curator.steps.auto.design import Design
from crowdtally.curator.steps.auto.planned import course_of, decided_of
from crowdtally.curator.steps.auto.questions import Ints, read_groups
from crowdtally.format import NoisyTable
from crowdtally.inference.facts import Binned, Chosen, Floats, ItemFacts, Noisy
from crowdtally.inference.items import ItemEstimates, estimate_items


def as_floats(table: NoisyTable) -> Floats:
    """The noisy values as counts."""
    return np.asarray(table.values, dtype=np.float64) * float(table.law.unit)


def crowd_of(released: SoFar) -> Ints:
    """The items that left the rows, ascending; none where no crowd was measured."""
    return _places(released.table(CROWD.name))


def fact_of(released: SoFar, step: str, name: str) -> Any:
    """What was decided for a step that was taken; None where it was not."""
    taken = (one for one in course_of(released).taken if one.name == step)
    return next((one.facts.get(name) for one in taken), None)


def item_estimates(design: Design, released: SoFar) -> ItemEstimates:
    """Estimates of all items from what was released so far; of tables that have every item."""
    return estimate_items(item_facts(design, released))


def item_facts(design: Design, released: SoFar) -> ItemFacts:
    """The same as a reader would say it."""
    name = design.table.name
    table, sizes = released.table(name), released.table(SIZES.name)
    return ItemFacts(
        design.items,
        table=None if table is None else Noisy(as_floats(table), table.law),
        sizes=None if sizes is None else Noisy(as_floats(sizes), sizes.law),
        crowd=_chosen(released, CROWD.name),
        zoom=_chosen(released, ZOOM.name),
        bins=_binned(released),
        head=_chosen(released, HEAD.name),
        repeats=design.repeats,
        theta=fact_of(released, name, "theta"),
        exact=table is not None and decided_of(released).small,
        norm=fact_of(released, name, "norm") or "l1",
    )


def _places(table: NoisyTable | None) -> Ints:
    return table.layout.places if table is not None and isinstance(table.layout, Picked) else NONE


def _chosen(released: SoFar, name: str) -> Chosen | None:
    table = released.table(name)
    if table is None:
        return None
    theta = fact_of(released, name, "theta")
    return Chosen(_places(table), as_floats(table), table.law, theta)


def _binned(released: SoFar) -> Binned | None:
    table = released.table(BINS.name)
    if table is None:
        return None
    groups, cap = read_groups(table.facts["groups"]), fact_of(released, BINS.name, "cap")
    return Binned(groups, as_floats(table), table.law, cap)
