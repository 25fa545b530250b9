"""The prior as a mixture, also of censored counts."""

from __future__ import annotations

from fractions import Fraction
from math import inf, sqrt

import numpy as np
from numpy.typing import ArrayLike

from crowdtally.core.counts import Keeping
from crowdtally.inference.empirical_bayes import Prior, by_magnitude, uniform
from crowdtally.inference.facts import Chosen
from crowdtally.inference.posterior import (
    BELOW,
    FAR,
    LEVEL,
    Floats,
    Ints,
    Noise,
    Posterior,
    flat_posterior,
    grid_of,
    left_alone,
    on_grid,
    rows,
)
from crowdtally.laws.base import NoiseLaw

# Empirical Bayes: the prior of the counts is estimated from the noisy counts themselves.
#
# The law of the noise is known exactly, so the likelihood of all values under a prior on a grid
# is too. Its maximum is approached by EM steps over the distinct values (Kiefer and Wolfowitz;
# Laird).

FEW = 200
"""Fewer cells say too little about their own prior: it is flat."""
_ERRORS = 2.0
"""A prior whose mean is within so many standard errors of that of the values is not fitted on:
it would fit their noise. On sparse tables that costs up to 5% in squared error."""
_VERY_SPARSE = 1 / 500
"""Of a mean under a flat prior: tables below it are taken for mostly empty at first."""


def posterior(
    values: ArrayLike,
    law: NoiseLaw,
    *,
    level: Fraction = LEVEL,
    flat: bool = False,
    few: int = FEW,
    rare: bool = False,
) -> Posterior:
    """The posterior of every cell of one table, as counts.

    A larger value never has a smaller mean, median or end of its interval.

    Args:
        values: the noisy values, in units.
        law: of their noise; of correlated noise, its margin is used.
        level: of the interval.
        flat: with a flat prior on counts of at least 0, as for few cells.
        few: the number of cells below which they are few.
        rare: whether large counts are thought to be rare before any value is seen: the start of the
            prior, which is left only as far as the values demand it.
    """
    noisy = np.asarray(values, dtype=np.float64)
    if flat or noisy.size < few:
        found = flat_posterior(noisy, law, level)
    else:
        found = _mixed(noisy, law, level, rare)
    return found.times(float(law.unit))


def _mixed(values: Floats, law: NoiseLaw, level: Fraction, rare: bool) -> Posterior:
    noise = Noise(law)
    limit = FAR * noise.deviation
    found = Posterior.empty(len(values))
    far, near = np.flatnonzero(values > limit), np.flatnonzero(values <= limit)
    found.put(far, left_alone(values[far], law, level))
    grid = grid_of(noise.scale, float(values[near].max(initial=0.0)))
    bins = Bins(values[near], noise)
    likelihoods, seen = rows(noise.log(bins.centres[:, None] - grid)), bins.counts > 0
    start, enough = uniform(grid, _emptiness(values, noise, grid)), -inf
    if rare and len(near):
        start = by_magnitude(grid)
        enough = float(values[near].mean()) + _ERRORS * noise.deviation / sqrt(len(near))
    prior = Prior.fitted(grid, likelihoods[seen], bins.counts[seen], start, enough)
    found.put(near, bins.spread(prior.posterior(likelihoods, level)))
    return found


def _emptiness(values: Floats, noise: Noise, grid: Floats) -> float:
    """The share of the cells that are taken for empty at first: none, but of very sparse tables.

    From a flat prior, EM takes thousands of steps to see that hardly any cell holds anybody. The
    mean of the values says so at once, to within its own error.
    """
    mean = max(float(values.mean()), noise.deviation / sqrt(len(values)))
    share = mean / float(grid.mean())
    return 1 - share if share < _VERY_SPARSE else 0.0


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


# Empirical Bayes for a summary that leaves cells out: that a cell is missing says something too.
#
# A cell is kept with a probability that its noisy value alone decides. So a kept value speaks as
# in a dense table, and a missing cell has the likelihood of all values that are left out.

_POINTS = 4000
"""Values that are left out, at most so many on each side of 0; more are taken together."""
_EVERYWHERE = 60.0
"""In noise scales: a value farther below 0 is not looked at."""


def sparse_posterior(summary: Chosen, size: int, level: Fraction) -> tuple[Posterior, Posterior]:
    """The posterior of each kept cell, and the one that all other cells share; as counts.

    Args:
        summary: the kept cells.
        size: how many cells there are in all; any number.
        level: of the intervals.
    """
    noise, unit = Noise(summary.law), float(summary.law.unit)
    values = np.rint(summary.values / unit)
    far = values > FAR * noise.deviation
    near = np.flatnonzero(~far)
    kept = Posterior.empty(len(values))
    kept.put(np.flatnonzero(far), left_alone(values[far], summary.law, level))
    reach = float(summary.keeping.threshold or 0) if summary.keeping.samples else 0.0
    largest = max(float(values[near].max(initial=0.0)), summary.keeping.cut, reach)
    grid = grid_of(noise.scale, min(largest, FAR * noise.deviation))
    bins = Bins(values[near], noise)
    likelihoods = rows(noise.log(bins.centres[:, None] - grid))
    missing = _missing(noise, summary.keeping, grid)
    seen = bins.counts > 0
    matrix = np.concatenate([likelihoods[seen], missing[None, :]])
    counts = np.append(bins.counts[seen], float(max(size - len(values), 0)))
    if size < FEW:
        kept.put(near, flat_posterior(values[near], summary.law, level))
        others = on_grid(missing[None, :], np.gradient(grid), grid, level)
    else:
        # Missing cells hardly say which small count they have: where few are kept, it is 0.
        empty = max(1 - 2 * len(values) / size, 0.0)
        prior = Prior.fitted(grid, matrix, counts, uniform(grid, empty))
        kept.put(near, bins.spread(prior.posterior(likelihoods, level)))
        others = prior.posterior(missing[None, :], level)
    return kept.times(unit), others.times(unit)


def _missing(noise: Noise, keeping: Keeping, grid: Floats) -> Floats:
    """The probability that a cell of each true count is left out."""
    last = max(keeping.doubtful_to, keeping.cut - 1, 0)
    least = last if keeping.sides == "two" else max(last, _EVERYWHERE * noise.scale)
    step = max(1.0, np.ceil(least / _POINTS))
    first = -np.floor(least / step) * step
    values = np.arange(first, last + 1, step)
    chance = np.exp(noise.log(values[:, None] - grid))
    dropped = (1 - _kept(values, keeping))[:, None]
    return np.asarray(np.clip((chance * dropped).sum(axis=0) * step, 1e-300, 1.0))


def _kept(values: Floats, keeping: Keeping) -> Floats:
    """How likely a noisy value is kept."""
    weight = np.abs(values) if keeping.sides == "two" else np.maximum(values, 0.0)
    chance = np.where(weight >= keeping.least, 1.0, 0.0)
    if keeping.sides == "one":
        chance[values < keeping.least] = 0.0
    if keeping.samples and keeping.threshold is not None:
        chance *= np.minimum(weight / float(keeping.threshold), 1.0)
    return np.asarray(chance, dtype=np.float64)
