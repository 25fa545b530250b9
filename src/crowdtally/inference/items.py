"""Every item, ranks and chances."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from crowdtally.inference.facts import Chosen, ItemFacts
from crowdtally.inference.mixing import posterior, sparse_posterior
from crowdtally.inference.posterior import LEVEL, Floats, Posterior

# How likely each of many uncertain counts is among the k largest.

_STEPS = 60
_NEAR = 1e-6
_FAR = 8.0
"""Deviations beyond which a chance is 0 or 1."""
_BLOCK = 256
"""Values of which the largest is looked at first."""


def chances_among(mean: Floats, deviation: Floats, k: int) -> Floats:
    """How likely each is one of the k largest: the chances add up to k.

    Of many independent normal counts, the k-th largest is nearly a fixed number: the line that k
    of them pass on average. An item's chance is that of passing it.

    >>> chances_among(np.array([9.0, 5.0, 5.0, 1.0]), np.ones(4), 2).round(2).tolist()
    [1.0, 0.5, 0.5, 0.0]
    """
    size = len(mean)
    if k <= 0 or k >= size:
        return np.full(size, float(min(max(k, 0), size) / size) if size else 0.0)
    spread = np.maximum(deviation, 1e-9 * np.maximum(np.abs(mean), 1e-9))
    least = kth_largest(mean - _FAR * spread, k)
    running = np.flatnonzero(mean + _FAR * spread >= least)  # others are passed by k items
    low, high = float(least), float((mean + _FAR * spread).max())
    centre, width = mean[running], spread[running]
    for _ in range(_STEPS):
        line = (low + high) / 2
        if high - low <= _NEAR * max(abs(low), abs(high)):
            break
        if _above((line - centre) / width).sum() <= k:
            high = line
            continue
        low = line
        near = centre + _FAR * width >= low  # the line rises, and will not come back to the others
        running, centre, width = running[near], centre[near], width[near]
    found = np.zeros(size)
    passing = _above(((low + high) / 2 - centre) / width)
    found[running] = np.minimum(passing * (k / max(float(passing.sum()), 1e-300)), 1.0)
    return found


def kth_largest(values: Floats, k: int) -> float:
    """The k-th largest of at least k values, quick also where most of very many are equal.

    >>> kth_largest(np.array([3.0, 9.0, 5.0, 5.0]), 2)
    5.0
    """
    if k * _BLOCK < len(values):
        whole = values[: len(values) // _BLOCK * _BLOCK].reshape(-1, _BLOCK).max(axis=1)
        floor = float(np.partition(whole, len(whole) - k)[len(whole) - k])
        values = values[values > floor]  # k values are no less than the floor
        if len(values) < k:
            return floor
    return float(np.partition(values, len(values) - k)[len(values) - k])


def _above(z: Floats) -> Floats:
    """Pr[Z > z] of a standard normal Z, to seven digits (Abramowitz and Stegun 26.2.17)."""
    size = np.abs(z)
    t = 1 / (1 + 0.2316419 * size)
    series = t * (
        0.319381530 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429)))
    )
    tail = np.exp(-(np.minimum(size, 38.0) ** 2) / 2) / np.sqrt(2 * np.pi) * series
    return np.asarray(np.where(z > 0, tail, 1 - tail), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class ItemEstimates:
    """An estimate of every item's count. The noisy values stay where they are."""

    mean: Floats
    """The posterior mean, calibrated where the release can be: least squared error."""
    median: Floats
    """The posterior median: least absolute error, and nearer in the tail."""
    low: Floats
    high: Floats
    """An interval of the asked level, with the calibration's own uncertainty."""
    deviation: Floats
    """The posterior standard deviation, with the same."""
    own: Floats
    """The part of it that is the item's own: what all items share does not change their order."""
    bounded: Floats
    """The posterior mean before calibration: what is left after bounding."""
    calibrated: bool
    """Whether the estimates are of all records, not only of those that bounding left."""

    @property
    def size(self) -> int:
        return len(self.mean)


def estimate_items(facts: ItemFacts, level: Fraction = LEVEL) -> ItemEstimates:
    """An estimate of every cell of one table, or of a summary of one."""
    table = facts.table
    if isinstance(table, Chosen):
        found = from_summary(table, facts.size, level)
    else:
        units = np.rint(table.values / float(table.law.unit))
        found = posterior(units, table.law, level=level, flat=facts.exact)
    deviation = np.sqrt(found.variance)
    return ItemEstimates(*found.parts()[:4], deviation, deviation, found.mean, facts.exact)


def from_summary(summary: Chosen, size: int, level: Fraction) -> Posterior:
    """The posterior of every cell, also of those that a summary left out."""
    kept, others = sparse_posterior(summary, size, level)
    found = Posterior(*(np.full(size, part[0]) for part in others.parts()))
    found.put(summary.places, kept)
    return found
