"""How the items of one group share what the group was given: evenly, or by public popularity."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite

import numpy as np
from numpy.typing import NDArray

from crowdtally.errors import UsageError
from crowdtally.person.catalogue import Catalogue, Group
from crowdtally.person.rounding import ONE, Widths

Popularity = Mapping[str | int, float]
"""A public weight ≥ 0 of each item by its id; an item that is not named has weight 0."""


def weights_of(popularity: Popularity, catalogue: Catalogue) -> NDArray[np.float64]:
    """The weight of each item of the catalogue; items that it does not have are left out."""
    if not isinstance(popularity, Mapping):
        raise UsageError(
            f'popularity is a mapping of items to weights, such as {{"Alien": 3.5}}: received a '
            f"{type(popularity).__name__}."
        )
    weights = np.zeros(len(catalogue.items))
    for item, weight in popularity.items():
        if not isinstance(weight, int | float) or not isfinite(weight) or weight < 0:
            raise UsageError("the popularity of an item is a number of at least 0.")
        place = catalogue.place_of.get(str(item))
        if place is not None:
            weights[place] = float(weight)
    return weights


def shared(group: Group, width: int, weights: NDArray[np.float64] | None) -> Widths:
    """The widths of a group's items: together ``width`` times their number, none above ONE.

    Evenly without weights. With them, in proportion to the weights; what would go above certainty
    overflows to the others, and to items of weight 0 when all others are certain.
    """
    even = np.full(group.size, width, dtype=np.int64)
    if weights is None or not 0 < width < ONE:
        return even
    own = weights[group.places]
    filled = _poured(own, width * group.size)
    return _completed(np.minimum(np.floor(filled).astype(np.int64), ONE), width * group.size)


def _poured(weights: NDArray[np.float64], mass: int) -> NDArray[np.float64]:
    """min(ONE, c·weight) with c such that they sum to ``mass``, as far as the weights allow."""
    filled = np.zeros(len(weights))
    for open_items in (weights > 0, weights == 0):
        todo = open_items.copy()
        share = np.where(weights > 0, weights, 1.0)
        while todo.any():
            rest = mass - float(filled.sum())
            if rest <= 0:
                break
            level = share[todo] * (rest / float(share[todo].sum()))
            full = level >= ONE
            if not full.any():
                filled[todo] = level
                break
            which = np.flatnonzero(todo)[full]
            filled[which], todo[which] = ONE, False
    return filled


def _completed(widths: Widths, mass: int) -> Widths:
    """The widths with what rounding took or added put right, so that they sum to ``mass``."""
    missing = mass - int(widths.sum())
    step = 1 if missing > 0 else -1
    while missing:
        room = np.flatnonzero(widths < ONE if step > 0 else widths > 0)[: abs(missing)]
        share = max(1, abs(missing) // len(room))
        most = (ONE - widths[room]) if step > 0 else widths[room]
        moved = np.minimum(most, share)
        widths[room] += step * moved
        missing -= step * int(moved.sum())
    return widths
