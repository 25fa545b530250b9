"""Empirical Bayes: the prior of the counts is estimated from the noisy counts themselves.

The law of the noise is known exactly, so the likelihood of all values under a prior on a grid is
too. Its maximum is approached by EM steps over the distinct values (Kiefer and Wolfowitz; Laird).
"""

from __future__ import annotations

from fractions import Fraction
from math import sqrt

import numpy as np
from numpy.typing import ArrayLike

from crowdtally.estimation.joint import Again, seen_twice, twice_binned
from crowdtally.estimation.likelihoods import BELOW, FAR, Noise, grid_of, rows
from crowdtally.estimation.posteriors import LEVEL, Floats, Ints, Posterior, left_alone
from crowdtally.estimation.prior import Prior
from crowdtally.estimation.truncated import flat_posterior
from crowdtally.laws.base import NoiseLaw

FEW = 200
"""Fewer cells say too little about their own prior: it is flat."""
_VERY_SPARSE = 1 / 500
"""Of a mean under a flat prior: tables below it are taken for mostly empty at first."""


def posterior(
    values: ArrayLike,
    law: NoiseLaw,
    *,
    level: Fraction = LEVEL,
    also: Again | None = None,
    flat: bool = False,
) -> Posterior:
    """The posterior of every cell of one table, as counts.

    Without ``also``, a larger value never has a smaller mean, median or end of its interval.

    Args:
        values: the noisy values, in units.
        law: of their noise; of correlated noise, its margin is used.
        level: of the interval.
        also: second values of some cells.
        flat: with a flat prior on counts of at least 0, as for fewer than 200 cells.
    """
    noisy = np.asarray(values, dtype=np.float64)
    if flat or noisy.size < FEW:
        found = flat_posterior(noisy, law, level)
    else:
        found = _mixed(noisy, law, level, also)
    return found.times(float(law.unit))


def _mixed(values: Floats, law: NoiseLaw, level: Fraction, also: Again | None) -> Posterior:
    noise = Noise(law)
    limit = FAR * noise.deviation
    found = Posterior.empty(len(values))
    once = np.ones(values.shape, dtype=bool)
    if also is not None:
        once[also.places] = False
        also, clear = also.parted(values, limit)
        found.put(clear.places, clear.far_apart(values, noise, level))
    far, near = np.flatnonzero(once & (values > limit)), np.flatnonzero(once & (values <= limit))
    found.put(far, left_alone(values[far], law, level))
    grid = _grid(values[near], values, noise, also)
    bins = Bins(values[near], noise)
    likelihoods, seen = rows(noise.log(bins.centres[:, None] - grid)), bins.counts > 0
    matrix, counts = likelihoods[seen], bins.counts[seen]
    if also is not None:
        again, times = twice_binned(values, noise, also, grid)
        # One prior for all: that of the chosen cells alone would believe in their noise.
        matrix, counts = np.concatenate([matrix, again]), np.concatenate([counts, times])
    prior = Prior.fitted(grid, matrix, counts, _emptiness(values, noise, grid))
    found.put(near, bins.spread(prior.posterior(likelihoods, level)))
    if also is not None:
        found.put(also.places, seen_twice(values, noise, also, prior, level))
    return found


def _emptiness(values: Floats, noise: Noise, grid: Floats) -> float:
    """The share of the cells that are taken for empty at first: none, but of very sparse tables.

    From a flat prior, EM takes thousands of steps to see that hardly any cell holds anybody. The
    mean of the values says so at once, to within its own error.
    """
    mean = max(float(values.mean()), noise.deviation / sqrt(len(values)))
    share = mean / float(grid.mean())
    return 1 - share if share < _VERY_SPARSE else 0.0


def _grid(near: Floats, values: Floats, noise: Noise, also: Again | None) -> Floats:
    """Fine enough for the sharper of both noises."""
    largest = float(near.max(initial=0.0))
    if also is None:
        return grid_of(noise.scale, largest)
    return grid_of(min(noise.scale, also.noise.scale), max(largest, also.largest(values)))


class Bins:
    """Values taken together: 1/40 of the noise scale wide, or one unit where that is more."""

    def __init__(self, values: Floats, noise: Noise) -> None:
        values = np.maximum(values, -BELOW * max(noise.scale, 1.0)) / noise.width
        before: Ints = np.floor(values).astype(np.int64)
        first = int(before.min(initial=0))
        # Values lie between two centres: only those are needed, and each is followed by its next.
        needed = np.zeros(int(before.max(initial=0)) - first + 2, dtype=bool)
        needed[before - first] = needed[before - first + 1] = True
        places = np.cumsum(needed) - 1
        self.centres = noise.width * (first + np.flatnonzero(needed).astype(np.float64))
        """The value that each bin stands for, increasing."""
        self._before, self._part = places[before - first], values - before
        nearest = self._before + (self._part > 0.5)
        self.counts = np.bincount(nearest, minlength=len(self.centres)).astype(np.float64)
        """How many values are in each."""

    def spread(self, found: Posterior) -> Posterior:
        """From one posterior for each bin to one for each value, linear between centres."""
        # rounding must not turn two near values around
        ordered = [np.maximum.accumulate(part) for part in found.parts()[:4]]
        return Posterior(*(self._between(part) for part in (*ordered, found.variance)))

    def _between(self, part: Floats) -> Floats:
        rise = np.append(np.diff(part), 0.0)
        return np.asarray(part[self._before] + self._part * rise[self._before], dtype=np.float64)
