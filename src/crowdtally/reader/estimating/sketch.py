"""Answers from a count sketch: each row gives an estimate; their mean is taken.

A row's estimate of a cell is its bucket times its sign. It is unbiased, over the choice of the
hashes and the noise; its variance is (‖M‖₂² − the cell's own square)/B plus that of the noise. The
mean square of a row's noisy buckets is ‖M‖₂²/B plus that noise, so the release itself tells it.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crowdtally.core.deadline import go_on
from crowdtally.core.hierarchy import Sketching
from crowdtally.errors import UsageError
from crowdtally.reader.estimating.sampled import Estimate


def sketch_sum(buckets: ArrayLike, cells: NDArray[Any], sketching: Sketching) -> Estimate:
    """The sum of the counts of ``cells``, in units; one cell is a point query.

    Args:
        buckets: all published buckets, in order: R·B values.
        cells: the cells' numbers, each once.
        sketching: the public hashes.
    """
    table = np.asarray(buckets, dtype=np.float64)
    if table.size != sketching.size:
        raise UsageError(f"the sketch has {sketching.size} buckets: received {table.size}.")
    table = table.reshape(sketching.rows, sketching.buckets)
    estimates, variances = [], []
    for row in range(sketching.rows):
        go_on()
        bucket, sign = sketching.places(cells, row)
        weights = np.bincount(bucket, weights=sign, minlength=sketching.buckets)
        estimates.append(float(weights @ table[row]))
        variances.append(float((weights**2).sum() * (table[row] ** 2).mean()))
    error = sqrt(sum(variances)) / sketching.rows
    return Estimate(float(np.mean(estimates)), error, _WORDS)


_WORDS = (
    "the true counts (of the records that were kept), over the noise and the public choice of "
    "hashes; cells that share a bucket are the larger part of the error where the sketch is small"
)
