"""What bounding left of each item: the posterior of the table's own counts."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from crowdtally.errors import UsageError
from crowdtally.estimation.censored import sparse_posterior
from crowdtally.estimation.facts import Chosen, Floats, Ints, ItemFacts, Summary
from crowdtally.estimation.joint import Again
from crowdtally.estimation.likelihoods import Noise
from crowdtally.estimation.mixing import posterior
from crowdtally.estimation.posteriors import LEVEL, Posterior
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
