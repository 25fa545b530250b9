"""Likelihood grids, posteriors, intervals."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from crowdtally.laws.base import NoiseLaw

# How likely a noisy value is under each true count of a grid.

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

FINENESS = 40
"""Values are taken together within 1/40 of the noise scale."""
_STEPS = 8
"""The grid of true counts starts with steps of 1/8 of the noise scale."""
_FINE = 8
"""It keeps them for so many noise scales, then widens."""
_WIDER, _WIDEST = 1.04, 0.5
"""By how much from step to step, and to which share of the noise scale."""
FAR = 54
"""Counts beyond so many standard deviations are left alone: no prior moves them."""
BELOW = 60
"""Values more than so many noise scales below 0 are as good as that."""


@dataclass(frozen=True)
class Noise:
    """One law, as an estimate sees it. All in units of the law."""

    law: NoiseLaw

    @property
    def deviation(self) -> float:
        return self.law.std() / float(self.law.unit)

    @property
    def scale(self) -> float:
        """The scale b of a Laplace law of the same variance."""
        return self.deviation / sqrt(2)

    @property
    def width(self) -> float:
        """What is taken together: whole units, exact where the noise is of few units."""
        return float(max(1.0, np.rint(self.scale / FINENESS)))

    def log(self, differences: Floats) -> Floats:
        """Log Pr[noise = difference], the next whole unit of it."""
        return np.asarray(self.law.log_probabilities(np.rint(differences)), dtype=np.float64)


def grid_of(scale: float, largest: float) -> Floats:
    """True counts from 0 to a little beyond ``largest``, whole and increasing."""
    end = max(largest, 0.0) + 12 * max(scale, 1.0)
    first = max(scale / _STEPS, 1.0)
    steps, step = [0.0], first
    while steps[-1] < end:
        steps.append(steps[-1] + step)
        if steps[-1] > _FINE * scale:
            step = max(min(step * _WIDER, _WIDEST * scale), first)
    return np.unique(np.rint(np.array(steps)))


def rows(log_likelihoods: Floats) -> Floats:
    """Likelihoods, each row over its largest: so that none vanishes."""
    shifted = log_likelihoods - log_likelihoods.max(axis=1, keepdims=True)
    return np.asarray(np.exp(np.maximum(shifted, -700.0)), dtype=np.float64)


LEVEL = Fraction(19, 20)
"""Of an interval, unless another is asked for."""


def normal_reach(level: Fraction) -> float:
    """Half the width of an interval of a standard normal error."""
    return NormalDist().inv_cdf(float(1 + level) / 2)


@dataclass(frozen=True, eq=False)
class Posterior:
    """What is known of each cell's count."""

    mean: Floats
    median: Floats
    low: Floats
    high: Floats
    """An interval of the asked level: as much probability below as above."""
    variance: Floats

    def parts(self) -> tuple[Floats, Floats, Floats, Floats, Floats]:
        return self.mean, self.median, self.low, self.high, self.variance

    def take(self, places: Ints) -> Posterior:
        return Posterior(*(part[places] for part in self.parts()))

    def times(self, factor: float | Floats) -> Posterior:
        """Of so many times the counts; the factor may be one for each cell."""
        mean, median, low, high = (part * factor for part in self.parts()[:4])
        return Posterior(mean, median, low, high, self.variance * factor**2)

    def put(self, places: Ints, other: Posterior) -> None:
        """Replace some of the cells."""
        for mine, theirs in zip(self.parts(), other.parts(), strict=True):
            mine[places] = theirs

    def reaching(self, values: Floats, margin: float) -> Posterior:
        """With intervals that reach over those of the noise too, of values as they were measured.

        The posterior's interval is right for cells that were listed because they are large, the
        noise's interval for cells that were chosen beforehand.
        """
        low = np.minimum(self.low, np.maximum(values - margin, 0.0))
        return replace(self, low=low, high=np.maximum(self.high, np.maximum(values + margin, 0.0)))

    @classmethod
    def empty(cls, size: int) -> Posterior:
        return cls(*(np.zeros(size) for _ in range(5)))


def on_grid(likelihoods: Floats, weights: Floats, grid: Floats, level: Fraction) -> Posterior:
    """The posterior of each row of likelihoods, under the prior ``weights`` on ``grid``."""
    joint = likelihoods * weights
    joint /= joint.sum(axis=1, keepdims=True)
    mean = np.einsum("ij,j->i", joint, grid)
    variance = np.maximum(np.einsum("ij,j->i", joint, grid**2) - mean**2, 0.0)
    below = np.cumsum(joint, axis=1)
    tail = float(1 - level) / 2
    low, median, high = (_quantile(below, grid, share) for share in (tail, 0.5, 1 - tail))
    low[low <= (grid[1] / 2 if len(grid) > 1 else 0.0)] = 0.0  # nobody may be what 0 stands for
    return Posterior(mean, median, low, high, variance)


def _quantile(below: Floats, grid: Floats, share: float) -> Floats:
    """Where each row's distribution reaches ``share``.

    A point of the grid stands for all counts that are nearer to it than to others: itself only,
    where the next whole number is the next point.
    """
    middle = (grid[1:] + grid[:-1]) / 2
    gaps = np.diff(grid)
    left = np.concatenate(([0.0], np.where(gaps > 1, middle, grid[1:])))
    right = np.concatenate((np.where(gaps > 1, middle, grid[:-1]), grid[-1:]))
    at = np.minimum((below < share).sum(axis=1), below.shape[1] - 1)
    rows = np.arange(len(below))
    upper = below[rows, at]
    lower = np.where(at > 0, below[rows, np.maximum(at - 1, 0)], 0.0)
    part = np.clip((share - lower) / np.maximum(upper - lower, 1e-300), 0.0, 1.0)
    return np.asarray(left[at] + part * (right[at] - left[at]), dtype=np.float64)


def left_alone(values: Floats, law: NoiseLaw, level: Fraction) -> Posterior:
    """Of values that stand so far above the noise that no prior moves them. In units."""
    margin = float(law.half_width(level))
    variance = np.full(values.shape, Noise(law).deviation ** 2)
    return Posterior(values, values, np.maximum(values - margin, 0.0), values + margin, variance)


# The posterior under a flat prior on counts of at least 0: the noise, cut off where it must be.
#
# A value y of a count t ≥ 0 has the noise z = y − t ≤ y. Under a flat prior the posterior of z is
# the law itself, restricted to z ≤ y: sums over one list of probabilities serve all cells.

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
    parts = (shown - first, median, low, high, square - first**2)
    return Posterior(*(np.maximum(part, 0.0) for part in parts))


def _noise_at(below: Floats, points: Floats, mass: Floats) -> Floats:
    """Where the sum of probabilities reaches ``mass``."""
    step = points[1] - points[0] if len(points) > 1 else 1.0
    at = np.minimum(np.searchsorted(below, mass), len(points) - 1)
    lower = np.where(at > 0, below[np.maximum(at - 1, 0)], 0.0)
    part = np.clip((mass - lower) / np.maximum(below[at] - lower, 1e-300), 0.0, 1.0)
    # Of whole units the quantile is a unit; of coarser points, somewhere before the next.
    return np.asarray(points[at] if step == 1.0 else points[at] + step * (part - 0.5))
