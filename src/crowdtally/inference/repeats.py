"""A head of distinct users beside counts of records: what its users say about its records.

Records per user differ from item to item, and mostly with how common an item is: of a place that
almost everybody knows, more users cannot be seen, but more records can. So records are taken for
users^β, times one ratio. β is fitted to the calibrated counts, as far as those are sharp; what the
fit leaves over is how far records per user scatter.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_DOUBT = 0.2
"""The standard deviation of β around 1, before any item is seen."""
_LEAST, _MOST = 0.07**2, 0.5
"""How far records per user scatter around the fit, relative and squared."""


@dataclass(frozen=True, eq=False)
class InRecords:
    """The head's users, as records."""

    values: Floats
    noise: Floats
    """The variance of each from the noise of the users."""
    scatter: float
    """How far records per user scatter around the fit, relative and squared."""


def in_records(users: Floats, noise: float, counts: Floats, doubt: Floats) -> InRecords:
    """Scale users to records.

    Args:
        users: of each item, noisy; their sum is above 0.
        noise: the variance of each.
        counts: of records, calibrated, of the same items.
        doubt: the variance of those.
    """
    least = np.maximum(users, sqrt(noise))
    slope = _slope(least, noise, counts, doubt)
    bent = (least / least.mean()) ** (slope - 1)
    ratio = float(counts.sum() / max(float((users * bent).sum()), 1e-300))
    factors = ratio * bent
    values, variances = factors * users, (factors * slope) ** 2 * noise
    beyond = float(((values - counts) ** 2 - doubt - variances).sum())
    scatter = min(max(beyond / max(float((counts**2).sum()), 1e-300), _LEAST), _MOST)
    return InRecords(values, variances, scatter)


def _slope(users: Floats, noise: float, counts: Floats, doubt: Floats) -> float:
    """β, by least squares of logarithms with its prior; 1 where the counts say nothing."""
    some = counts > 0
    if not some.any():
        return 1.0
    weights = 1 / (doubt[some] / counts[some] ** 2 + noise / users[some] ** 2)
    x, y = np.log(users[some]), np.log(counts[some])
    x, y = x - np.average(x, weights=weights), y - np.average(y, weights=weights)
    prior = 1 / _DOUBT**2
    return float((prior + weights @ (x * y)) / (prior + weights @ (x * x)))
