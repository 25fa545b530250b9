"""Sums over many cells: a public workload, the same for every method and every run.

An error is Σ|error| / Σ true over all queries of a workload, so that queries whose true answer is
0 or nearly 0 do not decide it. None where every true answer is 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdtally.lab.metrics.cells import errors

SEED = 20150
"""Of both workloads."""
SHUFFLES = 5
PER_SHUFFLE = 20
"""Each shuffle of the cells is cut into so many subsets, of N/20 cells each: 100 in all."""
RANGES = 100
"""Ranges of cells in the order of the domain, both ends uniform: a third of the cells on average.
"""

Places = NDArray[np.int64]


def subsets(cells: int) -> Iterator[tuple[Places, Places]]:
    """Shuffled cells, and where in them each subset begins; fewer subsets where cells are few."""
    rng = np.random.default_rng(SEED)
    number = min(PER_SHUFFLE, cells)
    starts = np.arange(number) * cells // number
    for _ in range(SHUFFLES):
        yield rng.permutation(cells), starts


def ranges(cells: int) -> tuple[Places, Places]:
    """The first cell of each range, and the one after its last."""
    ends = np.random.default_rng(SEED).integers(0, cells, size=(2, RANGES))
    return ends.min(axis=0), ends.max(axis=0) + 1


def subset_error(truth: NDArray[Any], estimate: NDArray[Any]) -> float | None:
    """Σ|error| / Σ true over 100 random subsets, each of a twentieth of the cells.

    >>> subset_error(np.full(40, 10), np.full(40, 11.0))
    0.1
    """
    off, true, wrong = errors(truth, estimate).ravel(), np.ravel(truth), 0.0
    for shuffled, starts in subsets(true.size):
        wrong += float(np.abs(np.add.reduceat(off[shuffled], starts)).sum())
    return _over(wrong, SHUFFLES * float(true.sum()))  # each shuffle has every cell once


def range_error(
    truth: NDArray[Any], estimate: NDArray[Any], answers: NDArray[np.float64] | None = None
) -> float | None:
    """Σ|error| / Σ true over 100 random ranges.

    Args:
        truth: the true counts.
        estimate: the estimated ones, which are added up.
        answers: what a reader is told for each range of :func:`ranges`, where that is something
            else than the sum of its cells.

    >>> range_error(np.full(40, 10), np.full(40, 11.0))
    0.1
    """
    true = in_ranges(truth)
    found = in_ranges(estimate) if answers is None else answers
    return _over(float(np.abs(found - true).sum()), float(true.sum()))


def in_ranges(values: NDArray[Any]) -> NDArray[np.float64]:
    """The sum of the values in each range."""
    flat = np.ravel(values)
    low, high = ranges(flat.size)
    upto = np.concatenate(([0], np.cumsum(flat)))
    return np.asarray(upto[high] - upto[low], dtype=np.float64)


def _over(wrong: float, true: float) -> float | None:
    return wrong / true if true > 0 else None
