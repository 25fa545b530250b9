"""Counts as distributions: over all cells, and over contexts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

REPLACED = 0.01
"""What a count that is not above 0 is taken for, in both vectors."""


def kl(truth: NDArray[Any], estimate: NDArray[Any]) -> float:
    """D(original‖released) = Σ p·ln(p/q), with the natural logarithm.

    Counts that are not above 0 are taken for 0.01 in both vectors, which then are normalised.

    >>> round(kl(np.array([3, 1]), np.array([1.0, 1.0])), 6)
    0.130812
    """
    original, released = _normalised(truth), _normalised(estimate)
    return _divergence(original, released)


def kl_reversed(truth: NDArray[Any], estimate: NDArray[Any]) -> float:
    """D(released‖original) = Σ q·ln(q/p), of the same two vectors.

    >>> round(kl_reversed(np.array([3, 1]), np.array([1.0, 1.0])), 6)
    0.143841
    """
    original, released = _normalised(truth), _normalised(estimate)
    return _divergence(released, original)


def _normalised(counts: NDArray[Any]) -> NDArray[np.float64]:
    values = np.asarray(counts, dtype=np.float64).ravel()
    values = np.where(values > 0, values, REPLACED)
    return np.asarray(values / values.sum(), dtype=np.float64)


def _divergence(of: NDArray[np.float64], against: NDArray[np.float64]) -> float:
    # 0 at the least: of equal vectors rounding may leave something of either sign.
    return max(float((of * np.log(of / against)).sum()), 0.0)


def context_distance(truth: NDArray[Any], estimate: NDArray[Any]) -> float | None:
    """The total variation ½·Σ|p − q| between the shares of the contexts, 0 … 1.

    A context's share is the total of its cells over that of all; a total that is not above 0 is
    taken for 0. None without contexts, where nothing was counted, and where no context has an
    estimated total above 0.

    >>> context_distance(np.array([[3, 1]]), np.array([[1.0, 1.0]]))
    0.25
    """
    if truth.ndim < 2 or truth.shape[1] < 2:
        return None
    shares = [_shares(truth), _shares(estimate)]
    if shares[0] is None or shares[1] is None:
        return None
    return float(np.abs(shares[0] - shares[1]).sum() / 2)


def _shares(table: NDArray[Any]) -> NDArray[np.float64] | None:
    totals = np.maximum(np.asarray(table, dtype=np.float64).sum(axis=0), 0.0)
    whole = totals.sum()
    return np.asarray(totals / whole, dtype=np.float64) if whole > 0 else None
