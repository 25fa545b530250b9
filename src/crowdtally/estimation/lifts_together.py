"""Lifts of items in several contexts taken as one, such as the weekend."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from crowdtally.estimation.contexts import SCATTER, UNMEASURED, ContextEstimates
from crowdtally.estimation.lifts import FoundLifts

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

_REACH = NormalDist().inv_cdf(0.975)


def lifts_together(estimates: ContextEstimates, places: Ints, inside: Mask) -> FoundLifts:
    """What is believed of the lifts of some items where the context is any of ``inside``.

    p_S = Σ_{j∈S} p_ij is off by Σ_k p_k·δ_k·(1{k∈S} − p_S), δ the relative errors before an item's
    parts were made to add up to 1: what the contexts of S have in common adds up, and what they
    have in common with all others cancels.
    """
    parts = estimates._parts(places)
    part, share = parts[:, inside].sum(axis=1), float(estimates.shares[inside].sum())
    if inside.sum() == 1:
        cells = estimates.at(places)
        (context,) = np.flatnonzero(inside)
        deviation = cells.lift_deviation[:, context]
    else:
        deviation = np.sqrt(_variance(estimates, places, parts, inside)) / share
    lift = part / share
    return _normal(lift, deviation, 1.0 / share)


def _normal(lift: Floats, deviation: Floats, most: float) -> FoundLifts:
    safe = np.maximum(deviation, 1e-9)
    low, high = lift - _REACH * safe, lift + _REACH * safe
    above = np.array([NormalDist().cdf(one) for one in ((lift - 1.0) / safe).tolist()])
    return FoundLifts(lift, np.maximum(low, 0.0), np.minimum(high, most), deviation, above)


def _variance(estimates: ContextEstimates, places: Ints, parts: Floats, inside: Mask) -> Floats:
    """Of p_S."""
    part = parts[:, inside].sum(axis=1)
    least = np.minimum(part, 1.0 - part)  # what is inside is what is not outside
    total = np.zeros(len(places))
    if estimates.tastes is not None and estimates.facts.tastes is not None:
        features = estimates.facts.tastes.features[places]
        own = np.stack([_along(one, parts, inside) for one in estimates.tastes.covariance], axis=1)
        total += (estimates._reach(places) ** 2 * features**2 * own).sum(axis=1)
    if estimates.measured is None:
        return np.asarray(total + (UNMEASURED * least) ** 2)
    found, rows = estimates.measured.found, estimates.rows[places]
    measured = rows >= 0
    widened = 1.0 + parts.shape[1] / len(found.mean)
    scatter = widened * _along(found.spread, parts, inside)
    total[~measured] += scatter[~measured]
    total[measured] *= (1 - found.gain[rows[measured]].min(axis=1)) ** 2
    factor = estimates.measured.factor[rows[measured]]
    relative = found.covariance[rows[measured]] / (factor[:, :, None] * factor[:, None, :])
    total[measured] += widened * _along(relative, parts[measured], inside)
    total[measured] += SCATTER * scatter[measured]
    _, of_lift = estimates._levels(places)
    levels = parts[:, inside] ** 2 * np.broadcast_to(of_lift, parts.shape)[:, inside]
    return np.asarray(total + np.minimum(levels.sum(axis=1), least**2 * of_lift.max()))


def _along(covariance: Floats, parts: Floats, inside: Mask) -> Floats:
    """(items,): the variance of Σ_k p_k·δ_k·(1{k∈S} − p_S), one covariance for all or for each."""
    weights = parts * (inside - parts[:, inside].sum(axis=1, keepdims=True))
    mixed = (
        weights @ covariance
        if covariance.ndim == 2
        else np.einsum("ik,ikj->ij", weights, covariance)
    )
    return np.asarray(np.maximum((mixed * weights).sum(axis=1), 0.0))
