"""Released counts of all items, as the steps of contexts choose by them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdtally.core.layout import EDGES
from crowdtally.curator.steps.auto.course import SoFar
from crowdtally.curator.steps.auto.design import Design
from crowdtally.curator.steps.auto.estimating import as_floats, item_estimates
from crowdtally.inference.items import largest


def estimated_counts(design: Design, released: SoFar) -> NDArray[np.float64]:
    """The posterior mean of each item; of a summary, what it shows of each.

    A short list may have been counted in each context alone: then an item is the sum of its cells.
    """
    short = released.table(EDGES.name)
    if short is not None:
        sums = as_floats(short).reshape(design.items, -1).sum(axis=1)
        return np.asarray(np.maximum(sums, 0.0), dtype=np.float64)
    if not design.is_sparse:
        return item_estimates(design, released).mean
    counts = np.zeros(design.items)
    places, values = _shown(design, released)
    counts[places] = np.maximum(values, 0.0)
    return counts


def top_places(design: Design, released: SoFar, most: int) -> NDArray[np.int64]:
    """The items of the largest counts, at most so many, in the order of the list."""
    if not design.is_sparse:
        return np.sort(largest(item_estimates(design, released), most))
    places, values = _shown(design, released)
    return np.sort(places[np.argsort(-values, kind="stable")[:most]])


def _shown(design: Design, released: SoFar) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    table = released.table(design.table.name)
    if table is None or table.cells is None:
        return np.empty(0, dtype=np.int64), np.empty(0)
    values = table.values.astype(float) * float(table.law.unit)
    return np.asarray(table.cells, dtype=np.int64), values
