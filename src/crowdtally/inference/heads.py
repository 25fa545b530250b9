"""Items that were measured directly, without bounds: their values join the estimates."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np

from crowdtally.inference.facts import Chosen, Floats
from crowdtally.inference.repeats import in_records
from crowdtally.inference.rows import Total
from crowdtally.laws.base import Combination

_LEAST, _MOST = 0.05**2, 0.5
"""The relative scatter of counts around their calibration, squared."""
_UNUSUAL = 0.05
"""How far that may be from what is usual: a scatter of 20% instead of none is not rare."""
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
    head: Chosen,
    counts: Floats,
    variances: Floats,
    common: Floats,
    *,
    repeats: bool,
    usual: float = 0.0,
) -> Blend | None:
    """Blend measured counts with calibrated ones; None where the head says nothing.

    Args:
        head: measured: distinct users.
        counts: the calibrated counts of its items.
        variances: of those.
        common: the relative deviation of their calibration.
        repeats: whether counts are of records, more than one for each user: then the head only
            says how its items compare with each other.
        usual: how far counts usually scatter around such a calibration, relative to them: what
            holds where noise hides it, and beside repeats, where nothing tells what is wrong with
            the counts from what is with the users.
    """
    if repeats:
        return _with_repeats(head, counts, variances, common, usual)
    values, noise = head.values, head.law.std() ** 2
    scatter = _scatter(head, counts, variances, usual**2)
    doubt = variances + scatter * counts**2
    weight = doubt / np.maximum(doubt + noise, 1e-300)
    mean = np.maximum(counts + weight * (values - counts), 0.0)
    own = weight**2 * noise + (1 - weight) ** 2 * doubt
    return Blend(mean, own, own + ((1 - weight) * common * counts) ** 2, sqrt(scatter))


def _scatter(head: Chosen, counts: Floats, variances: Floats, usual: float) -> float:
    """τ²: as the head shows it, and as it usually is where the head's noise hides it.

    Both are weighed by their precision. Squares of noise scatter themselves, those of correlated
    cells together.
    """
    size, noise = len(counts), head.law.std() ** 2
    mass = max(float((counts**2).sum()), 1e-300)
    shown = float(((head.values - counts) ** 2 - variances - noise).sum()) / mass
    together = head.law.std(Combination.of_cells(size)) ** 2 / max(size * noise, 1e-300)
    shared = max((together - 1) / max(size - 1, 1), 0.0)  # the correlation of two cells
    errors = float(((variances + noise) ** 2).sum()) * (1 + (size - 1) * shared**2)
    weight = _UNUSUAL**2 / (_UNUSUAL**2 + 2 * errors / mass**2)
    return min(max(usual + weight * (shown - usual), _LEAST), _MOST)


def _with_repeats(
    head: Chosen, counts: Floats, variances: Floats, common: Floats, usual: float
) -> Blend | None:
    total = total_of(head)
    if total.value < _STANDS_OUT * total.deviation or counts.sum() <= 0:
        return None
    doubt = variances + max(usual**2, _LEAST) * counts**2
    found = in_records(head.values, head.law.std() ** 2, counts, doubt)
    other = found.noise + found.scatter * counts**2
    weight = doubt / np.maximum(doubt + other, 1e-300)
    mean = np.maximum(counts + weight * (found.values - counts), 0.0)
    mean *= float(counts.sum()) / max(float(mean.sum()), 1e-300)  # proportions alone are new
    # Both err where heavy users are, so two values are not much better than one.
    own = weight * other + (1 - weight) * doubt
    # Records are scaled to the calibrated counts: they share its error.
    return Blend(mean, own, own + (common * counts) ** 2, max(usual, sqrt(found.scatter)))
