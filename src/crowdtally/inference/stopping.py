"""Whether contexts differ enough to go on paying for them: one look at released values.

A first look, with half of the share of ε that contexts would take, shows large differences. Only
where this says so the other half is spent. See docs/decisions/0012.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdtally.laws.base import NoiseLaw
from crowdtally.laws.gaussian import GaussianNoise

Floats = NDArray[np.float64]

THRESHOLD = 0.5
"""Standard deviations above what noise alone gives. Contexts that do not differ pass in three cases
of ten, those that differ much fail in two of a hundred: who asks for rankings per context loses
more by a stop too many than by one too few."""
LAPLACE, GAUSSIAN = 5.0, 2.0
"""The variance of the square of such noise, in squares of its variance."""


def squares_of(law: NoiseLaw) -> float:
    """How far squares of one cell's noise scatter, in squares of its variance."""
    return GAUSSIAN if isinstance(law, GaussianNoise) else LAPLACE


def differ(
    values: Floats,
    deviation: float,
    shares: Floats,
    *,
    counts: Floats | None = None,
    squares: float = LAPLACE,
) -> bool:
    """Whether the contexts' columns differ by more than noise.

    Args:
        values: (rows, h), the released cells divided by g: the features' sums of step F without the
            anchors, or the head rows of step 9R.
        deviation: Of one cell's noise, divided by g.
        shares: (h,) of the contexts, as step 8 released them (``ContextFacts.shares``).
        counts: (rows,) the items' estimated counts for 9R, whose columns have sums of their own;
            None for features, which are centred.
        squares: how far squares of the noise scatter, see :func:`squares_of`.

    >>> even = np.outer([400.0, 300.0, 200.0, 100.0], [0.5, 0.5])
    >>> counts = even.sum(axis=1)
    >>> differ(even, 5.0, np.array([0.5, 0.5]), counts=counts)
    False
    >>> tilted = even + np.outer([60.0, -60.0, 60.0, -60.0], [1.0, -1.0])
    >>> differ(tilted, 5.0, np.array([0.5, 0.5]), counts=counts)
    True
    """
    return excess(values, deviation, shares, counts=counts, squares=squares) > THRESHOLD


def excess(
    values: Floats,
    deviation: float,
    shares: Floats,
    *,
    counts: Floats | None = None,
    squares: float = LAPLACE,
) -> float:
    """The score of "lifts have a variance" in its standard deviations under noise alone.

    The residuals are what is left of the cells after each row's own sum was divided over the
    contexts by their shares and, for 9R, each column's own sum over the items by their counts: a
    context of heavier users is no sign that tastes differ. Large cells weigh most.
    """
    rows, h = values.shape
    if h < 2 or not rows or deviation <= 0:
        return 0.0
    left = values - np.outer(values.sum(axis=1), shares)
    noise = np.broadcast_to((1 - shares) ** 2 + (h - 1) * shares**2, values.shape)
    size = np.broadcast_to(shares, values.shape)
    if counts is not None:
        parts = np.maximum(counts, 0.0) / max(float(np.maximum(counts, 0.0).sum()), 1e-300)
        left = left - np.outer(parts, left.sum(axis=0))
        noise = noise * ((1 - parts) ** 2 + (rows - 1) * parts**2)[:, None]
        size = size * parts[:, None]
    variance = np.maximum(noise * deviation**2, np.finfo(float).tiny)
    weight = size**2 / variance**2
    spread = np.sqrt(squares * float(np.sum((weight * variance) ** 2)))
    return float(np.sum(weight * (left**2 - variance)) / spread) if spread > 0 else 0.0
