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


def best_theta(sizes: Sizes, epsilon: float, items: int, *, light: bool, power: float = 1.0) -> int:
    """θ, the sum or the norm that each row of the table is scaled to.

    Args:
        sizes: the histogram.
        epsilon: what the table is charged, or what its ρ is worth.
        items: how many items there are.
        light: whether almost nothing is lost (:func:`is_light`), so that nothing is calibrated.
        power: how long rows are, see :func:`~crowdtally.estimation.sizes.power_of`.
    """
    if not sizes.reliable:
        return 1
    per_item = sizes.records / items
    if light:
        return _least(
            lambda theta, lost: 3 * (lost * per_item) ** 2 + 2 * (theta / epsilon) ** 2,
            sizes, 1.0, power,
        )  # fmt: skip
    found = _least(
        lambda theta, lost: _calibrated(theta, lost, epsilon, per_item), sizes, _CLOSE, power
    )
    least = 2 if power == 1.0 and not sizes.only_ones else 1
    return max(found, least)


def expected_error(theta: float, lost: float, epsilon: float, per_item: float) -> float:
    """The squared error of an item that :func:`best_theta` chooses θ by.

    Args:
        theta: θ.
        lost: the share of the records that is lost at θ.
        epsilon: what the table is charged, or what its ρ is worth.
        per_item: records of an item, on average.
    """
    return float(_calibrated(np.array([theta]), np.array([lost]), epsilon, per_item)[0])


def _calibrated(theta: Floats, lost: Floats, epsilon: float, per_item: float) -> Floats:
    """The squared error of an item once what bounding took away is calibrated."""
    noise = 1.2 * (theta / (epsilon * np.maximum(1 - lost, 1e-9))) ** 2
    # after calibration about 0.27 of what is lost is still wrong from item to item
    return np.asarray(noise + 6 * (0.27 * lost * per_item) ** 2)


def is_light(sizes: Sizes, epsilon: float, items: int, *, power: float = 1.0) -> bool:
    """Whether less than 3% of the records are lost at the best θ: then no totals are measured."""
    theta = best_theta(sizes, epsilon, items, light=False, power=power)
    return sizes.lost(theta, power) < LIGHT


def best_cap(sizes: Sizes, groups: int, epsilon: float) -> int:
    """C, what each row is scaled to where only ``groups`` totals are measured with ``epsilon``."""
    if not sizes.reliable:
        return _CAP_UNKNOWN
    return _least(
        lambda cap, lost: (lost * sizes.records) ** 2 + 2 * groups * (cap / epsilon) ** 2,
        sizes, 1.0, 1.0,
    )  # fmt: skip


def _least(
    error: Callable[[Floats, Floats], Floats], sizes: Sizes, close: float, power: float
) -> int:
    """The smallest bound whose error is at most ``close`` times the least."""
    bounds = np.arange(1, LARGEST + 1, dtype=np.float64)
    errors = error(bounds, sizes.lost_at(bounds, power))
    return int(np.argmax(errors <= close * errors.min())) + 1
