"""Errors of single cells: squared, absolute, relative."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

SANITY_BOUND = 1.0
"""What a true count is at least taken for where an error is divided by it: public, one record."""


def errors(truth: NDArray[Any], estimate: NDArray[Any]) -> NDArray[np.float64]:
    """Estimate − truth, cell by cell."""
    return np.asarray(estimate, dtype=np.float64) - np.asarray(truth, dtype=np.float64)


def mse(truth: NDArray[Any], estimate: NDArray[Any]) -> float:
    """The mean of the squared errors over all cells.

    >>> mse(np.array([3, 0]), np.array([1.0, 4.0]))
    10.0
    """
    return float(np.square(errors(truth, estimate)).mean())


def mae(truth: NDArray[Any], estimate: NDArray[Any]) -> float:
    """The mean of the absolute errors over all cells.

    >>> mae(np.array([3, 0]), np.array([1.0, 4.0]))
    3.0
    """
    return float(np.abs(errors(truth, estimate)).mean())


def relative(
    truth: NDArray[Any], estimate: NDArray[Any], sanity: float = SANITY_BOUND
) -> NDArray[np.float64]:
    """Each cell's absolute error over its true count, which is taken for ``sanity`` at least."""
    found = np.abs(errors(truth, estimate)) / np.maximum(truth, sanity)
    return np.asarray(found, dtype=np.float64)


def mre(truth: NDArray[Any], estimate: NDArray[Any], sanity: float = SANITY_BOUND) -> float:
    """The mean of the relative errors over all cells.

    >>> mre(np.array([4, 0]), np.array([1.0, 2.0]))
    1.375
    """
    return float(relative(truth, estimate, sanity).mean())
