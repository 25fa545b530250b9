"""Item counts and their context counts, made to add up: least squares."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Consistent:
    """Counts that add up: of all unbiased linear estimates, those with the least variance."""

    items: Floats
    """One for each item: the sum of its contexts."""
    contexts: Floats
    """One for each item and context."""
    item_variance: float
    context_variance: float


def consistent_items(
    items: Floats, item_variance: float, contexts: Floats, context_variance: float
) -> Consistent:
    """Item counts (m) and their context counts (m × h) that add up.

    Only where an item is the sum of its contexts before noise: both counted on the same kept
    records, each in one context. Both tables' noises are independent, of one variance each.

    >>> made = consistent_items(np.array([7.0]), 1.0, np.array([[2.0, 3.0]]), 1.0)
    >>> made.items.round(3).tolist(), made.contexts.round(3).tolist()
    ([6.333], [[2.667, 3.667]])
    """
    h = contexts.shape[1]
    share = context_variance / (item_variance + h * context_variance)
    missing = items - contexts.sum(axis=1)
    found = contexts + share * missing[:, None]
    return Consistent(
        found.sum(axis=1),
        found,
        item_variance * h * share,
        context_variance * (1 - share),
    )
