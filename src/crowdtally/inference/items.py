"""Every item, ranks and chances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf

import numpy as np
from numpy.typing import NDArray

from crowdtally.errors import UsageError
from crowdtally.inference.empirical_bayes import within
from crowdtally.inference.facts import Binned, Chosen, Ints, ItemFacts, Summary
from crowdtally.inference.heads import Blend, blend, total_of
from crowdtally.inference.joint import Again
from crowdtally.inference.mixing import posterior, sparse_posterior
from crowdtally.inference.posterior import (
    LEVEL,
    Noise,
    Posterior,
    flat_posterior,
    normal,
    scattered,
)
from crowdtally.inference.rows import Calibration, Total, calibrate
from crowdtally.laws.base import NoiseLaw


def bounded_counts(facts: ItemFacts, level: Fraction = LEVEL) -> Posterior:
    """The posterior of what bounding left of each item; 0 for the crowd, which is in no row."""
    if facts.summary is not None:
        return _from_summary(facts.summary, facts.size, level)
    if facts.table is None:
        raise UsageError("items cannot be estimated without a table or a summary of their counts.")
    units, law = facts.table.units, facts.table.law
    if facts.crowd is None:
        return _from_table(units, law, facts.zoom, level, flat=facts.exact)
    rest: Ints = np.setdiff1d(np.arange(facts.size), facts.crowd.places)
    found = Posterior.empty(facts.size)
    found.put(rest, _from_table(units[rest], law, _renumbered(facts.zoom, rest), level))
    return found


def _renumbered(chosen: Chosen | None, rest: Ints) -> Chosen | None:
    if chosen is None:
        return None
    return Chosen(np.searchsorted(rest, chosen.places), chosen.values, chosen.law, chosen.theta)


def _from_table(
    units: Floats, law: NoiseLaw, zoom: Chosen | None, level: Fraction, *, flat: bool = False
) -> Posterior:
    alone = posterior(units, law, level=level, flat=flat)
    if zoom is None or not len(zoom.places):
        return alone
    # Rows are scaled differently inside the zoom. Raw sums of selected items have the bias of their
    # selection, posterior means have not.
    zoomed = float(zoom.values.sum())
    ratio = float(alone.mean[zoom.places].sum()) / zoomed if zoomed > 0 else 0.0
    if ratio <= 0:
        return alone
    factor = ratio / float(law.unit)
    noise = Noise(zoom.law, ratio * float(zoom.law.unit / law.unit))
    return posterior(units, law, level=level, also=Again(zoom.places, factor * zoom.values, noise))


def _from_summary(summary: Summary, size: int, level: Fraction) -> Posterior:
    kept, others = sparse_posterior(summary, size, level)
    found = Posterior(*(np.full(size, part[0]) for part in others.parts()))
    found.put(summary.places, kept)
    return found


# How likely each of many uncertain counts is among the k largest.

Floats = NDArray[np.float64]

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
    kept_share: float
    """Of the records, after bounding, as the calibration sees it; 1 where nothing is known."""
    calibrated: bool
    """Whether the estimates are of all records, not only of those that bounding left."""

    @property
    def size(self) -> int:
        return len(self.mean)

    def chance_among(self, k: int) -> Floats:
        """How likely each item is one of the k largest; they add up to k."""
        return chances_among(self.mean, self.own, k)


def heaviest(estimates: ItemEstimates, share: float, exclude: Sequence[int] = ()) -> Ints:
    """The fewest items that hold ``share`` of the estimated mass, in the order of the list."""
    order, mass = _by_mass(estimates, exclude)
    if not len(order) or mass[-1] <= 0:
        return np.empty(0, dtype=np.int64)
    enough = int(np.searchsorted(mass, share * mass[-1] * (1 - 1e-12))) + 1
    return np.sort(order[:enough])


def largest(estimates: ItemEstimates, k: int, exclude: Sequence[int] = ()) -> Ints:
    """The k items of the largest estimates, largest first; ties by the order of the list."""
    return _ranked(estimates, exclude)[: max(k, 0)]


def equal_mass_groups(estimates: ItemEstimates, groups: int, exclude: Sequence[int] = ()) -> Ints:
    """The group of each item: 0 holds the largest ones; each has about the same estimated mass.

    An item is put where the middle of its own mass falls. Excluded items are in none: −1.
    """
    order, mass = _by_mass(estimates, exclude)
    found = np.full(estimates.size, -1, dtype=np.int64)
    if not len(order):
        return found
    if mass[-1] <= 0:  # nothing to tell them apart by
        found[order] = np.arange(len(order)) * groups // len(order)
        return found
    middle = mass - np.diff(mass, prepend=0.0) / 2
    found[order] = np.minimum((middle / mass[-1] * groups).astype(np.int64), groups - 1)
    return found


def _ranked(estimates: ItemEstimates, exclude: Sequence[int]) -> Ints:
    order = np.argsort(-estimates.mean, kind="stable")
    if not len(exclude):
        return order
    left = np.ones(estimates.size, dtype=bool)
    left[np.asarray(exclude, dtype=np.int64)] = False
    return np.asarray(order[left[order]], dtype=np.int64)


def _by_mass(estimates: ItemEstimates, exclude: Sequence[int]) -> tuple[Ints, Floats]:
    """The items, largest first, and the estimated mass up to each."""
    order = _ranked(estimates, exclude)
    return order, np.cumsum(np.maximum(estimates.mean[order], 0.0))


_SCATTER = 0.27
"""Of the share that is lost: how far counts scatter around their calibration, relative to them."""
_SCATTER_OF_SMALL = 0.4
"""The same of items below the largest, for their intervals: they scatter more."""


def estimate_items(facts: ItemFacts, level: Fraction = LEVEL) -> ItemEstimates:
    """An estimate of every item, from whatever was measured.

    The table gives bounded counts (``bounded``), totals that were hardly bounded say what they
    stand for (``calibrating``), and items that were measured directly are blended in (``heads``).
    """
    bounded = bounded_counts(facts, level)
    calibration, counts, blended, scatter = _calibrated(facts, bounded)
    factors = calibration.factors
    own = _within_users(facts, scattered(counts, scatter, level))
    whole = _within_users(facts, scattered(own, calibration.common, level))
    if facts.head is not None and blended is not None:
        own.put(facts.head.places, normal(blended.mean, blended.own, level))
        whole.put(facts.head.places, normal(blended.mean, blended.variance, level))
    if facts.summary is not None:
        _put_within_sizes(facts, facts.summary, own, whole)
    if facts.crowd is not None:
        _put_crowd(facts.crowd, own, whole, level)
    mass = float((bounded.mean * factors).sum())
    kept = min(float(bounded.mean.sum()) / mass, 1.0) if mass > 0 else 1.0
    return ItemEstimates(
        *whole.parts()[:4],
        deviation=np.sqrt(whole.variance),
        own=np.sqrt(own.variance),
        bounded=bounded.mean,
        kept_share=kept,
        calibrated=facts.exact or calibration.known,
    )


@dataclass(frozen=True, eq=False)
class TableCalibration:
    """What the table's own noisy counts are multiplied by, and how far off they are then."""

    factors: Floats
    """Of each item."""
    common: Floats
    """The relative error that all items share."""
    scatter: float
    """The relative error that is each item's own."""
    known: bool
    """Whether anything says what bounding took away; then these are counts of all records."""


def table_calibration(facts: ItemFacts, level: Fraction = LEVEL) -> TableCalibration:
    """How the table's noisy counts become unbiased counts, without a prior on single ones."""
    calibration, _, _, scatter = _calibrated(facts, bounded_counts(facts, level))
    known = facts.exact or calibration.known
    return TableCalibration(calibration.factors, calibration.common, scatter, known)


def _calibrated(
    facts: ItemFacts, bounded: Posterior
) -> tuple[Calibration, Posterior, Blend | None, float]:
    """The calibration, what becomes of the bounded counts, the head, and the relative scatter."""
    calibration, lost = _calibration(facts, bounded)
    counts = _within_users(facts, bounded.times(calibration.factors))
    blended = _blended(facts, counts, calibration, _SCATTER * lost)
    small = _SCATTER_OF_SMALL * lost
    scatter = small if blended is None else max(small, blended.scatter)
    return calibration, counts, blended, scatter


def _calibration(facts: ItemFacts, bounded: Posterior) -> tuple[Calibration, float]:
    """How bounded counts become counts, and the share that bounding is expected to lose."""
    sizes = facts.read_sizes()
    if facts.exact or sizes is None or facts.theta is None:
        return Calibration.none(facts.size), 0.0
    kept = sizes.kept(facts.theta, facts.power)
    totals = [] if facts.bins is None else _totals(facts.bins)
    head = None if facts.head is None or facts.repeats else total_of(facts.head)
    hidden = sizes.hidden(facts.theta, inf if facts.repeats else facts.size, facts.power)
    known = sizes.reliable
    return calibrate(bounded.mean, kept, totals, head, hidden=hidden, reliable=known), 1 - kept


def _within_users(facts: ItemFacts, counts: Posterior) -> Posterior:
    """Where nobody has an item twice, none has more than there are users."""
    sizes = facts.read_sizes()
    if facts.repeats or facts.exact or sizes is None:
        return counts
    most = sizes.most_users
    mean, median, low, high = (np.minimum(part, most) for part in counts.parts()[:4])
    return Posterior(mean, median, low, high, counts.variance)


def _totals(bins: Binned) -> list[Total]:
    deviation = bins.law.std()
    return [
        Total(np.flatnonzero(bins.groups == group), float(value), deviation)
        for group, value in enumerate(bins.values)
    ]


def _blended(
    facts: ItemFacts, counts: Posterior, calibration: Calibration, usual: float
) -> Blend | None:
    """The head's items; None without a head, and where it says nothing."""
    if facts.head is None or not len(facts.head.places):
        return None
    places = facts.head.places
    mean, variance = counts.mean[places], counts.variance[places]
    common = calibration.common[places]
    return blend(facts.head, mean, variance, common, repeats=facts.repeats, usual=usual)


def _put_within_sizes(facts: ItemFacts, summary: Summary, own: Posterior, whole: Posterior) -> None:
    """Not more in all than users have records."""
    sizes = facts.read_sizes()
    if sizes is None or not sizes.reliable:
        return
    said = np.zeros(facts.size, dtype=np.bool_)
    said[summary.places] = True
    if facts.head is not None:
        said[facts.head.places] = True
    within(sizes.records, said, own, whole)


def _put_crowd(crowd: Chosen, own: Posterior, whole: Posterior, level: Fraction) -> None:
    """The crowd as measured: no bound touched it."""
    found = flat_posterior(crowd.units, crowd.law, level).times(float(crowd.law.unit))
    mean = np.maximum(crowd.values, 0.0)
    found = Posterior(mean, mean, found.low, found.high, found.variance)
    own.put(crowd.places, found)
    whole.put(crowd.places, found)
