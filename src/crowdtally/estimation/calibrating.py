"""From bounded counts to counts: what bounding took away, from totals that it hardly touched.

Bounding takes more from items that heavy users have. So an item's count is c = z·exp(a + b·x), z
its bounded count and x = log z − t₀, clipped to the range in which totals were measured. a and b
are fitted to the measured totals by least squares, with a prior from the histogram of sizes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_SIZES = 0.03
"""How far the histogram's own share may be off; less where less can be lost."""
_UNKNOWN = 1.0
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
    spread = min(_SIZES, max(lost, hidden, 1e-6)) + 0.3 * lost if reliable else _UNKNOWN
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
