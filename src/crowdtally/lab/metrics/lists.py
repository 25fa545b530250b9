"""Top lists: which items are on them, and how far off their counts are.

A table of items is a list of its own. A table of items in contexts, with an axis for each of the
two, has one list for each context, and what is found is averaged over the contexts.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdtally.errors import UsageError
from crowdtally.lab.metrics.cells import SANITY_BOUND, errors, relative

Mask = NDArray[np.bool_]

_SPREAD = np.uint64(0x9E3779B97F4A7C15)


def in_ties(places: NDArray[np.int64]) -> NDArray[np.uint64]:
    """What equal items are ordered by: a fixed number for each place, not the place itself.

    Public lists are often sorted by popularity. A method that tells few items apart, because most
    of its estimates are 0 or one threshold, would have the right list for free if ties went by
    their order.

    >>> np.argsort(in_ties(np.arange(5))).tolist()
    [4, 1, 3, 0, 2]
    """
    return (places.astype(np.uint64) + np.uint64(1)) * _SPREAD  # modulo 2^64


def on_top(values: NDArray[Any], k: int) -> Mask:
    """Which items are on the list of the k largest of each context, items along the first axis.

    An item without a count above 0 is on no list, so a list may have fewer than k.
    """
    items = len(values)
    if not 1 <= k <= items:
        raise UsageError(f"a list has 1 to {items} of the {items} items: received {k}.")
    table = np.ascontiguousarray(values.reshape(items, -1).T)  # (contexts, items)
    least = np.partition(table, items - k, axis=1)[:, items - k, None]
    listed = (table > least) & (table > 0)
    free = k - listed.sum(axis=1)
    context, item = np.nonzero((table == least) & (least > 0))
    order = np.lexsort((in_ties(item), context))
    context, item = context[order], item[order]
    place = np.arange(len(order)) - np.searchsorted(context, context)  # among equals
    taken = place < free[context]
    listed[context[taken], item[taken]] = True
    return np.asarray(listed.T.reshape(values.shape), dtype=np.bool_)


def precision(truth: NDArray[Any], estimate: NDArray[Any], k: int) -> float | None:
    """The share of the true top k that are on the released list of k.

    Where fewer than k items were met at all, the share of those. None where there are fewer than k
    items, or none was met; a context without records is left out of the average.

    >>> precision(np.array([9, 8, 1, 0]), np.array([7.0, 0.0, 3.0, 2.0]), 2)
    0.5
    """
    if k > len(truth):
        return None
    true, released = on_top(truth, k), on_top(estimate, k)
    wanted = np.atleast_1d(true.sum(axis=0))
    hits = np.atleast_1d((true & released).sum(axis=0))
    met = wanted > 0
    return float((hits[met] / wanted[met]).mean()) if met.any() else None


def top_mae(truth: NDArray[Any], estimate: NDArray[Any], k: int) -> float | None:
    """The mean absolute error of the true top k; None as for :func:`precision`.

    >>> top_mae(np.array([9, 8, 1]), np.array([7.0, 0.0, 3.0]), 2)
    5.0
    """
    return _mean_on_top(np.abs(errors(truth, estimate)), truth, k)


def top_mre(
    truth: NDArray[Any], estimate: NDArray[Any], k: int, sanity: float = SANITY_BOUND
) -> float | None:
    """The mean relative error of the true top k; None as for :func:`precision`.

    >>> top_mre(np.array([8, 4, 1]), np.array([6.0, 5.0, 3.0]), 2)
    0.25
    """
    return _mean_on_top(relative(truth, estimate, sanity), truth, k)


def _mean_on_top(off: NDArray[np.float64], truth: NDArray[Any], k: int) -> float | None:
    if k > len(truth):
        return None
    true = on_top(truth, k)
    wanted = np.atleast_1d(true.sum(axis=0))
    total = np.atleast_1d(np.where(true, off, 0.0).sum(axis=0))
    met = wanted > 0
    return float((total[met] / wanted[met]).mean()) if met.any() else None
