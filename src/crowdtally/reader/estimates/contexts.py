"""Estimates of items in contexts."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Self

import numpy as np

from crowdtally.laws.base import NoiseLaw
from crowdtally.reader.axes import Floats, Ints, Mask
from crowdtally.reader.estimates.cell_sums import Believed, deviations

# Contexts have totals, and no table counts items in them: each has the overall ranking.

UNMEASURED = 0.3
"""How far lifts are taken to scatter where none was measured: an assumption. It was 0.08 to 0.14
for groups of persons and 0.3 to 0.9 for times of the day or week in real data."""


@dataclass(frozen=True, eq=False)
class AlikeContexts:
    """Estimates of items in contexts: each context has its share of every item."""

    items: Believed
    shares: Floats
    """(contexts,): their part of all records."""
    shares_error: Floats
    """(contexts,): how far those are off, relative to them."""
    remark = (
        "Each context has the overall ranking: there are too many items and contexts to count "
        "each item in each context. Intervals there assume, unmeasured, that an item's share of a "
        f"context is typically within {UNMEASURED:.0%} of its overall share."
    )

    @classmethod
    def of(cls, items: Believed, totals: Floats, law: NoiseLaw) -> Self:
        """Estimate from noisy totals of contexts: none counts for less than half its noise."""
        deviation = law.std()
        safe = np.maximum(totals, deviation / 2)
        shares = safe / safe.sum()
        own = (1 / shares - 1) ** 2 + len(shares) - 1
        return cls(items, shares, np.sqrt(own) * deviation / safe.sum())

    def column(self, mask: Mask, level: Fraction) -> Believed:
        items, share = self.items, float(self.shares[mask].sum())
        if mask.all():
            return items
        wrong = float(np.sqrt(((self.shares * self.shares_error)[mask] ** 2).sum())) / share
        beyond = (share * items.mean) ** 2 * (wrong**2 + UNMEASURED**2)
        more, mean = deviations(level) ** 2 * beyond, share * items.mean
        low = mean - np.sqrt((mean - share * items.low) ** 2 + more)
        high = mean + np.sqrt((share * items.high - mean) ** 2 + more)
        return Believed(
            mean, share * items.median, np.maximum(low, 0.0), high,
            np.sqrt((share * items.deviation) ** 2 + beyond),
            np.sqrt((share * items.own) ** 2 + beyond),
        )  # fmt: skip


# Items and their contexts count the same records: make both tables agree.


@dataclass(frozen=True, eq=False)
class Consistent:
    """Counts that add up: of all unbiased linear estimates, those with the least variance."""

    items: Floats
    """One for each item: the sum of its contexts."""
    contexts: Floats
    item_variance: float
    context_variance: float


def consistent_items(
    items: Floats, item_variance: float, contexts: Floats, context_variance: float
) -> Consistent:
    """Item counts (m) and their context counts (m × h) that add up.

    Only where an item is the sum of its contexts before noise: both counted on the same kept
    records, each in one context. Both tables' noises are independent, of one variance each.

    >>> made = consistent_items(np.array([7.0]), 1.0, np.array([[2.0, 3.0]]), 1.0)
    >>> made.items.round(3).tolist(), made.contexts.round(3).tolist()
    ([6.333], [[2.667, 3.667]])
    """
    h = contexts.shape[1]
    share = context_variance / (item_variance + h * context_variance)
    missing = items - contexts.sum(axis=1)
    found = contexts + share * missing[:, None]
    return Consistent(
        found.sum(axis=1), found, item_variance * h * share, context_variance * (1 - share)
    )


# Counts of items in contexts, from noisy ones of the same records: shrunk towards the expected.
#
# The prior spreads an item over contexts like the large items: e = c·share. How far noisy counts
# scatter around e beyond their noise decides how much of the difference to believe: in bins of
# similar e, the factor t²/(t² + v), t² the mean squared difference less the noise v.

_BINS = 40
_LEAST = 50
"""Cells of a bin, at least: fewer say too little about how they scatter."""
_HEAD = 0.5
"""The share of the estimated mass whose items say how all are spread over contexts."""


@dataclass(frozen=True, eq=False)
class InContexts:
    """Estimates of items (rows) in contexts (columns)."""

    mean: Floats
    """Each row adds up to the item's estimate."""
    variance: Floats
    """Of each cell by itself."""

    def column(self, contexts: Mask, level: Fraction) -> Believed:
        picked = _run(np.flatnonzero(contexts))
        mean = self.mean[:, picked].sum(axis=1)
        own = np.sqrt(self.variance[:, picked].sum(axis=1))
        reach = deviations(level) * own
        return Believed(mean, mean, np.maximum(mean - reach, 0.0), mean + reach, own, own)

    def of_all(self, contexts: Mask) -> tuple[float, float]:
        """The mean and the variance of the sum of all items in some contexts."""
        means, variances = self._sums
        return float(means[contexts].sum()), float(variances[contexts].sum())

    @cached_property
    def _sums(self) -> tuple[Floats, Floats]:
        """Over all items, in each context: most questions for sums name contexts alone."""
        return self.mean.sum(axis=0), self.variance.sum(axis=0)


def shrink(items: Believed, noisy: Floats, variance: float) -> InContexts:
    """Estimates of all cells, from those of items and unbiased (items, contexts) noisy counts."""
    shares = _shares(items.mean, noisy)
    expected = items.mean[:, None] * shares
    difference = noisy - expected
    factors = _factors(expected, difference, variance)
    found = np.maximum(expected + factors * difference, 0.0)
    sums = found.sum(axis=1, keepdims=True)
    scaled = np.where(sums > 0, found * items.mean[:, None] / np.maximum(sums, 1e-300), expected)
    of_items = (1 - factors) * shares * items.deviation[:, None]
    # Column by column, because each question adds up some of them.
    own = np.asfortranarray(factors * variance + of_items**2)
    return InContexts(np.asfortranarray(scaled), own)


def _run(places: Ints) -> Ints | slice:
    """Places that follow each other as a slice, of which no copy is made."""
    if len(places) and places[-1] - places[0] == len(places) - 1:
        return slice(int(places[0]), int(places[-1]) + 1)
    return places


def _shares(items: Floats, noisy: Floats) -> Floats:
    """How the items that hold half of the mass are spread, no context being below 0."""
    order = np.argsort(-items, kind="stable")
    mass = np.cumsum(np.maximum(items[order], 0.0))
    head = order[: int(np.searchsorted(mass, _HEAD * mass[-1])) + 1]
    sums = np.maximum(noisy[head].sum(axis=0), 0.0)
    if sums.sum() <= 0:
        return np.full(noisy.shape[1], 1.0 / noisy.shape[1])
    return np.asarray(sums / sums.sum(), dtype=np.float64)


def _factors(expected: Floats, difference: Floats, variance: float) -> Floats:
    """The share of each difference to keep, from all cells of similar expectation."""
    if variance <= 0:
        return np.ones_like(expected)
    flat = expected.ravel()
    bins = max(1, min(_BINS, flat.size // _LEAST))
    order = np.argsort(flat, kind="stable")
    number = np.empty(flat.size, dtype=np.int64)
    number[order] = np.arange(flat.size) * bins // flat.size
    squares = np.bincount(number, difference.ravel() ** 2, bins)
    cells = np.maximum(np.bincount(number, minlength=bins), 1)
    beyond = np.maximum(squares / cells - variance, 0.0)
    return np.asarray((beyond / (beyond + variance))[number].reshape(expected.shape))
