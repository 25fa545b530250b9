"""Systematic rounding: from a probability of each item to a choice of items, by one uniform offset.

Items lie side by side, each as wide as its probability, and a ruler with a mark at every whole
number is laid on them at a uniform offset. An item under a mark is chosen. Its probability is its
width, exactly; and among any run of neighbours as many are chosen as their widths sum to, rounded
down or up. All of it in integers: widths are multiples of 2^-40.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdtally.errors import UsageError
from crowdtally.noise.draws import Draws

ONE = 1 << 40
"""The width that means certainty."""

Widths = NDArray[np.int64]


def in_widths(probabilities: NDArray[np.float64]) -> Widths:
    """Probabilities as whole numbers of 2^-40, to the nearest.

    >>> in_widths(np.array([0.0, 0.5, 1.0])).tolist() == [0, ONE // 2, ONE]
    True
    """
    return np.rint(np.clip(probabilities, 0.0, 1.0) * ONE).astype(np.int64)


def systematic(widths: Widths, draws: Draws) -> NDArray[np.int64]:
    """The positions that are chosen: each with probability width/ONE, exactly.

    Args:
        widths: whole numbers in 0..ONE, for each item in its order; their sum is below 2^63.
        draws: where the one offset comes from.
    """
    if len(widths) and not (widths.min() >= 0 and widths.max() <= ONE):
        raise UsageError("a width must lie in 0..2^40.")
    (drawn,) = draws.uniforms_below(np.array([ONE], dtype=np.uint64)).tolist()
    ends = np.cumsum(widths)
    # Marks lie at offset, offset + ONE, …: how many are below an item's end, and below its start.
    below = (ends + (ONE - 1 - int(drawn))) // ONE
    return np.flatnonzero(np.diff(below, prepend=np.int64(0)))
