"""Lifts: how many times as popular an item is somewhere as elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, log

import numpy as np

from crowdtally.inference.posterior import Floats, Ints

# How much more often items are found somewhere than expected, from noisy counts of them there.
#
# A lift is a count divided by what would be expected of it if nothing were special. Most lifts
# lie near 1, and how near is learned from all items at once: that draws an item's lift towards 1
# as far as its noise demands, so that the largest of many is not simply the luckiest.

AMONG = 200
"""Special items are sought among so many of the largest estimates: beyond, all is noise."""
_STEP = 0.02
"""Of the grid of log lifts: one cell more or less makes no difference."""
_LEAST, _MOST = -3.0, 5.0
"""Ends of the grid of log lifts: a twentieth, and 150 times as many."""
_SCATTERS = np.geomspace(0.01, 1.5, 20)
"""How far log lifts may scatter. Which of them holds is learned."""
_USUAL = 0.3
"""The middle of what is thought of that scatter beforehand, as real data had it."""
_SHIFTS = 3
"""So many values on either side are tried of what all expectations are off by."""
_TAIL = 0.025


@dataclass(frozen=True, eq=False)
class Seen:
    """Noisy counts of some items, beside what is expected of each. All arrays are equally long."""

    values: Floats
    deviation: Floats
    expected: Floats
    """What each count is expected to be, above 0."""
    relative: Floats
    """How uncertain each expectation is by itself, as a part of it."""
    common: float = 0.0
    """How uncertain all of them are together, as a part of them."""
    cells: float = 1.0
    """How many noisy numbers a count is the sum of: the more, the nearer is its noise to normal."""
    most: float = inf
    """The largest lift that can be: nobody is counted more often there than everywhere."""


@dataclass(frozen=True, eq=False)
class FoundLifts:
    """The posteriors of lifts. All arrays are equally long."""

    mean: Floats
    low: Floats
    high: Floats
    """The 95% interval."""
    deviation: Floats
    above: Floats
    """The probability that the lift is above 1."""


def found_lifts(seen: Seen) -> FoundLifts:
    """The posterior of every lift, by a grid.

    Log lifts are normal around a mean lift of 1 with an unknown scatter, which is integrated out,
    as is what all expectations are off by. Noise is Laplace's; of sums of several such numbers,
    Student's law of the same variance and kurtosis.
    """
    if not len(seen.values):
        return FoundLifts(*(np.zeros(0) for _ in range(5)))
    grid = _grid(seen.most)
    prior = _prior(grid)
    offsets, weights = _shifts(seen.common)
    # A shift of all expectations is one of the grid: one table holds the likelihoods of all.
    reach, cells = int(offsets[-1]), len(grid)
    wide = grid[0] + np.arange(-reach, cells + reach) * _STEP
    table = _likelihoods(seen, wide)
    every = np.exp(table - table.max(axis=1, keepdims=True))
    likely = [every[:, reach + offset : reach + offset + cells] for offset in offsets.tolist()]
    # einsum, not @: a few million products are not worth waking other threads for.
    inside = [np.maximum(np.einsum("ij,jk->ik", one, prior), 1e-300) for one in likely]
    logs = np.array([np.log(one).sum(axis=0) for one in inside])
    logs += np.log(np.maximum(weights, 1e-300))[:, None] + np.log(_scatter_prior())
    joint = np.exp(logs - logs.max())
    joint /= joint.sum()
    posterior = sum(
        shown * np.einsum("ik,jk->ij", one / own, prior)
        for shown, own, one in zip(likely, inside, joint, strict=True)
    )
    return _read_off(np.asarray(posterior), grid)


def _grid(most: float) -> Floats:
    """The middles of cells of log lifts; 0 is an end of two of them."""
    below, above = round(-_LEAST / _STEP), round(min(max(log(most), _STEP), _MOST) / _STEP)
    return np.asarray((np.arange(-below, max(above, 1)) + 0.5) * _STEP, dtype=np.float64)


def _prior(grid: Floats) -> Floats:
    """(cells, scatters): the mass of each cell. The mean lift is 1, whatever the scatter."""
    apart = (grid[:, None] + _SCATTERS**2 / 2) / _SCATTERS
    mass = np.exp(-(apart**2) / 2) + 1e-12
    return np.asarray(mass / mass.sum(axis=0))


def _scatter_prior() -> Floats:
    """What is thought of the scatters before: mostly moderate, and never excluded."""
    mass = _SCATTERS / (1 + (_SCATTERS / _USUAL) ** 2)
    return np.asarray(mass / mass.sum())


def _shifts(common: float) -> tuple[Ints, Floats]:
    """By how many cells all expectations may be off, and how likely each is."""
    common = min(common, 1.0)
    if common < _STEP / 4:
        return np.zeros(1, dtype=np.int64), np.ones(1)
    apart = max(round(0.8 * common / _STEP), 1)
    offsets = apart * np.arange(-_SHIFTS, _SHIFTS + 1)
    mass = np.exp(-((offsets * _STEP / common) ** 2) / 2)
    return offsets, mass / mass.sum()


def _likelihoods(seen: Seen, grid: Floats) -> Floats:
    """(items, cells): the log likelihood of every lift."""
    lifted = np.exp(grid) * seen.expected[:, None]
    # A cell of the grid stands for all lifts within it.
    own = seen.relative[:, None] ** 2 + (_STEP / 2) ** 2
    variance = seen.deviation[:, None] ** 2 + own * lifted**2
    if seen.cells <= 1:
        apart = np.abs(seen.values[:, None] - lifted) / np.sqrt(variance / 2)
        return np.asarray(-apart - np.log(variance) / 2)
    freedom = 4.0 + 2.0 * min(seen.cells, 1e6)
    squares = (seen.values[:, None] - lifted) ** 2 / (variance * (freedom - 2.0))
    return np.asarray(-(freedom + 1) / 2 * np.log1p(squares) - np.log(variance) / 2)


def _read_off(posterior: Floats, grid: Floats) -> FoundLifts:
    posterior = posterior / posterior.sum(axis=1, keepdims=True)
    lifts = np.exp(grid)
    mean = posterior @ lifts
    variance = np.maximum(posterior @ lifts**2 - mean**2, 0.0)
    low, high = (_quantile(posterior, grid, share) for share in (_TAIL, 1 - _TAIL))
    above = posterior[:, grid > 0].sum(axis=1)
    return FoundLifts(mean, low, high, np.sqrt(variance), np.clip(above, 0.0, 1.0))


def _quantile(posterior: Floats, grid: Floats, share: float) -> Floats:
    """Where each row's distribution reaches ``share``, as a lift."""
    below = np.cumsum(posterior, axis=1)
    at = np.minimum((below < share).sum(axis=1), posterior.shape[1] - 1)
    rows = np.arange(len(posterior))
    before = below[rows, at] - posterior[rows, at]
    part = np.clip((share - before) / np.maximum(posterior[rows, at], 1e-300), 0.0, 1.0)
    return np.asarray(np.exp(grid[at] + (part - 0.5) * _STEP))
