"""From what a release says about its items to an estimate of each."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from crowdtally.estimation.bounded import bounded_counts
from crowdtally.estimation.calibrating import Calibration, Total, calibrate
from crowdtally.estimation.estimates import ItemEstimates
from crowdtally.estimation.facts import Binned, Chosen, ItemFacts, Summary
from crowdtally.estimation.heads import Blend, blend, total_of
from crowdtally.estimation.posteriors import LEVEL, Posterior
from crowdtally.estimation.sparse_mass import within
from crowdtally.estimation.truncated import flat_posterior
from crowdtally.estimation.widening import normal, widened

_SCATTER = 0.27
"""Of the share that is lost: how far counts scatter around their calibration, relative to them."""


def estimate_items(facts: ItemFacts, level: Fraction = LEVEL) -> ItemEstimates:
    """An estimate of every item, from whatever was measured.

    The table gives bounded counts (``bounded``), totals that were hardly bounded say what they
    stand for (``calibrating``), and items that were measured directly are blended in (``heads``).
    """
    bounded = bounded_counts(facts, level)
    calibration, lost = _calibration(facts, bounded)
    factors = calibration.factors
    counts = bounded.times(factors)
    blended = _blended(facts, counts, calibration)
    scatter = _SCATTER * lost if blended is None else max(_SCATTER * lost, blended.scatter)
    own = widened(counts, scatter * counts.mean, level)
    whole = widened(own, calibration.common * own.mean, level)
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


def _calibration(facts: ItemFacts, bounded: Posterior) -> tuple[Calibration, float]:
    """How bounded counts become counts, and the share that bounding is expected to lose."""
    sizes = facts.read_sizes()
    if facts.exact or sizes is None or facts.theta is None:
        return Calibration.none(facts.size), 0.0
    kept = sizes.kept(facts.theta)
    totals = [] if facts.bins is None else _totals(facts.bins)
    head = None if facts.head is None or facts.repeats else total_of(facts.head)
    return calibrate(bounded.mean, kept, totals, head), 1 - kept


def _totals(bins: Binned) -> list[Total]:
    deviation = bins.law.std()
    return [
        Total(np.flatnonzero(bins.groups == group), float(value), deviation)
        for group, value in enumerate(bins.values)
    ]


def _blended(facts: ItemFacts, counts: Posterior, calibration: Calibration) -> Blend | None:
    """The head's items; None without a head, and where it says nothing."""
    if facts.head is None or not len(facts.head.places):
        return None
    places = facts.head.places
    mean, variance = counts.mean[places], counts.variance[places]
    return blend(facts.head, mean, variance, calibration.common[places], repeats=facts.repeats)


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
