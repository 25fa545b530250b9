"""Row lengths, best bound, what bounding lost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf, log, sqrt
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crowdtally.errors import UsageError

Floats = NDArray[np.float64]
Norm = Literal["l1", "l2"]
"""What is bounded of a row: its sum, or the root of the sum of its squares."""

BINS = 13
"""Bin k holds the users with 2^k … 2^(k+1) − 1 records; the last is open."""
_STANDS_OUT = 1.2
"""A bin is kept if it is so many standard deviations above 0, next to others that are."""
_LEAST_PEAK, _LEAST_USERS = 3.5, 5.0
"""In standard deviations of one bin: below either, the histogram says nothing."""
_MEAN = 1.38
"""The mean size in bin k ≥ 1 over 2^k: sizes thin out within a bin."""
_WITHIN = 1 + (np.arange(16) + 0.5) / 16
"""Sizes within a bin, over 2^k, evenly."""
_THINNING = (1 - 12 * (1.5 - _MEAN) * (_WITHIN - 1.5)) / 16
"""The share of a bin's users at each: falling, so that their mean is the bin's."""
_REPEATING = 0.6
"""A row of R records that repeat is about so long in L2, as a power of R."""
_UNSEEN = 0.5
"""Users, in standard deviations of one bin, that may be in a bin that does not stand out."""
_UNKNOWN = 0.5
"""The share that is taken for lost where the histogram says nothing."""


@dataclass(frozen=True)
class Sizes:
    """What the histogram says.

    >>> sizes = read_sizes([100, 50, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], 1.0)
    >>> sizes.reliable, sizes.users, sizes.records, round(sizes.lost(1), 3)
    (True, 150.0, 238.0, 0.37)
    """

    reliable: bool
    """Whether the histogram stands above its noise."""
    users: float
    """n̂: at least 1."""
    records: float
    """N̂."""
    bins: tuple[float, ...]
    """Users per bin; 0 outside the run of bins that stand out."""
    deviation: float = 0.0
    """Of the noise of one bin."""

    @property
    def only_ones(self) -> bool:
        """Whether only bin 0 stands out: nobody has more than one record."""
        return self.bins[0] > 0 and not any(self.bins[1:])

    def lost(self, bound: float, power: float = 1.0) -> float:
        """The share of the records that is lost where each row is scaled to ``bound``.

        Args:
            bound: of a row's length.
            power: a row of R records is R^power long, see :func:`power_of`.
        """
        return float(self.lost_at(np.array([bound], dtype=np.float64), power)[0])

    def lost_at(self, bounds: Floats, power: float = 1.0) -> Floats:
        """The same for each of several bounds."""
        if not self.reliable:
            return np.full(bounds.shape, _UNKNOWN)
        mass = sum(users * _lost(k, bounds, power) for k, users in enumerate(self.bins) if users)
        return np.minimum(mass / self.records, 1.0)

    def kept(self, bound: float, power: float = 1.0) -> float:
        """The share that is left."""
        return 1 - self.lost(bound, power)

    @property
    def most_users(self) -> float:
        """Two standard deviations above n̂; without limit where the histogram says nothing."""
        kept = sum(1 for users in self.bins if users)
        return self.users + 2 * self.deviation * sqrt(kept) if self.reliable else inf

    def hidden(self, bound: float, longest: float, power: float = 1.0) -> float:
        """The share that may be lost unseen: of users in the bin above the run, too few to show.

        Args:
            bound: what each row is scaled to.
            longest: no row has more records.
            power: a row of R records is R^power long.
        """
        above = max((k for k, users in enumerate(self.bins) if users), default=BINS) + 1
        if not self.reliable or above >= BINS or 2**above > longest:
            return 0.0
        row = min(_MEAN * 2.0**above, longest)
        lost = max(row - bound * float(row ** (1 - power)), 0.0)
        return _UNSEEN * self.deviation * lost / self.records


def power_of(norm: Norm, *, repeats: bool) -> float:
    """p, where a row of R records is about R^p long.

    In L1 it is R long, in L2 √R where all its records are of different items, and R where all are
    of one. Where records repeat, no histogram says how often; in real data p was .52 to .76.

    >>> power_of("l1", repeats=True), power_of("l2", repeats=False), power_of("l2", repeats=True)
    (1.0, 0.5, 0.6)
    """
    if norm == "l1":
        return 1.0
    return _REPEATING if repeats else 0.5


def _lost(k: int, bounds: Floats, power: float) -> Floats:
    """Records that a user of bin k loses: bin 0 has one record exactly, and loses none.

    In L1, above 2^k it falls as the cube of the distance to 2^(k+1): few users of a bin are near
    its end. A row of R records that is R^p long keeps bound·R^(1−p) of them.
    """
    if k == 0:
        return np.zeros_like(bounds)
    if power < 1:
        rows = 2.0**k * _WITHIN[:, None]
        lost = np.maximum(rows - bounds * rows ** (1 - power), 0.0)
        return np.asarray(_THINNING @ lost)
    least = 2.0**k
    beyond = (_MEAN - 1) * least * np.maximum(2 - bounds / least, 0.0) ** 3
    return np.where(bounds <= least, _MEAN * least - bounds, beyond)


def read_sizes(counts: ArrayLike, std: float) -> Sizes:
    """What 13 noisy counts say, the noise of each having the standard deviation ``std``."""
    found = np.asarray(counts, dtype=np.float64)
    if found.shape != (BINS,):
        raise UsageError(f"a histogram of sizes has {BINS} bins: received {found.shape}.")
    bins = _standing_out(found.tolist(), _STANDS_OUT * std)
    users = max(1.0, sum(bins))
    records = bins[0] + sum(_MEAN * 2.0**k * bins[k] for k in range(1, BINS))
    reliable = max(bins) >= max(_LEAST_PEAK * std, 1e-9) and users >= _LEAST_USERS * std
    return Sizes(reliable, users, max(records, 1.0), bins, std)


def _standing_out(counts: Sequence[float], least: float) -> tuple[float, ...]:
    """The run of bins around the largest that are all above ``least``; 0 elsewhere."""
    first = last = max(range(len(counts)), key=counts.__getitem__)
    if counts[first] <= least:
        return (0.0,) * len(counts)
    while first > 0 and counts[first - 1] > least:
        first -= 1
    while last + 1 < len(counts) and counts[last + 1] > least:
        last += 1
    return tuple(count if first <= k <= last else 0.0 for k, count in enumerate(counts))


LARGEST = 1 << 13
"""No bound is larger: the histogram says nothing about larger rows."""
LIGHT = 0.03
"""Where a smaller share of the records is lost, bounding is not worth calibrating."""
_CLOSE = 1.02
"""The smallest bound whose error is within 2% of the least is taken."""
_CAP_UNKNOWN = 64


def best_theta(sizes: Sizes, epsilon: float, items: int, *, light: bool, power: float = 1.0) -> int:
    """θ, the sum or the norm that each row of the table is scaled to.

    Args:
        sizes: the histogram.
        epsilon: what the table is charged, or what its ρ is worth.
        items: how many items there are.
        light: whether almost nothing is lost (:func:`is_light`), so that nothing is calibrated.
        power: how long rows are, see :func:`~crowdtally.inference.rows.power_of`.
    """
    if not sizes.reliable:
        return 1
    per_item = sizes.records / items
    if light:
        return _least(
            lambda theta, lost: 3 * (lost * per_item) ** 2 + 2 * (theta / epsilon) ** 2,
            sizes, 1.0, power,
        )  # fmt: skip
    found = _least(
        lambda theta, lost: _calibrated(theta, lost, epsilon, per_item), sizes, _CLOSE, power
    )
    least = 2 if power == 1.0 and not sizes.only_ones else 1
    return max(found, least)


def expected_error(theta: float, lost: float, epsilon: float, per_item: float) -> float:
    """The squared error of an item that :func:`best_theta` chooses θ by.

    Args:
        theta: θ.
        lost: the share of the records that is lost at θ.
        epsilon: what the table is charged, or what its ρ is worth.
        per_item: records of an item, on average.
    """
    return float(_calibrated(np.array([theta]), np.array([lost]), epsilon, per_item)[0])


def _calibrated(theta: Floats, lost: Floats, epsilon: float, per_item: float) -> Floats:
    """The squared error of an item once what bounding took away is calibrated."""
    noise = 1.2 * (theta / (epsilon * np.maximum(1 - lost, 1e-9))) ** 2
    # after calibration about 0.27 of what is lost is still wrong from item to item
    return np.asarray(noise + 6 * (0.27 * lost * per_item) ** 2)


def is_light(sizes: Sizes, epsilon: float, items: int, *, power: float = 1.0) -> bool:
    """Whether less than 3% of the records are lost at the best θ: then no totals are measured."""
    theta = best_theta(sizes, epsilon, items, light=False, power=power)
    return sizes.lost(theta, power) < LIGHT


def best_cap(sizes: Sizes, groups: int, epsilon: float) -> int:
    """C, what each row is scaled to where only ``groups`` totals are measured with ``epsilon``."""
    if not sizes.reliable:
        return _CAP_UNKNOWN
    return _least(
        lambda cap, lost: (lost * sizes.records) ** 2 + 2 * groups * (cap / epsilon) ** 2,
        sizes, 1.0, 1.0,
    )  # fmt: skip


def _least(
    error: Callable[[Floats, Floats], Floats], sizes: Sizes, close: float, power: float
) -> int:
    """The smallest bound whose error is at most ``close`` times the least."""
    bounds = np.arange(1, LARGEST + 1, dtype=np.float64)
    errors = error(bounds, sizes.lost_at(bounds, power))
    return int(np.argmax(errors <= close * errors.min())) + 1


# From bounded counts to counts: what bounding took away, from totals that it hardly touched.
#
# Bounding takes more from items that heavy users have. So an item's count is c = z·exp(a + b·x),
# z its bounded count and x = log z − t₀, clipped to the range in which totals were measured. a
# and b are fitted to the measured totals by least squares, with a prior from the histogram of
# sizes.

Ints = NDArray[np.int64]

_SIZES = 0.03
"""How far the histogram's own share may be off; less where less can be lost."""
_UNKNOWN_SCALE = 1.0
"""The same, as a logarithm, where it says nothing."""
_MODEL = 0.04
"""The share of a predicted total that the two parameters may miss."""
_STEPS = 30
_MOST_TERMS = 1 << 14
"""Of the sums that a step of the fit adds up."""
_EDGE = 2.0
"""Standard deviations that the sum of all counts may differ from the measured total."""


@dataclass(frozen=True, eq=False)
class Total:
    """The measured count of a group of items."""

    places: Ints
    value: float
    deviation: float
    """Of its noise."""


@dataclass(frozen=True, eq=False)
class Calibration:
    """How bounded counts become counts."""

    factors: Floats
    """What each bounded count is multiplied by."""
    common: Floats
    """The standard deviation of the logarithm of each factor: one error for all items."""
    a: float
    b: float
    known: bool = True
    """Whether anything says what bounding took away."""

    @classmethod
    def none(cls, size: int) -> Calibration:
        """Counts stay as they are."""
        return cls(np.ones(size), np.zeros(size), 0.0, 0.0, known=False)


def calibrate(
    bounded: Floats,
    kept: float,
    totals: Sequence[Total],
    head: Total | None,
    *,
    hidden: float = 0.0,
    reliable: bool = True,
) -> Calibration:
    """Fit the factors.

    Args:
        bounded: z, the posterior mean of each item's bounded count.
        kept: the share of the records that bounding is expected to leave.
        totals: of groups that share no item.
        head: the measured total of the largest items, where it counts the same thing.
        hidden: the share that may be lost beside what is expected.
        reliable: whether anything is known of ``kept``.
    """
    kept = min(max(kept, 1e-3), 1.0)
    lost = 1 - kept
    start = np.array([-log(kept), 0.0])
    spread = min(_SIZES, max(lost, hidden, 1e-6)) + 0.3 * lost if reliable else _UNKNOWN_SCALE
    spreads = np.array([spread, max(0.15 * min(1.0, 2 * lost), 1e-6)])
    usable = [total for total in totals if bounded[total.places].sum() > 0]
    slopes = _slopes(bounded, usable)
    parts = [*usable, *([head] if head is not None and bounded[head.places].sum() > 0 else [])]
    found, covariance = _fit(bounded, slopes, parts, start, spreads)
    found[0] += _to_the_edge(bounded, slopes, usable, found)
    factors = np.exp(found[0] + found[1] * slopes)
    common = np.sqrt(
        covariance[0, 0] + 2 * covariance[0, 1] * slopes + covariance[1, 1] * slopes**2
    )
    return Calibration(factors, common, float(found[0]), float(found[1]))


def _slopes(bounded: Floats, totals: Sequence[Total]) -> Floats:
    """Log z − t₀, within the range of the groups' means; 0 where there are no two groups."""
    if len(totals) < 2:
        return np.zeros(len(bounded))
    means = [log(bounded[total.places].mean()) for total in totals]
    logs = np.clip(np.log(np.maximum(bounded, 1e-300)), min(means), max(means))
    inside = np.concatenate([total.places for total in totals])
    centre = np.average(logs[inside], weights=bounded[inside])
    return np.asarray(logs - centre, dtype=np.float64)


def _fit(
    bounded: Floats, slopes: Floats, totals: Sequence[Total], start: Floats, spreads: Floats
) -> tuple[Floats, Floats]:
    """The most likely (a, b) by Gauss and Newton, and their covariance."""
    prior = np.diag(1 / spreads**2)
    sums = [_gathered(bounded[total.places], slopes[total.places]) for total in totals]
    expected = np.array([float(z.sum()) * np.exp(start[0]) for z, _ in sums])
    noise = np.array([total.deviation for total in totals])
    weights = 1 / np.maximum(noise**2 + (_MODEL * expected) ** 2, 1e-300)
    values = np.array([total.value for total in totals])
    found, information = start.copy(), prior
    for _ in range(_STEPS if totals else 0):
        terms = [z * np.exp(np.clip(found[0] + found[1] * x, -50, 50)) for z, x in sums]
        predicted = np.array([float(term.sum()) for term in terms])
        bent = [float(term @ x) for term, (_, x) in zip(terms, sums, strict=True)]
        jacobian = np.stack([predicted, np.array(bent)], axis=1)
        information = prior + jacobian.T @ (weights[:, None] * jacobian)
        gradient = jacobian.T @ (weights * (values - predicted)) - prior @ (found - start)
        step = np.linalg.solve(information, gradient)
        found = found + np.clip(step, -0.5, 0.5)
        if np.abs(step).max() < 1e-10:
            break
    return found, np.asarray(np.linalg.inv(information), dtype=np.float64)


def _gathered(counts: Floats, slopes: Floats) -> tuple[Floats, Floats]:
    """Of many items, sums over those whose slopes nearly agree: a step costs as much for all.

    Each sum has the mean slope of what it holds, so that what is lost is of the second order.
    """
    if len(counts) <= _MOST_TERMS:
        return counts, slopes
    low, high = float(slopes.min()), float(slopes.max())
    bins = ((slopes - low) * ((_MOST_TERMS - 1) / max(high - low, 1e-300))).astype(np.int64)
    sums = np.bincount(bins, counts, minlength=_MOST_TERMS).astype(np.float64)
    means = np.bincount(bins, counts * slopes, minlength=_MOST_TERMS) / np.maximum(sums, 1e-300)
    some = sums > 0
    return sums[some], means[some]


def _to_the_edge(bounded: Floats, slopes: Floats, totals: Sequence[Total], found: Floats) -> float:
    """What a must move by, so that all counts together are within reach of the measured total."""
    if not totals:
        return 0.0
    inside = np.concatenate([total.places for total in totals])
    mass = float((bounded[inside] * np.exp(found[0] + found[1] * slopes[inside])).sum())
    measured = sum(total.value for total in totals)
    reach = _EDGE * float(np.sqrt(sum(total.deviation**2 for total in totals)))
    least, most = max(measured - reach, 0.0), measured + reach
    if most <= 0 or least <= mass <= most:
        return 0.0
    return log((least if mass < least else most) / mass)
