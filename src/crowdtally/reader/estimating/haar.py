"""Answers from integer Haar coefficients: the total, and left − right of every node of a heap.

Coefficient 0 is the total; coefficient j ≥ 1 belongs to node j of a heap whose root is 1. Halving
sums and differences, from the root down, gives every count back.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crowdtally.errors import UsageError

Floats = NDArray[np.float64]


def inverse(coefficients: ArrayLike) -> Floats:
    """The 2^k counts of a complete list of 2^k coefficients.

    >>> inverse([10, 4, 1, -1]).tolist()
    [4.0, 3.0, 1.0, 2.0]
    """
    given = np.asarray(coefficients, dtype=np.float64)
    levels = given.size.bit_length() - 1
    if given.ndim != 1 or given.size != 1 << max(levels, 0):
        raise UsageError(
            f"a complete transform has 1, 2, 4, 8, … coefficients: received {given.size}."
        )
    sums = given[:1]
    for level in range(levels):
        difference = given[1 << level : 2 << level]
        sums = np.stack([(sums + difference) / 2, (sums - difference) / 2], axis=1).ravel()
    return sums


def range_weights(levels: int, low: int, high: int) -> dict[int, float]:
    """The coefficients that the sum of the values low..high−1 depends on, with their weights.

    Node j with leaves on both sides enters with (leaves of the range in its left half − in its
    right half)/(leaves of j), the total with (leaves of the range)/2^k: at most 2k of them beside
    the total. :func:`~crowdtally.reader.estimating.sampled.linear_sum` takes them.

    >>> range_weights(2, 0, 1)
    {0: 0.25, 1: 0.25, 2: 0.5}
    """
    if not 0 <= low < high <= 1 << levels:
        raise UsageError(
            f"a range must hold at least one of {1 << levels} values: received positions {low} to "
            f"{high - 1}."
        )
    weights = {0: (high - low) / (1 << levels)}
    for level in range(levels):
        width = 1 << (levels - level)
        for end in {low // width, (high - 1) // width}:  # others lie wholly inside or outside
            start, half = end * width, end * width + width // 2
            left = max(0, min(high, half) - max(low, start))
            right = max(0, min(high, start + width) - max(low, half))
            if left != right:
                weights[(1 << level) + end] = (left - right) / width
    return dict(sorted(weights.items()))
