"""Empirical Bayes for a summary that leaves cells out: that a cell is missing says something too.

A cell is kept with a probability that its noisy value alone decides. So a kept value speaks as in a
dense table, and a missing cell has the likelihood of all values that are left out.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from crowdtally.core.counts import Keeping
from crowdtally.estimation.facts import Summary
from crowdtally.estimation.likelihoods import FAR, Noise, grid_of, rows
from crowdtally.estimation.mixing import FEW, Bins
from crowdtally.estimation.posteriors import Floats, Posterior, left_alone, on_grid
from crowdtally.estimation.prior import Prior
from crowdtally.estimation.truncated import flat_posterior

_POINTS = 4000
"""Values that are left out, at most so many on each side of 0; more are taken together."""
_EVERYWHERE = 60.0
"""In noise scales: a value farther below 0 is not looked at."""


def sparse_posterior(summary: Summary, size: int, level: Fraction) -> tuple[Posterior, Posterior]:
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
        prior = Prior.fitted(grid, matrix, counts, empty)
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
