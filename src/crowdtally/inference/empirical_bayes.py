"""The prior from the noisy counts."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import inf

import numpy as np

from crowdtally.inference.posterior import Floats, Mask, Posterior, on_grid

LEAST = 100
"""EM steps, at least: fewer leave the prior near the flat one that they start from."""
_WORK = 2 * 10**8
"""Steps times likelihoods, at most: about half a second."""
NEAR = 30.0
"""Further steps are made while some prior might make the values e^30 times as likely: after the
least steps none does of a few thousand cells, but of a million, most of them empty."""
_LOOKED = 20
"""Steps between two looks at how near the prior is."""
_ZERO = 0.03
"""What 0 weighs at first, beside 1 for counts that differ by a factor of e."""
_DOUBT = 40.0
"""Of so many cells that might be anywhere: for intervals, the prior is not known exactly."""


@dataclass(frozen=True, eq=False)
class Prior:
    """A distribution of true counts on a grid."""

    grid: Floats
    weights: Floats
    """Of each point: the most likely ones."""
    doubtful: Floats
    """The same with cells that might be anywhere: what intervals rest on.

    Few cells are fitted too well: with 300, an interval of 95% covered 91% without it.
    """

    @classmethod
    def fitted(
        cls, grid: Floats, likelihoods: Floats, counts: Floats, start: Floats, enough: float = -inf
    ) -> Prior:
        """The prior after EM steps, until no other is far more likely.

        With g_j = Σ_i n_i·L_ij / Σ_k L_ik·w_k, no prior has a log likelihood of more than
        max g_j − Σ n_i above that of w: the logarithm is concave.

        Args:
            grid: true counts, in units.
            likelihoods: of each distinct value (row) under each of them (column).
            counts: how many cells have the value.
            start: the weights of the first step.
            enough: a mean of the prior at which no more steps are made.
        """
        weights, cells = start, float(counts.sum())
        if cells <= 0:
            return cls(grid, weights, weights)
        shares = counts / cells
        for step in range(max(_WORK // likelihoods.size, LEAST)):
            # einsum: its sums do not depend on how many threads a machine has, nor wait for them
            chances = np.einsum("ij,j->i", likelihoods, weights)
            gains = np.einsum("i,ij->j", shares / chances, likelihoods)
            near = cells * (gains.max() - 1) <= NEAR or float(weights @ grid) <= enough
            if near and step >= LEAST and step % _LOOKED == 0:
                break
            weights = np.maximum(weights * gains, 1e-300)
        weights /= weights.sum()
        anywhere = np.gradient(grid)
        doubtful = (cells * weights + _DOUBT * anywhere / anywhere.sum()) / (cells + _DOUBT)
        return cls(grid, weights, doubtful)

    def posterior(self, likelihoods: Floats, level: Fraction) -> Posterior:
        found = on_grid(likelihoods, self.weights, self.grid, level)
        wide = on_grid(likelihoods, self.doubtful, self.grid, level)
        low, high = np.minimum(wide.low, found.median), np.maximum(wide.high, found.median)
        return Posterior(found.mean, found.median, low, high, found.variance)


def uniform(grid: Floats, empty: float = 0.0) -> Floats:
    """Weights that are alike, but for a share of the cells that are taken for empty."""
    weights = np.full(len(grid), (1 - empty) / len(grid))
    weights[0] += empty
    return weights


def by_magnitude(grid: Floats) -> Floats:
    """Weights that are alike for each doubling of the count, and small for 0.

    EM stops before it has forgotten its start. Where noise hides most counts, this start is the
    better one: most counts are small, whatever the largest, and few are nothing at all.
    """
    ends = np.append((grid[1:] + grid[:-1]) / 2, grid[-1])
    steps = np.maximum(np.diff(np.log(np.maximum(ends, 1e-9))), _ZERO)
    weights = np.append(_ZERO, steps)
    return np.asarray(weights / weights.sum())


# What is left for the cells of a summary that noise may explain.
#
# Each of millions of such cells has a small posterior mean, and nothing in the summary says what
# they add up to: their sum would be mostly noise. How many records there are was measured, by the
# sizes of users' rows. So that many, less what certainly is elsewhere, is all that they have
# together.

_STEPS = 50
_LEAST = 1e-12
"""Of the factor that odds are lowered by."""


def within(records: float, seen: Mask, found: Posterior) -> None:
    """Make estimates of a summary's cells add up to so many records at most, in place.

    A cell has nobody, or some count c: its mean p·c and its variance p(1−p)c² tell p. All odds
    p/(1−p) are lowered by one factor, so that cells with more evidence lose less. Intervals of
    single cells stay as they are.

    Args:
        records: how many there are.
        seen: whether a cell was published; all others have the same estimate.
        found: what is to be changed.
    """
    others, unsure = ~seen, found.low <= 0
    known, first = np.flatnonzero(seen & unsure), np.flatnonzero(others)[:1]
    cells = np.concatenate([known, first])
    times = np.concatenate([np.ones(len(known)), np.full(len(first), float(others.sum()))])
    mean = found.mean[cells]
    left = max(records - float(found.mean[seen & ~unsure].sum()), 0.0)
    if float(times @ mean) <= left:
        return
    likely = mean**2 / np.maximum(mean**2 + found.variance[cells], 1e-300)
    count = mean / np.maximum(likely, 1e-300)
    lowered = _lowered(likely, times * count, left)
    values = mean * (lowered / np.maximum(likely, 1e-300)), lowered * (1 - lowered) * count**2
    for array, new in zip((found.mean, found.variance), values, strict=True):
        array[known] = new[: len(known)]
        array[others] = new[-1]
    for some in (known, others):
        found.median[some] = np.minimum(found.median[some], found.mean[some])


def _lowered(likely: Floats, mass: Floats, left: float) -> Floats:
    """The probabilities with lower odds, whose mass is what is left."""
    low, high = np.log(_LEAST), 0.0
    for _ in range(_STEPS):
        factor = np.exp((low + high) / 2)
        found = factor * likely / (1 - likely + factor * likely)
        if float(mass @ found) > left:
            high = np.log(factor)
        else:
            low = np.log(factor)
    return np.asarray(found)
