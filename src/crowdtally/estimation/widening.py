"""Intervals that contain a further, independent error."""

from __future__ import annotations

from fractions import Fraction
from statistics import NormalDist

import numpy as np

from crowdtally.estimation.posteriors import Floats, Posterior

_FARTHEST = 7.0
"""Of a logarithm: a factor of a thousand says no less than a larger one."""


def scattered(counts: Posterior, share: float | Floats, level: Fraction) -> Posterior:
    """The same counts with a further error of their factor: its logarithm has the deviation given.

    Factors err by factors: twice is as likely as half, so an interval reaches farther up than down.
    """
    reach = np.minimum(_reach(level) * np.asarray(share, dtype=np.float64), _FARTHEST)
    down, up = -np.expm1(-reach) * counts.mean, np.expm1(reach) * counts.mean
    return Posterior(
        counts.mean.copy(),
        counts.median.copy(),
        np.maximum(counts.median - np.hypot(counts.median - counts.low, down), 0.0),
        counts.median + np.hypot(counts.high - counts.median, up),
        counts.variance + (share * counts.mean) ** 2,
    )


def normal(mean: Floats, variance: Floats, level: Fraction) -> Posterior:
    """Counts of at least 0, known with normal errors."""
    reach = _reach(level) * np.sqrt(variance)
    return Posterior(mean, mean, np.maximum(mean - reach, 0.0), mean + reach, variance)


def _reach(level: Fraction) -> float:
    """Half the width of an interval of a standard normal error."""
    return NormalDist().inv_cdf(float(1 + level) / 2)
