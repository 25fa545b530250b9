"""From what a release says about its items to an estimate of each."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import inf

import numpy as np

from crowdtally.estimation.bounded import bounded_counts
from crowdtally.estimation.calibrating import Calibration, Total, calibrate
from crowdtally.estimation.estimates import ItemEstimates
from crowdtally.estimation.facts import Binned, Chosen, Floats, ItemFacts, Summary
from crowdtally.estimation.heads import Blend, blend, total_of
from crowdtally.estimation.posteriors import LEVEL, Posterior
from crowdtally.estimation.sparse_mass import within
from crowdtally.estimation.truncated import flat_posterior
from crowdtally.estimation.widening import normal, scattered

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
