"""Lifts, shrunk."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, log

import numpy as np
from numpy.typing import NDArray

from crowdtally.inference.stopping import LAPLACE
from crowdtally.laws.base import NoiseLaw
from crowdtally.laws.interval import IntervalNoise

# How much more often items are found somewhere than expected, from noisy counts of them there.
#
# A lift is a count divided by what would be expected of it if nothing were special. Most lifts
# lie near 1, and how near is learned from all items at once: that draws an item's lift towards 1
# as far as its noise demands, so that the largest of many is not simply the luckiest.

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_STEP = 0.02
"""Of the grid of log lifts: one cell more or less is beyond what anybody tells apart."""
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
    """What is believed of lifts. All arrays are equally long."""

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
    logs += np.log(np.maximum(weights, 1e-300))[:, None] + np.log(_believed_scatters())
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


def _believed_scatters() -> Floats:
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


# Rows of noisy numbers drawn towards zero by as much as they have in common.

STEPS = 25
RIDGE = 1e-3
LEAST = 0.05
WIDEST = 128
"""Contexts that lend each other strength; beyond, in blocks of so many."""


@dataclass(frozen=True)
class Shrunk:
    """The posterior of rows ρ_i ~ N(0, S), seen as r_i ~ N(ρ_i, diag V_i)."""

    mean: Floats
    """(rows, h): the posterior means."""
    covariance: Floats
    """(rows, h, h): the posterior covariance of each row."""
    gain: Floats
    """(rows, h): how much of a cell's own value went into its mean, from 0 (nothing) to 1."""
    spread: Floats
    """(h, h): S, the covariance of the rows themselves."""


def mvshrink(values: Floats, variances: Floats) -> Shrunk:
    """Estimate S by expectation–maximisation and give each row's posterior under it.

    Args:
        values: (rows, h), the noisy rows.
        variances: (rows, h) or anything that broadcasts to it, the noise's variances, all > 0.

    S starts at max(mean(r² − V), 0.05·mean r²)·I and takes 25 steps, each with a ridge of 10⁻³ of
    its mean diagonal. Contexts that go together (Saturday and Sunday) lend each other strength,
    and where the rows hold no more than noise S falls towards zero and so do the means.
    """
    rows, width = values.shape
    noise = np.broadcast_to(variances, values.shape)
    if width > WIDEST:
        return _in_blocks(values, noise)
    spread = np.eye(width) * _start(values, noise)
    mean, covariance, gain = _posterior(values, noise, spread)
    for _ in range(STEPS if rows else 0):
        spread = (mean.T @ mean + covariance.sum(axis=0)) / rows
        spread += np.eye(width) * (RIDGE * np.trace(spread) / width)
        mean, covariance, gain = _posterior(values, noise, spread)
    return Shrunk(mean, covariance, gain, spread)


def _in_blocks(values: Floats, noise: Floats) -> Shrunk:
    """Neighbouring contexts together, blocks apart: time grows with the cube of a block."""
    rows, width = values.shape
    mean, gain = np.zeros((rows, width)), np.zeros((rows, width))
    covariance, spread = np.zeros((rows, width, width)), np.zeros((width, width))
    for start in range(0, width, WIDEST):
        block = slice(start, min(start + WIDEST, width))
        part = mvshrink(values[:, block], noise[:, block])
        mean[:, block], gain[:, block] = part.mean, part.gain
        covariance[:, block, block], spread[block, block] = part.covariance, part.spread
    return Shrunk(mean, covariance, gain, spread)


def _start(values: Floats, noise: Floats) -> float:
    """The variance S starts from; above zero, so that every matrix can be inverted."""
    squares = values**2
    if not values.size:
        return 0.0
    return max(float(np.mean(squares - noise)), LEAST * float(np.mean(squares)), 1e-300)


def _posterior(values: Floats, noise: Floats, spread: Floats) -> tuple[Floats, Floats, Floats]:
    """Means S(S+V)⁻¹r and covariances S − S(S+V)⁻¹S: no inverse of S, which may be singular."""
    width = values.shape[1]
    total = spread + noise[:, :, None] * np.eye(width)
    # One common scale keeps the solver away from under- and overflow.
    scale = np.maximum(np.trace(total, axis1=1, axis2=2) / width, 1e-300)[:, None, None]
    gain = np.linalg.solve(total / scale, np.broadcast_to(spread, total.shape) / scale)
    gain = np.swapaxes(gain, 1, 2)  # S(S+V)⁻¹, since both are symmetric
    mean = np.einsum("ijk,ik->ij", gain, values)
    covariance = spread - gain @ spread
    symmetric = (covariance + np.swapaxes(covariance, 1, 2)) / 2
    return mean, symmetric, np.einsum("ijj->ij", gain)


# Lifts of chosen items that were counted in each context: the split head (7U), head rows (9R).

_NO_SHIFT = 1e-9
"""Of a variance: where there is no common shift, it is known to be this small."""
_LEAST_FACTOR = 0.05
"""A factor is at least this: shrinkage may overshoot below nothing."""
_EXPECTED = 0.2
"""An item's rows sum to at least this part of what its count lets expect."""


@dataclass(frozen=True, eq=False)
class Head:
    """Step 7U: distinct users of chosen items in each context, a draw of noise per context."""

    places: Ints
    """(K,) the items' places in the list."""
    values: Floats
    """(K, h) released counts."""
    deviation: float
    """Of one cell."""
    common: float = 0.5
    """The part of its square that is the context's common shift: half with interval noise, of
    which √(E[s(s+2)]/6) is the deviation; none where the cells' noises are independent."""


def common_of(law: NoiseLaw) -> float:
    """The part of one cell's variance that all cells of a context have in common."""
    return 0.5 if isinstance(law, IntervalNoise) else 0.0


@dataclass(frozen=True, eq=False)
class Rows:
    """Step 9R: chosen items × contexts, rows scaled to 1 inside, independent noise."""

    places: Ints
    """(K,) the items' places in the list."""
    values: Floats
    """(K, h) released weights, divided by the grid g."""
    deviation: float
    """Of one cell's noise, divided by the grid g."""
    squares: float = LAPLACE
    """How far squares of that noise scatter, see :func:`~crowdtally.inference.stopping`."""


@dataclass(frozen=True, eq=False)
class Lifts:
    """Lifts of chosen items against what was expected of their cells."""

    found: Shrunk
    """The lifts of single items, relative: ρ (K × h)."""
    level: Floats
    """(h,) u_j: by how much more than expected all chosen items were found in a context."""
    certain: Floats
    """(h,) how far the level was measured: 0 (not at all) to 1 (exactly)."""

    @property
    def factor(self) -> Floats:
        """(K, h) 1 + ρ_ij, at least a little."""
        return np.asarray(np.maximum(1.0 + self.found.mean, _LEAST_FACTOR))


def head_lifts(head: Head, expected: Floats, level_variance: Floats) -> Lifts:
    """Lifts of the head against what was expected of its cells, e_ij.

    y_ij = e_ij·(1 + u_j)(1 + ρ_ij) + a_j + noise. Each context's interval noise is one common
    shift a_j plus one number per cell, of equal variance; independent noise has no shift to speak
    of. The shift is estimated first: taken for
    lifts it would raise or lower a context's whole head. The level u_j looks much like it, and is
    told apart only as far as their variances allow. A second round knows how far lifts scatter.

    Args:
        head: What was released.
        expected: (K, h), e_ij.
        level_variance: (h,) how far e may be off for the head of a context as a whole.
    """
    own = head.deviation**2 * (1 - head.common)
    shared = head.deviation**2 * max(head.common, _NO_SHIFT)
    safe = np.maximum(expected, 1.0)
    apart = head.values - expected
    spread = np.zeros(expected.shape[1])
    for _ in range(2):
        trust = 1.0 / (own + safe**2 * spread)
        shift, level, left = _columns(apart, safe, trust, shared, level_variance)
        unit = safe * (1.0 + level)
        found = mvshrink((apart - shift - safe * level) / unit, own / unit**2)
        spread = np.diag(found.spread)
    return Lifts(found, level, 1.0 - left / level_variance)


def _columns(
    apart: Floats, expected: Floats, trust: Floats, shared: float, level_variance: Floats
) -> tuple[Floats, Floats, Floats]:
    """(h,) each: shift, level, and the level's posterior variance: two unknowns per context."""
    ones = trust.sum(axis=0) + 1.0 / shared
    cross = (trust * expected).sum(axis=0)
    squares = (trust * expected**2).sum(axis=0) + 1.0 / level_variance
    first, second = (trust * apart).sum(axis=0), (trust * expected * apart).sum(axis=0)
    determinant = ones * squares - cross**2
    shift = (squares * first - cross * second) / determinant
    level = (ones * second - cross * first) / determinant
    return shift, np.maximum(level, _LEAST_FACTOR - 1.0), ones / determinant


def row_lifts(rows: Rows, counts: Floats, parts: Floats) -> Lifts:
    """Lifts from rows of weights: each item's own sum takes the place of its count.

    Args:
        rows: What was released.
        counts: (K,) the items' counts: what their sums are expected to be proportional to.
        parts: (K, h) the part of each item that each context is expected to have; sums to 1.
    """
    sums = rows.values.sum(axis=1)
    expected = np.maximum(sums.sum(), 0.0) * counts / max(float(counts.sum()), 1e-300)
    # A thousandth of the noise only keeps the division defined where nothing can be seen.
    safe = np.maximum(np.maximum(sums, _EXPECTED * expected), 1e-3 * rows.deviation)
    unit = safe[:, None] * np.maximum(parts, 1e-12)
    found = mvshrink(rows.values / unit - 1.0, (rows.deviation / unit) ** 2)
    # The columns' levels are part of ρ here: no shift has to be told apart from them.
    return Lifts(found, np.zeros(parts.shape[1]), found.gain.mean(axis=0))
