"""The posterior under a flat prior on counts of at least 0: the noise, cut off where it must be.

A value y of a count t ≥ 0 has the noise z = y − t ≤ y. Under a flat prior the posterior of z is the
law itself, restricted to z ≤ y: sums over one list of probabilities serve all cells.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from crowdtally.estimation.likelihoods import Noise
from crowdtally.estimation.posteriors import Floats, Posterior
from crowdtally.laws.base import NoiseLaw

_REACH = 40.0
"""In noise scales: what lies beyond has no probability that counts."""
_POINTS = 4000
"""On each side of 0."""


def flat_posterior(values: Floats, law: NoiseLaw, level: Fraction) -> Posterior:
    """The posterior of each value, in units; none of its counts is below 0."""
    noise = Noise(law)
    step = max(1.0, float(np.rint(_REACH * noise.scale / _POINTS)))
    side = int(min(_POINTS, np.ceil(_REACH * noise.scale / step) + 1))
    points = step * np.arange(-side, side + 1, dtype=np.float64)
    log = noise.log(points)
    # From the left end on, so that small sums are sums of small numbers.
    chance = np.exp(np.maximum(log - log.max(), -700.0))
    below = np.cumsum(chance)
    # Far below 0 a value says no more than near the end of the list.
    shown = np.maximum(values, points[side // 10 + 1])
    last = np.clip(np.rint((shown - points[0]) / step).astype(np.int64), 0, len(points) - 1)
    # A point of several units stands for all around it: the last one only for what is not above.
    part = np.ones(shown.shape) if step == 1.0 else (shown - points[last]) / step + 0.5
    part = np.clip(part, 0.0, 1.0)

    def up_to_last(terms: Floats) -> Floats:
        sums = np.cumsum(terms)
        return np.asarray(sums[last] - (1 - part) * terms[last], dtype=np.float64)

    mass = up_to_last(chance)
    first = up_to_last(chance * points) / mass
    square = up_to_last(chance * points**2) / mass
    tail = float(1 - level) / 2
    # A small count is a large noise: the quantiles change sides.
    low, median, high = (
        shown - _noise_at(below, points, share * mass) for share in (1 - tail, 0.5, tail)
    )
    return Posterior(
        np.maximum(shown - first, 0.0),
        np.maximum(median, 0.0),
        np.maximum(low, 0.0),
        np.maximum(high, 0.0),
        np.maximum(square - first**2, 0.0),
    )


def _noise_at(below: Floats, points: Floats, mass: Floats) -> Floats:
    """Where the sum of probabilities reaches ``mass``."""
    step = points[1] - points[0] if len(points) > 1 else 1.0
    at = np.minimum(np.searchsorted(below, mass), len(points) - 1)
    lower = np.where(at > 0, below[np.maximum(at - 1, 0)], 0.0)
    part = np.clip((mass - lower) / np.maximum(below[at] - lower, 1e-300), 0.0, 1.0)
    # Of whole units the quantile is a unit; of coarser points, somewhere before the next.
    return np.asarray(points[at] if step == 1.0 else points[at] + step * (part - 0.5))
