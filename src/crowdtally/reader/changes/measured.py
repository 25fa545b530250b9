"""What one release measured of every item, without a prior: values, and all that may be off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf

import numpy as np

from crowdtally.core.counts import Keeping
from crowdtally.inference.facts import Chosen, ItemFacts
from crowdtally.inference.items import table_calibration
from crowdtally.laws.base import NoiseLaw
from crowdtally.laws.cumulants import Floats, cumulants
from crowdtally.laws.interval import IntervalNoise
from crowdtally.reader.changes.tails import Noise


@dataclass(frozen=True)
class Whole:
    """The sum over all items, as a release knows it."""

    value: float
    """The sum."""
    deviation: float
    """Of its error."""


@dataclass(frozen=True, eq=False)
class Measured:
    """Values of all items in one release. All arrays are equally long."""

    low: Floats
    high: Floats
    """The value lies within: both are the same where it was published, and −∞ … ∞ at worst."""
    noises: Sequence[Noise]
    """The noise in them; each item has that of one, times its factor, and 0 of the others."""
    counts: Floats
    """The noisy counts as released; NaN where they were left out."""
    sampled: float = 0.0
    """C: what one sampled record counts at most; 0 where nothing was sampled."""
    own: Floats = field(default_factory=lambda: np.zeros(1))
    """The relative error that is each item's own."""
    shared: Floats = field(default_factory=lambda: np.zeros(1))
    """The relative error that all items share."""
    whole: Whole | None = None
    """The sum over all items; None where it is not known."""
    drawn_together: bool = False
    """Whether the items' noises are drawn together."""

    def __len__(self) -> int:
        return len(self.low)

    @property
    def middle(self) -> Floats:
        """The values, where left-out ones are as large as they may be."""
        found = np.where(np.isfinite(self.high), self.high, 0.0)
        return np.maximum(np.where(self.low == self.high, self.low, found), 0.0)

    @property
    def noise_variance(self) -> Floats:
        """Of the noise of each."""
        parts = [one.at(np.zeros(len(self)))[2] for one in self.noises]
        return np.asarray(np.sum(parts, axis=0), dtype=np.float64)


def of_table(
    values: Floats,
    law: NoiseLaw,
    *,
    cells: int = 1,
    draws: int = 1,
    sampled: float = 0.0,
    whole: Whole | None = None,
) -> Measured:
    """Of a table of which every cell was published.

    Args:
        values: of each item: the sum of its cells.
        law: the noise of one cell.
        cells: how many cells of one draw that sum has.
        draws: how many such draws.
        sampled: what one sampled record counts at most.
        whole: the sum over all items.
    """
    noise = Noise(cumulants(law, cells, draws), np.ones(len(values)))
    together = isinstance(law, IntervalNoise)
    return Measured(values, values, [noise], values, sampled, whole=whole, drawn_together=together)


def bounds_of(published: Floats, keeping: Keeping, unit: float) -> tuple[Floats, Floats]:
    """Between what each noisy count lies: NaN was left out, so it is smaller than the rule lets go.

    One that is at least κ, and at least τ, is kept for certain. Of one-sided rules negative counts
    are never kept, however large.
    """
    most = max(float(keeping.cut), float(keeping.threshold or 0)) * unit
    least = -most if keeping.sides == "two" else -inf
    left_out = np.isnan(published)
    return np.where(left_out, least, published), np.where(left_out, most, published)


def of_summary(
    published: Floats,
    law: NoiseLaw,
    keeping: Keeping,
    *,
    sampled: float = 0.0,
    whole: Whole | None = None,
) -> Measured:
    """Of a table that left cells out: (items, cells of each) noisy counts, NaN of those."""
    low, high = bounds_of(published, keeping, float(law.unit))
    noise = Noise(cumulants(law, published.shape[1]), np.ones(len(published)))
    return Measured(
        low.sum(axis=1), high.sum(axis=1), [noise], published.sum(axis=1), sampled, whole=whole
    )


def of_chosen(chosen: Chosen, size: int, draws: int = 1) -> Measured:
    """Of items that were measured apart, all users of them, whatever others are."""
    low, high, counts = np.full(size, -inf), np.full(size, inf), np.full(size, np.nan)
    for part in (low, high, counts):
        part[chosen.places] = chosen.values
    noise = Noise(cumulants(chosen.law, draws=draws), np.ones(size))
    together = isinstance(chosen.law, IntervalNoise)
    return Measured(low, high, [noise], counts, drawn_together=together)


def of_auto(facts: ItemFacts, whole: Whole | None) -> list[Measured]:
    """Of a release of ``auto``: its table, and the head where one was measured.

    The table's noisy counts are calibrated, item by item; the crowd is as measured, since the
    table does not hold it.
    """
    found = table_calibration(facts)
    factors, shared = found.factors.copy(), found.common.copy()
    if not found.known:  # then nobody knows how far off it is
        shared = np.ones(facts.size)
    low, high, counts, law = _listed(facts)
    low, high = low * factors, high * factors
    own, noises = np.full(facts.size, found.scatter), list[Noise]()
    together = isinstance(law, IntervalNoise)
    crowd = facts.crowd
    if crowd is not None:
        counts = counts.copy()
        for measured in (low, high, counts):
            measured[crowd.places] = crowd.values
        for unbounded in (factors, own, shared):
            unbounded[crowd.places] = 0.0
        inside = np.zeros(facts.size)
        inside[crowd.places] = 1.0
        noises.append(Noise(cumulants(crowd.law), inside))
        together = together or isinstance(crowd.law, IntervalNoise)
    noises.append(Noise(cumulants(law), factors))
    base = Measured(
        low, high, noises, counts, own=own, shared=shared, whole=whole,
        drawn_together=together,
    )  # fmt: skip
    head = facts.head
    if head is None or facts.repeats or not len(head.places):
        return [base]  # with repeats, a head counts users and the table records
    return [base, of_chosen(head, facts.size, draws=int(getattr(head.law, "times", 1)))]


def _listed(facts: ItemFacts) -> tuple[Floats, Floats, Floats, NoiseLaw]:
    """Between what the noisy counts of all items lie, the counts themselves, and their law."""
    if facts.table is not None:
        return facts.table.values, facts.table.values, facts.table.values, facts.table.law
    summary = facts.summary
    if summary is None:
        raise TypeError("a release of auto has a table of its items, or a summary of one")
    published = np.full(facts.size, np.nan)
    published[summary.places] = summary.values
    low, high = bounds_of(published, summary.keeping, float(summary.law.unit))
    return low, high, published, summary.law
