"""Items in contexts, of a release of auto."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import hypot
from statistics import NormalDist

import numpy as np

from crowdtally.errors import UsageError
from crowdtally.inference.auto import AutoEstimates
from crowdtally.inference.facts import AutoFacts, Noisy
from crowdtally.inference.items import ItemEstimates
from crowdtally.inference.lifts import FoundLifts
from crowdtally.inference.posterior import (
    LEVEL,
    Floats,
    Ints,
    Mask,
    Noise,
    Posterior,
    normal_reach,
    on_grid,
    rows,
)

# A cell is an item's count times the context's share times a ratio. How ratios scatter around 1 is
# learned from all cells of about the same expected size, and each cell's own noisy value then says
# what its ratio is.

RATIOS: Floats = np.unique([0.0, *np.geomspace(0.02, 1, 18), *np.geomspace(1, 40, 24)])
_SCATTERS = (0.1, 0.2, 0.4, 0.7, 1.0, 1.5)
"""How far ratios may scatter: deviations of their logarithms, of which a prior is a mixture."""
_NONE, _SAME = 0.01, 0.6
"""At first, so many cells have nobody, and so many just what is expected."""
_WEIGHT = 5.0
"""What is thought at first counts as much as so many cells."""
_STEPS = 60
"""Of EM."""
_MOST = 20_000
"""Cells that are looked at together; and of which a prior is learned."""
_CLEAR = 40.0
"""Where more noise scales are expected, ratios are finer than the grid."""
_LEAN = 0.1
"""How far a share of scaled rows may be from that of records: heavy users count for less."""


@dataclass(frozen=True, eq=False)
class CellEstimates:
    """Estimates of every item in every context. All arrays are (items, contexts)."""

    items: ItemEstimates
    cells: Posterior
    """Of each cell, where its item's count is known."""
    shares: Floats
    """(contexts,): their part of all records."""
    shares_error: Floats
    """(contexts,): how far those are off, relative to them."""
    spread: float
    """The factor up or down by which bounding may move all intervals."""
    level: Fraction

    def column(self, inside: Mask) -> ItemEstimates:
        """Every item, summed over the contexts of a mask."""
        items, cells = self.items, self.cells
        if inside.all():
            return items
        mean, variance = cells.mean[:, inside].sum(axis=1), cells.variance[:, inside].sum(axis=1)
        part = mean / np.maximum(items.mean, 1e-300)
        low, high = (self._end(end[:, inside], inside) for end in (cells.low, cells.high))
        # The skew of a sum of alike counts keeps its median as far from its mean as one of them.
        median = mean + (cells.median - cells.mean)[:, inside].mean(axis=1)
        low = np.maximum(mean - low, 0.0) / self.spread
        high = np.minimum((mean + high) * self.spread, items.high)  # no more than in all contexts
        return ItemEstimates(
            mean, np.clip(median, low, high), low, high,
            np.sqrt(variance + (part * items.deviation) ** 2),
            np.sqrt(variance + (part * items.own) ** 2),
            part * items.bounded, items.calibrated,
        )  # fmt: skip

    def _end(self, end: Floats, inside: Mask) -> Floats:
        """How far the end of a sum's interval is from its mean: squares add up."""
        apart = end - self.cells.mean[:, inside]
        return np.asarray(np.sqrt((apart**2).sum(axis=1)), dtype=np.float64)

    def lifts(self, places: Ints, inside: Mask) -> FoundLifts:
        """How many times as large the share of some items is in these contexts as overall."""
        share = float(self.shares[inside].sum())
        expected = np.maximum(self.items.mean[places], 1e-9) * share
        mean = self.cells.mean[np.ix_(places, inside)].sum(axis=1) / expected
        own = self.cells.variance[np.ix_(places, inside)].sum(axis=1) / expected**2
        common = float(np.sqrt(((self.shares * self.shares_error)[inside] ** 2).sum())) / share
        deviation = np.maximum(np.sqrt(own + (common * mean) ** 2), 1e-9)
        reach, chance = normal_reach(self.level) * deviation, NormalDist().cdf
        above = np.array([chance(one) for one in ((mean - 1) / deviation).tolist()])
        low, high = np.maximum(mean - reach, 0.0), np.minimum(mean + reach, 1 / share)
        return FoundLifts(mean, low, np.maximum(high, mean), deviation, above)


def estimate_cells(
    facts: AutoFacts, found: AutoEstimates, level: Fraction = LEVEL
) -> CellEstimates:
    """Every item in every context; the contexts of an item add up to its estimate."""
    if facts.cells is None or facts.totals is None:
        raise UsageError("items in contexts cannot be estimated without cells and context totals.")
    shares, error = _shares(facts.cells, facts.totals)
    items, table = found.items, facts.cells
    cells = _ratios(table, items.bounded, shares, level)
    sums = np.maximum(cells.mean.sum(axis=1), 1e-300)
    usual = float(items.mean.sum()) / max(float(items.bounded.sum()), 1e-9)
    known = items.bounded > 1e-6 * table.scale
    factor = np.where(known, items.mean / np.maximum(items.bounded, 1e-9), usual)
    factor = np.clip(factor, usual / 4, 4 * usual)[:, None]
    scaled = cells.times(factor)
    exact = (items.mean / sums)[:, None]
    mean, median = exact * cells.mean, exact * cells.median
    cells = Posterior(
        mean, median, np.minimum(scaled.low, mean), np.maximum(scaled.high, mean), scaled.variance
    )
    lost = 0.5 if facts.lengths.weak else 1 - facts.scaled.kept(table.bound)[0]
    scatters = {"short": 0.0, "rich": hypot(found.scatter, found.common), "long": found.scatter}
    spread = float(np.exp(normal_reach(level) * scatters[facts.path]))
    lean = _LEAN * min(1.0, 2 * lost) * (1 - shares)
    return CellEstimates(items, cells, shares, np.hypot(error, lean), spread, level)


def _shares(cells: Noisy, totals: Noisy) -> tuple[Floats, Floats]:
    """Each context's part of all records, and how far noise may move it, relative to it."""
    least = totals.scale / 2
    one, two = totals.std**-2, cells.std**-2 / len(cells.values)
    sums = np.maximum(cells.values.sum(axis=0), least)
    values = (one * np.maximum(totals.values, least) + two * sums) / (one + two)
    shares = values / values.sum()
    own = (1 / shares - 1) ** 2 + len(shares) - 1
    return shares, np.sqrt(own / (one + two)) / values.sum()


def _ratios(table: Noisy, counts: Floats, shares: Floats, level: Fraction) -> Posterior:
    """The posterior of every cell, as counts that scaling left."""
    noise, unit = Noise(table.law), float(table.law.unit)
    expected = (np.maximum(counts, 1e-9)[:, None] * shares).ravel()
    values, margin = table.values.ravel(), float(table.law.half_width(level)) * unit
    found = Posterior.empty(len(values))
    bands = np.clip(np.floor(np.log2(expected / table.scale)), -6, 7).astype(np.int64)

    def likelihoods(places: Ints) -> Floats:
        ratios = expected[places, None] * RATIOS
        return rows(noise.log((values[places, None] - ratios) / unit))

    for band in np.unique(bands):
        places = np.flatnonzero(bands == band)
        weights = _prior(likelihoods(places[:: len(places) // _MOST + 1]))
        for start in range(0, len(places), _MOST):
            some = places[start : start + _MOST]
            ratios = on_grid(likelihoods(some), weights, RATIOS, level)
            found.put(some, ratios.times(expected[some]))
        clear = places[expected[places] > _CLEAR * table.scale]
        if len(clear):  # between the expected and the measured, by their variances
            apart = values[places] - expected[places]
            beyond = max(float((apart**2).mean()) - table.std**2, 0.0)
            part = beyond / (beyond + table.std**2)
            mean = expected[clear] + part * (values - expected)[clear]
            variance = np.full(len(clear), part * table.std**2)
            found.put(clear, Posterior(mean, mean, mean - margin, mean + margin, variance))
    parts = found.reaching(values, margin).parts()
    return Posterior(*(np.maximum(part, 0.0).reshape(table.values.shape) for part in parts))


def _mixed() -> Floats:
    """What a prior is a mixture of: nobody, just what is expected, and ratios that scatter."""
    logs = np.log(RATIOS[1:])
    width = np.gradient(logs)
    found = np.zeros((2 + len(_SCATTERS), len(RATIOS)))
    found[0, 0] = found[1, np.searchsorted(RATIOS, 1.0)] = 1.0
    for row, scatter in zip(found[2:], _SCATTERS, strict=True):  # each has a mean of 1
        row[1:] = np.exp(-((logs / scatter + scatter / 2) ** 2) / 2) * width
        row /= row.sum()
    return found


def _prior(likelihoods: Floats) -> Floats:
    """How ratios scatter, from cells of about the same expected size.

    A free prior would put a mass on the largest values of noise, and spoil the lists of contexts.
    """
    parts, others = _mixed(), (1 - _NONE - _SAME) / len(_SCATTERS)
    first = np.array([_NONE, _SAME, *(others for _ in _SCATTERS)])
    of_parts, weights = likelihoods @ parts.T, first
    for _ in range(_STEPS):
        shares = of_parts * weights
        shares /= shares.sum(axis=1, keepdims=True)
        weights = (shares.sum(axis=0) + _WEIGHT * first) / (len(likelihoods) + _WEIGHT)
    return np.asarray(weights @ parts, dtype=np.float64)
