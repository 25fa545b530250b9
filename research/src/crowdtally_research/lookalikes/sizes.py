"""How many records each user has: heavy-tailed, and exact where the papers print a number."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

_NODES = 50_000
"""Quantiles by which the law is fitted; the rest is made exact afterwards."""
_HALVINGS = 60


def records_per_user(
    users: int, records: int, *, fewest: int, most: int, spread: float
) -> NDArray[np.int64]:
    """Numbers of records of all users, in ascending order.

    Quantiles of a log-normal law cut to ``fewest … most``, whose median is fitted to the mean. What
    rounding leaves is given to, or taken from, users spread evenly over all.

    Args:
        users: how many, at least 2.
        records: what the numbers sum up to, exactly.
        fewest: the least number, which one user has.
        most: the largest number, which one user has.
        spread: the standard deviation of the logarithm, before it is cut.

    >>> records_per_user(8, 100, fewest=1, most=50, spread=1.0).tolist()
    [1, 2, 3, 5, 7, 11, 21, 50]
    """
    inner = users - 2
    rest = records - fewest - most
    if not inner * fewest <= rest <= inner * most:
        raise ValueError("no such numbers exist")
    low, high = _edges(fewest, most)
    median = _fitted(rest / max(inner, 1), min(inner, _NODES), low, high, spread)
    sizes = np.empty(users, dtype=np.int64)
    sizes[0], sizes[-1] = fewest, most
    sizes[1:-1] = _settled(_quantiles(inner, median, low, high, spread), rest, fewest, most)
    return sizes


def _edges(fewest: int, most: int) -> tuple[float, float]:
    return math.log(fewest - 0.5), math.log(most + 0.5)


def _quantiles(
    number: int, median: float, low: float, high: float, spread: float
) -> NDArray[np.int64]:
    """Evenly spaced quantiles of the cut law, rounded; ``median`` is that of the logarithm."""
    from scipy.special import ndtr, ndtri

    start, end = ndtr((low - median) / spread), ndtr((high - median) / spread)
    levels = start + (end - start) * ((np.arange(number) + 0.5) / max(number, 1))
    values = np.exp(np.clip(median + spread * ndtri(levels), low, high))
    return np.asarray(np.rint(values), dtype=np.int64)


def _fitted(mean: float, number: int, low: float, high: float, spread: float) -> float:
    """The logarithm's median for which the cut law has this mean."""
    below, above = low - 4 * spread, high + 4 * spread
    for _ in range(_HALVINGS):
        middle = (below + above) / 2
        too_small = number and _quantiles(number, middle, low, high, spread).mean() < mean
        below, above = (middle, above) if too_small else (below, middle)
    return (below + above) / 2


def _settled(sizes: NDArray[np.int64], total: int, fewest: int, most: int) -> NDArray[np.int64]:
    """The same numbers with the exact sum, still within ``fewest … most`` and in order."""
    sizes = np.clip(sizes, fewest, most)
    while lacking := total - int(sizes.sum()):
        step = 1 if lacking > 0 else -1
        movable = np.flatnonzero(sizes < most if step > 0 else sizes > fewest)
        chosen = min(abs(lacking), len(movable))
        # Evenly over those who can give or take: no part of the law is favoured.
        sizes[movable[np.arange(chosen) * len(movable) // chosen]] += step
    sizes.sort()
    return sizes
