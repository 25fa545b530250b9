"""The bounds that cost the least error, from what the histogram of sizes says."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from crowdtally.estimation.sizes import Floats, Sizes

LARGEST = 1 << 13
"""No bound is larger: the histogram says nothing about larger rows."""
LIGHT = 0.03
"""Where a smaller share of the records is lost, bounding is not worth calibrating."""
_CLOSE = 1.02
"""The smallest bound whose error is within 2% of the least is taken."""
_CAP_UNKNOWN = 64


def best_theta(sizes: Sizes, epsilon: float, items: int, *, light: bool) -> int:
    """θ, the sum that each row of the table is scaled to.

    Args:
        sizes: the histogram.
        epsilon: what the table is charged.
        items: how many items there are.
        light: whether almost nothing is lost (:func:`is_light`), so that nothing is calibrated.
    """
    if not sizes.reliable:
        return 1
    per_item = sizes.records / items
    if light:
        return _least(
            lambda theta, lost: 3 * (lost * per_item) ** 2 + 2 * (theta / epsilon) ** 2, sizes, 1.0
        )
    found = _least(
        lambda theta, lost: (
            1.2 * (theta / (epsilon * np.maximum(1 - lost, 1e-9))) ** 2
            # after calibration about 0.27 of what is lost is still wrong from item to item
            + 6 * (0.27 * lost * per_item) ** 2
        ),
        sizes,
        _CLOSE,
    )
    return found if sizes.only_ones else max(found, 2)


def is_light(sizes: Sizes, epsilon: float, items: int) -> bool:
    """Whether less than 3% of the records are lost at the best θ: then no totals are measured."""
    return sizes.lost(best_theta(sizes, epsilon, items, light=False)) < LIGHT


def best_cap(sizes: Sizes, groups: int, epsilon: float) -> int:
    """C, what each row is scaled to where only ``groups`` totals are measured with ``epsilon``."""
    if not sizes.reliable:
        return _CAP_UNKNOWN
    return _least(
        lambda cap, lost: (lost * sizes.records) ** 2 + 2 * groups * (cap / epsilon) ** 2,
        sizes,
        1.0,
    )


def _least(error: Callable[[Floats, Floats], Floats], sizes: Sizes, close: float) -> int:
    """The smallest bound whose error is at most ``close`` times the least."""
    bounds = np.arange(1, LARGEST + 1, dtype=np.float64)
    errors = error(bounds, sizes.lost_at(bounds))
    return int(np.argmax(errors <= close * errors.min())) + 1
