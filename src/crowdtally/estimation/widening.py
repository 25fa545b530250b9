"""Intervals that contain a further, independent error."""

from __future__ import annotations

from fractions import Fraction
from statistics import NormalDist

import numpy as np

from crowdtally.estimation.posteriors import Floats, Posterior


def widened(counts: Posterior, error: Floats, level: Fraction) -> Posterior:
    """The same counts with a further normal error of the standard deviation ``error`` each."""
    reach = _reach(level) * error
    return Posterior(
        counts.mean.copy(),
        counts.median.copy(),
        np.maximum(counts.median - np.hypot(counts.median - counts.low, reach), 0.0),
        counts.median + np.hypot(counts.high - counts.median, reach),
        counts.variance + error**2,
    )


def normal(mean: Floats, variance: Floats, level: Fraction) -> Posterior:
    """Counts of at least 0, known with normal errors."""
    reach = _reach(level) * np.sqrt(variance)
    return Posterior(mean, mean, np.maximum(mean - reach, 0.0), mean + reach, variance)


def _reach(level: Fraction) -> float:
    """Half the width of an interval of a standard normal error."""
    return NormalDist().inv_cdf(float(1 + level) / 2)
