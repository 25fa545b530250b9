"""Estimates of a release of auto: every item, and the total."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import hypot, sqrt

import numpy as np

from crowdtally.inference.empirical_bayes import within
from crowdtally.inference.facts import AutoFacts, Chosen, Noisy
from crowdtally.inference.heads import LOST, Head, blended
from crowdtally.inference.items import ItemEstimates, from_summary
from crowdtally.inference.mixing import posterior
from crowdtally.inference.posterior import LEVEL, Floats, Posterior, normal_reach
from crowdtally.inference.rows import RowLengths
from crowdtally.laws.gaussian import GaussianNoise
from crowdtally.laws.laplace import DiscreteLaplace

# Rows longer than a bound were scaled down to it, and noise was added. The noise is removed by
# empirical Bayes. What scaling took away is put back by one factor, which follows from the lengths
# of the rows, and where rows are long also from a nearly unbounded total and a measured head.

FEWEST = 30
"""Of fewer items, nothing is learned about a prior."""
_LOST_REPEATS = 0.6
"""``LOST`` where a user may have an item several times: heavy users repeat more."""
_LOST_SIGHT = 3.0
"""A larger relative error says no more than this one."""
_HALF = 0.01
"""Where so little is lost, half of it may be the noise of the lengths."""


@dataclass(frozen=True)
class Whole:
    """The sum of all items."""

    mean: float
    deviation: float
    low: float
    high: float
    """An interval; records of rows that were too few to be seen reach above it alone."""


@dataclass(frozen=True, eq=False)
class AutoEstimates:
    items: ItemEstimates
    total: Whole
    factors: Floats
    """What a noisy count of the table, less its noise, is multiplied by to become a count of all
    records. Counts of short rows are added as they are."""
    scatter: float
    """How far such a count is off by itself, relative to it."""
    common: float
    """How far all of them are off together, relative to them."""


def estimate_auto(facts: AutoFacts, level: Fraction = LEVEL) -> AutoEstimates:
    """An estimate of every item and of their sum."""
    if isinstance(facts.items, Chosen):
        return _of_summary(facts, facts.items, level)
    table = facts.items if facts.cells is None else joined(facts.items, facts.cells)
    of_rows = _of_long_rows if facts.path == "long" else _of_whole_rows
    return of_rows(facts, table, level)


def joined(items: Noisy, cells: Noisy) -> Noisy:
    """Items measured twice, by themselves and as sums of their cells: by inverse variance."""
    one, two = items.std**-2, cells.std**-2 / cells.values.shape[1]
    values = (one * items.values + two * cells.values.sum(axis=1)) / (one + two)
    part, law = Fraction(one / (one + two)), items.law
    if isinstance(law, GaussianNoise):
        law = replace(law, variance=law.variance * part)
    elif isinstance(law, DiscreteLaplace):  # nearly: the table has most of the weight
        law = replace(law, scale=law.scale * Fraction(sqrt(part)))
    return Noisy(values, law, items.bound)


def _left(table: Noisy, level: Fraction, *, rare: bool = False) -> Posterior:
    """What scaling left of each item.

    Args:
        table: as measured.
        level: of the interval.
        rare: whether most counts are thought to be small. What a prior makes of noise is scaled up
            with the counts: so it makes less of it.
    """
    y, unit = table.values, float(table.law.unit)
    if len(y) < FEWEST:
        mean = np.maximum(y, 0.0)
        found = Posterior(mean, mean, mean, mean, np.full(len(y), table.std**2))
    else:
        found = posterior(y / unit, table.law, level=level, few=FEWEST, rare=rare)
    return found.reaching(y, float(table.law.half_width(level) * table.law.unit))


def _of_whole_rows(facts: AutoFacts, table: Noisy, level: Fraction) -> AutoEstimates:
    """Where most rows were counted whole: one factor puts back what was cut off long ones."""
    lengths, reach = facts.scaled, normal_reach(level)
    left = _left(table, level)
    short, short_sum, short_std, split = Posterior.empty(facts.size), 0.0, 0.0, 0.0
    if facts.short is not None:
        short, short_std, split = _left(facts.short, level), facts.short.std, facts.short.bound
        short_sum = max(float(facts.short.values.sum()), 0.0)
    lost = 1 - lengths.kept(table.bound)[0]
    kept, shift = lengths.kept(table.bound, split)
    unseen = lengths.unseen(table.bound)
    halved = facts.path == "rich" and lost < _HALF
    if halved:
        kept, unseen = (1 + kept) / 2, unseen + lost / 2 * lengths.records
    long_sum = max(float(table.values.sum()), 1.0) / kept
    total = short_sum + long_sum
    error = hypot(
        sqrt(facts.size) * hypot(table.std / kept, short_std),
        lengths.doubt(table.bound) * lengths.records,
        0.7 * (1 - kept) * long_sum,
    )
    mass = max(float(left.mean.sum()), 1e-9)
    factor = float(np.clip((total - short.mean.sum()) / mass, 1.0, 4 / kept))
    scatter = facts.kappa * shift if facts.path == "rich" else LOST * lost
    common = 0.0 if halved or lost <= 0.003 else min(error / max(factor * mass, 1.0), 0.5)
    long, whole = factor * left.mean, short.mean + factor * left.mean
    heavy = (1 / kept - 1) * np.maximum(long, 1.0)  # records that come in rows of many
    own = short.variance + factor**2 * left.variance + (scatter * long) ** 2 + heavy
    spread, more = np.exp(reach * hypot(scatter, common)), reach * np.sqrt(heavy)
    found = Posterior(
        whole,
        short.median + factor * left.median,
        short.low + factor * left.low / spread - more,
        short.high + factor * left.high * spread + more + unseen * whole / total,
        own,
    )
    items = _estimates(lengths, found, (common * long) ** 2, short.mean + left.mean)
    sums = _whole(lengths, total, error, unseen, reach)
    return AutoEstimates(items, sums, np.full(facts.size, factor), scatter, common)


def _of_long_rows(facts: AutoFacts, table: Noisy, level: Fraction) -> AutoEstimates:
    """Where much was cut off: a measured total says how much, a head from which items."""
    lengths, reach = facts.lengths, normal_reach(level)
    kept = 0.5 if lengths.weak else facts.scaled.kept(table.bound)[0]
    left, lost = _left(table, level, rare=True), 1 - kept
    if facts.zoom is not None:
        _look_again(left, facts.zoom, level)
    mass = max(float(left.mean.sum()), 1e-9)
    total, relative = _total(facts, table, kept, mass)
    usual, doubt = total / mass, hypot(relative, 0.1 * min(1.0, 2 * lost))
    scatter = (_LOST_REPEATS if facts.repeats else LOST) * lost
    mean, factor, head = left.mean * usual, np.full(facts.size, usual), None
    if facts.head is not None and len(facts.head.places):
        at = facts.head.places
        variance = left.variance[at] * usual**2
        head = blended(facts.head, mean[at], variance, lost, repeats=facts.repeats)
    if head is not None:
        factor = _bent(left.mean, table.scale, total, relative, head)
        mean = factor * left.mean
        mean[head.places] = head.mean
        if not facts.repeats:
            scatter = max(scatter, head.scatter / 2)
    factors = np.where(left.mean > 1e-6 * table.scale, mean / np.maximum(left.mean, 1e-9), factor)
    factors = np.clip(factors, usual / 4, usual * 4)
    unseen = lengths.unseen(table.bound if facts.total is None else facts.total.bound)
    sums = _whole(lengths, total, doubt * total, unseen, reach)
    heavy = _heavy(facts, table.bound, kept) * np.maximum(mean, 1.0)
    more, spread = reach * np.sqrt(heavy), float(np.exp(reach * hypot(scatter, doubt)))
    above = max(spread, sums.high / total) if lengths.weak else spread
    found = Posterior(
        mean,
        left.median * factors,
        left.low * factors / spread - more,
        left.high * factors * above + more,
        factors**2 * left.variance + (scatter * mean) ** 2 + heavy,
    )
    common = (doubt * mean) ** 2
    if head is not None:
        ends = head.interval(scatter, reach)
        found.put(head.places, Posterior(head.mean, head.mean, *ends, head.variance))
        common[head.places] = (head.doubt(scatter) * head.mean) ** 2
    items = _estimates(lengths, found, common, left.mean)
    return AutoEstimates(items, sums, factor, scatter, relative)


def _look_again(left: Posterior, zoom: Chosen, level: Fraction) -> None:
    """Take what rows of these items alone say of each, and what the table says of their sum.

    The prior is that of the second values: what chose the items is in the noise of the first.
    """
    again = _left(zoom, level)
    sums = float(left.mean[zoom.places].sum()), float(again.mean.sum())
    if min(sums) > 0:
        left.put(zoom.places, again.times(sums[0] / sums[1]))


def _total(facts: AutoFacts, table: Noisy, kept: float, mass: float) -> tuple[float, float]:
    """N̂ and its relative error, from the total and the table's sum; the table's alone if weak."""
    lengths = facts.lengths
    if lengths.weak:  # nothing says what was lost: nothing is scaled up
        return max(mass, 1.0), 0.5
    seen = max(float(table.values.sum()), 1.0)
    noise = sqrt(facts.size) * table.std / seen
    values = [seen / kept]
    errors = [hypot(noise, facts.scaled.doubt(table.bound), 0.3 * (1 - kept))]
    if facts.total is not None:
        value, error = _measured_total(lengths, facts.total)
        values, errors = [*values, value], [*errors, error]
    weights = np.array(errors) ** -2.0
    relative = float(np.clip(float(weights.sum()) ** -0.5, 0.005, _LOST_SIGHT))
    return max(float(np.average(values, weights=weights)), mass, 1.0), relative


def _measured_total(lengths: RowLengths, total: Noisy) -> tuple[float, float]:
    """All records by the total cell, and how far that is off, relative to it."""
    kept = lengths.kept(total.bound)[0]
    value = max(float(total.values.sum()) / kept, 1.0)
    error = hypot(total.std / lengths.records, lengths.doubt(total.bound), 0.5 * (1 - kept))
    return value, max(error, 1e-9)


def _heavy(facts: AutoFacts, bound: float, kept: float) -> float:
    """How much more counts vary than those of users who are as likely to have an item or not.

    A user whose row is scaled adds less than one, and stands for many records.
    """
    users, mean = facts.lengths.users_in, facts.lengths.mean_row
    share = np.minimum(1.0, bound / np.maximum(mean, 1.0))
    squares = float((users * mean * share**2).sum()) / facts.lengths.records
    return max(squares / kept**2 - 1, 0.0) * (4 if facts.repeats else 1)


def _bent(z: Floats, scale: float, total: float, relative: float, head: Head) -> Floats:
    """A factor for each item: of its own size to a power, and such that all is the total.

    Scaling takes more of the items that heavy users like. The power is such that the head's items
    would get what was measured of them, but only as far as that is known.
    """
    steps, at = np.log(np.maximum(z / scale, 1.0)), head.places
    far = np.flatnonzero(steps)  # few: the others stay as they are, whatever the power
    wanted, near, low, high = float(head.mean.sum()), float(z.sum() - z[far].sum()), -1.0, 1.0
    for _ in range(30):
        power = (low + high) / 2
        whole = near + float(z[far] @ np.exp(power * steps[far]))
        inside = float(z[at] @ np.exp(power * steps[at]))
        low, high = (power, high) if inside * total < wanted * whole else (low, power)
    doubt = hypot(relative, head.sum_deviation / max(wanted, 1.0))
    power = power / (1 + (doubt / 0.15) ** 2) if abs(power) < 0.99 else 0.0
    factor = np.exp(power * steps)
    rest = float((factor * z).sum() - (factor * z)[at].sum())
    return np.asarray(factor * (max(total - wanted, 0.02 * total) / max(rest, 1e-9)))


def _of_summary(facts: AutoFacts, summary: Chosen, level: Fraction) -> AutoEstimates:
    """Of a domain that is too large to list: every cell's posterior over what its bound left."""
    lengths, reach = facts.lengths, normal_reach(level)
    kept = 0.5 if lengths.weak else facts.scaled.kept(summary.bound)[0]
    own = from_summary(summary, facts.size, level)
    bounded, factor = own.mean.copy(), 1.0 if lengths.weak else 1 / kept
    if lengths.weak:
        total, relative = max(float(bounded.sum()), 1.0), 0.5
    else:
        total, relative = lengths.records, hypot(lengths.doubt(0), LOST * (1 - kept))
        if facts.total is not None:
            total, relative = _measured_total(lengths, facts.total)
        own, seen = own.times(factor), np.zeros(facts.size, dtype=np.bool_)
        seen[summary.places] = True  # millions of small means must not add up to more than all
        within(total, seen, own)
    scatter = (_LOST_REPEATS if facts.repeats else LOST) * (1 - kept)
    spread = np.exp(reach * hypot(scatter, relative))
    variance = own.variance + (scatter * own.mean) ** 2
    found = Posterior(own.mean, own.median, own.low / spread, own.high * spread, variance)
    items = _estimates(lengths, found, (relative * own.mean) ** 2, bounded)
    unseen = lengths.unseen(0 if facts.total is None else facts.total.bound)
    sums = _whole(lengths, total, relative * total, unseen, reach)
    return AutoEstimates(items, sums, np.full(facts.size, factor), scatter, relative)


def _estimates(
    lengths: RowLengths, found: Posterior, common: Floats, bounded: Floats
) -> ItemEstimates:
    """Estimates that lie in their intervals.

    Args:
        lengths: of the rows.
        found: each item by itself.
        common: what errors that all items share add to the variances.
        bounded: the counts that bounding left.
    """
    mean, median, low, high, own = found.parts()
    low, high = np.clip(low, 0.0, mean), np.maximum(high, mean)
    median, deviation = np.clip(median, low, high), np.sqrt(own + common)
    return ItemEstimates(
        mean, median, low, high, deviation, np.sqrt(own), bounded, calibrated=not lengths.weak
    )


def _whole(lengths: RowLengths, total: float, error: float, unseen: float, reach: float) -> Whole:
    low, high = max(total - reach * error, 0.0), total + reach * error + unseen
    if lengths.weak:  # nobody knows how much was lost: perhaps all that the bins leave room for
        high = max(high, lengths.records + lengths.unseen(0))
    return Whole(total, error, low, high)
