"""Items that were measured directly, without bounds: their values join the estimates."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np

from crowdtally.estimation.calibrating import Total
from crowdtally.estimation.facts import Chosen, Floats
from crowdtally.laws.law import Combination

_LEAST, _MOST = 0.05**2, 0.5
"""The relative scatter of counts around their calibration, squared."""
_STANDS_OUT = 3.0
"""Of its own deviations: a smaller total of the head says nothing about its ratio to records."""


@dataclass(frozen=True, eq=False)
class Blend:
    """The head's items after both of their values have spoken."""

    mean: Floats
    own: Floats
    """The variance of what is each item's own error."""
    variance: Floats
    """The same with the error of the calibration, which all items share."""
    scatter: float
    """τ: how far calibrated counts scatter beyond noise, relative to them."""


def total_of(head: Chosen) -> Total:
    """The head's total; its cells' noises may be correlated, which the law knows."""
    deviation = head.law.std(Combination.of_cells(len(head.places)))
    return Total(head.places, float(head.values.sum()), deviation)


def blend(
    head: Chosen, counts: Floats, variances: Floats, common: Floats, *, repeats: bool
) -> Blend | None:
    """Blend measured counts with calibrated ones; None where the head says nothing.

    Args:
        head: measured: distinct users.
        counts: the calibrated counts of its items.
        variances: of those.
        common: the relative deviation of their calibration.
        repeats: whether counts are of records, more than one for each user: then the head only
            says how its items compare with each other.
    """
    values, noise = head.values, head.law.std() ** 2
    if repeats:
        total = total_of(head)
        if total.value < _STANDS_OUT * total.deviation or counts.sum() <= 0:
            return None
        ratio = float(counts.sum()) / total.value
        values, noise = values * ratio, noise * ratio**2
    beyond = float(((values - counts) ** 2 - variances - noise).sum())
    scatter = min(max(beyond / max(float((counts**2).sum()), 1e-300), _LEAST), _MOST)
    doubt = variances + scatter * counts**2
    weight = doubt / np.maximum(doubt + noise, 1e-300)
    mean = np.maximum(counts + weight * (values - counts), 0.0)
    own = weight**2 * noise + (1 - weight) ** 2 * doubt
    share = 1 - weight
    if repeats:  # how many records a user has of an item is as uncertain as the calibration
        own, share = own + weight**2 * scatter * counts**2, np.ones_like(weight)
    return Blend(mean, own, own + (share * common * counts) ** 2, sqrt(scatter))
