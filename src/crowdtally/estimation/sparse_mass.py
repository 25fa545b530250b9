"""What is left for the cells of a summary that are not told apart from noise.

Each of millions of such cells has a small posterior mean, and nothing in the summary says what they
add up to: their sum would be mostly noise. How many records there are was measured, by the sizes of
users' rows. So that many, less what is told apart, is all that the others have together.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdtally.estimation.posteriors import Floats, Ints, Posterior

Mask = NDArray[np.bool_]

_STEPS = 50
_LEAST = 1e-12
"""Of the factor that odds are lowered by."""


def within(records: float, said: Mask, own: Posterior, whole: Posterior) -> None:
    """Make estimates of a summary's cells add up to so many records at most, in place.

    A cell has nobody, or some count c: its mean p·c and its variance p(1−p)c² tell p. All odds
    p/(1−p) are lowered by one factor, so that cells with more evidence lose less. Intervals of
    single cells stay as they are.

    Args:
        records: how many there are.
        said: whether something is said of a cell; all others have the same estimate.
        own: what is to be changed, with the errors of each cell by itself.
        whole: the same with the errors that all cells share.
    """
    others, unsure = ~said, whole.low <= 0
    known, first = np.flatnonzero(said & unsure), np.flatnonzero(others)[:1]
    cells = np.concatenate([known, first])
    times = np.concatenate([np.ones(len(known)), np.full(len(first), float(others.sum()))])
    mean = whole.mean[cells]
    left = max(records - float(whole.mean[said & ~unsure].sum()), 0.0)
    if float(times @ mean) <= left:
        return
    likely = mean**2 / np.maximum(mean**2 + own.variance[cells], 1e-300)
    count = mean / np.maximum(likely, 1e-300)
    lowered = _lowered(likely, times * count, left)
    ratio = lowered / np.maximum(likely, 1e-300)
    variance = lowered * (1 - lowered) * count**2
    shared = np.maximum(whole.variance[cells] - own.variance[cells], 0.0) * ratio**2
    _put(own, known, others, (mean * ratio, variance))
    _put(whole, known, others, (mean * ratio, variance + shared))


def _lowered(likely: Floats, mass: Floats, left: float) -> Floats:
    """The probabilities with lower odds, whose mass is what is left."""
    low, high = np.log(_LEAST), 0.0
    for _ in range(_STEPS):
        factor = np.exp((low + high) / 2)
        found = factor * likely / (1 - likely + factor * likely)
        if float(mass @ found) > left:
            high = np.log(factor)
        else:
            low = np.log(factor)
    return np.asarray(found)


def _put(found: Posterior, known: Ints, others: Mask, parts: tuple[Floats, Floats]) -> None:
    for array, values in zip((found.mean, found.variance), parts, strict=True):
        array[known] = values[: len(known)]
        if len(values) > len(known):
            array[others] = values[-1]
    found.median[known] = np.minimum(found.median[known], found.mean[known])
    found.median[others] = np.minimum(found.median[others], found.mean[others])
