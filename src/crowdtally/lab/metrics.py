"""How good an estimate is, in the numbers of the papers: each a function of truth and estimate.

::

    cells          mse, mae, mre
    lists          precision, top_mae, top_mre: of the true top k
    distributions  kl, kl_reversed, context_distance
    queries        subset_error, range_error: a public workload
    registry       every metric by name, and all of them for one table

A metric that is not defined on a table (a list longer than the table, a relative error where
nothing was counted) is None, never NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from crowdtally.errors import UsageError

# Errors of single cells: squared, absolute, relative.

SANITY_BOUND = 1.0
"""The least count that an error is divided by: public, one record."""


def errors(truth: NDArray[Any], estimate: NDArray[Any]) -> NDArray[np.float64]:
    """Estimate − truth, cell by cell."""
    return np.asarray(estimate, dtype=np.float64) - np.asarray(truth, dtype=np.float64)


def mse(truth: NDArray[Any], estimate: NDArray[Any]) -> float:
    """The mean squared error of all cells.

    >>> mse(np.array([3, 0]), np.array([1.0, 4.0]))
    10.0
    """
    return float(np.square(errors(truth, estimate)).mean())


def mae(truth: NDArray[Any], estimate: NDArray[Any]) -> float:
    """The mean absolute error of all cells.

    >>> mae(np.array([3, 0]), np.array([1.0, 4.0]))
    3.0
    """
    return float(np.abs(errors(truth, estimate)).mean())


def relative(
    truth: NDArray[Any], estimate: NDArray[Any], sanity: float = SANITY_BOUND
) -> NDArray[np.float64]:
    """Each cell's absolute error over its true count, or over ``sanity`` if that is larger."""
    return np.asarray(np.abs(errors(truth, estimate)) / np.maximum(truth, sanity), dtype=np.float64)


def mre(truth: NDArray[Any], estimate: NDArray[Any], sanity: float = SANITY_BOUND) -> float:
    """The mean relative error of all cells.

    >>> mre(np.array([4, 0]), np.array([1.0, 2.0]))
    1.375
    """
    return float(relative(truth, estimate, sanity).mean())


# Counts as distributions: over all cells, and over contexts.

REPLACED = 0.01
"""Replaces counts that are not above 0, in both vectors."""


def kl(truth: NDArray[Any], estimate: NDArray[Any]) -> float:
    """D(original‖released) = Σ p·ln(p/q), with the natural logarithm.

    Counts that are not above 0 are replaced by 0.01 in both vectors, which then are normalised.

    >>> round(kl(np.array([3, 1]), np.array([1.0, 1.0])), 6)
    0.130812
    """
    p, q = _normalised(truth), _normalised(estimate)
    # 0 at the least: of equal vectors rounding may leave something of either sign.
    return max(float((p * np.log(p / q)).sum()), 0.0)


def kl_reversed(truth: NDArray[Any], estimate: NDArray[Any]) -> float:
    """D(released‖original) = Σ q·ln(q/p), of the same two vectors.

    >>> round(kl_reversed(np.array([3, 1]), np.array([1.0, 1.0])), 6)
    0.143841
    """
    return kl(estimate, truth)


def _normalised(counts: NDArray[Any]) -> NDArray[np.float64]:
    values = np.asarray(counts, dtype=np.float64).ravel()
    values = np.where(values > 0, values, REPLACED)
    return np.asarray(values / values.sum(), dtype=np.float64)


def context_distance(truth: NDArray[Any], estimate: NDArray[Any]) -> float | None:
    """The total variation ½·Σ|p − q| between the shares of the contexts, 0 … 1.

    A context's share is the total of its cells over that of all; a negative total counts as 0.
    None without contexts, and where no context has a total above 0, true or estimated.

    >>> context_distance(np.array([[3, 1]]), np.array([[1.0, 1.0]]))
    0.25
    """
    if truth.ndim < 2 or truth.shape[1] < 2:
        return None
    tables = (np.asarray(table, dtype=np.float64) for table in (truth, estimate))
    true, released = (np.maximum(table.sum(axis=0), 0.0) for table in tables)
    if not (true.sum() > 0 and released.sum() > 0):
        return None
    return float(np.abs(true / true.sum() - released / released.sum()).sum() / 2)


# Top lists: which items are on them, and how far off their counts are.
#
# A table of items is one list. A table of items in contexts, with an axis for each of the two,
# has a list for each context, and the metric is the mean over the contexts.

_SPREAD = np.uint64(0x9E3779B97F4A7C15)


def in_ties(places: NDArray[np.int64]) -> NDArray[np.uint64]:
    """The order of equal items: a fixed number for each place, not the place itself.

    Public lists are often sorted by popularity. If ties kept that order, a method most of whose
    estimates are 0 or one threshold would have the right list for free.

    >>> np.argsort(in_ties(np.arange(5))).tolist()
    [4, 1, 3, 0, 2]
    """
    return (places.astype(np.uint64) + np.uint64(1)) * _SPREAD  # modulo 2^64


def on_top(values: NDArray[Any], k: int) -> NDArray[np.bool_]:
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

    Where fewer than k items have a count, the share of those. None where there are fewer than k
    items, or none has a count; a context without records is left out of the mean.

    >>> precision(np.array([9, 8, 1, 0]), np.array([7.0, 0.0, 3.0, 2.0]), 2)
    0.5
    """
    return None if k > len(truth) else _mean_on_top(on_top(estimate, k), truth, k)


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


def _mean_on_top(values: NDArray[Any], truth: NDArray[Any], k: int) -> float | None:
    if k > len(truth):
        return None
    true = on_top(truth, k)
    wanted = np.atleast_1d(true.sum(axis=0))
    total = np.atleast_1d(np.where(true, values, 0.0).sum(axis=0))
    met = wanted > 0
    return float((total[met] / wanted[met]).mean()) if met.any() else None


# Sums over many cells: a public workload, the same for every method and every run.
#
# An error is Σ|error| / Σ true over all queries of a workload, so that queries whose true answer
# is 0 or nearly 0 do not decide it. None where every true answer is 0.

SEED = 20150
"""Of both workloads."""
SHUFFLES = 5
PER_SHUFFLE = 20
"""Each shuffle of the cells is cut into so many subsets, of N/20 cells each: 100 in all."""
RANGES = 100
"""Ranges of cells in the order of the domain, both ends uniform: a third of them on average."""

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
        answers: a reader's answer for each range of :func:`ranges`, where that is not the sum of
            its cells.

    >>> range_error(np.full(40, 10), np.full(40, 11.0))
    0.1
    """
    true = in_ranges(truth)
    released = in_ranges(estimate) if answers is None else answers
    return _over(float(np.abs(released - true).sum()), float(true.sum()))


def in_ranges(values: NDArray[Any]) -> NDArray[np.float64]:
    """The sum of the values in each range."""
    flat = np.ravel(values)
    low, high = ranges(flat.size)
    upto = np.concatenate(([0], np.cumsum(flat)))
    return np.asarray(upto[high] - upto[low], dtype=np.float64)


def _over(wrong: float, true: float) -> float | None:
    return wrong / true if true > 0 else None


# Every metric by name, and all of them for one table of one run.


@dataclass(frozen=True, eq=False)
class Compared:
    """A table beside its truth, both in the order of the domain."""

    truth: NDArray[Any]
    """The exact, unbounded counts of the same kind."""
    estimate: NDArray[np.float64]
    contexts: int = 1
    """How many combinations of contexts each item has in this table: the last numbers fastest."""
    kept: float | None = None
    """The total of the bounded counts, before noise; None for a method that bounds nobody."""
    answers: NDArray[np.float64] | None = None
    """A reader's answer for each range of the workload; None for the sums of the cells."""

    def __post_init__(self) -> None:
        sizes = (np.size(self.truth), np.size(self.estimate))
        if sizes[0] != sizes[1] or sizes[0] == 0 or sizes[0] % self.contexts:
            raise UsageError(
                f"a truth of {sizes[0]} cells and an estimate of {sizes[1]}, of {self.contexts} "
                "contexts for each item, cannot be compared: both must have every cell."
            )
        for name in ("truth", "estimate"):
            flat = np.ravel(getattr(self, name))
            shaped = flat if self.contexts == 1 else flat.reshape(-1, self.contexts)
            object.__setattr__(self, name, shaped)


@dataclass(frozen=True)
class Metric:
    """One number that says how good an estimate is."""

    name: str
    words: str
    formula: str
    """How it is computed; t is the truth, e the estimate."""
    compute: Callable[[Compared, int], float | None]
    """None where it is not defined; metrics without lists ignore k."""
    better: Literal["lower", "higher"] = "lower"
    needs_k: bool = False
    """Whether it is about a list of k."""


def _reduction(compared: Compared) -> float | None:
    total = float(compared.truth.sum())
    return compared.kept / total if compared.kept is not None and total > 0 else None


_ALL = (
    Metric("mse", "mean squared error", "mean (e − t)²", lambda c, _: mse(c.truth, c.estimate)),
    Metric(
        "kl",
        "divergence of the released from the true distribution, D(original‖released)",
        "Σ p·ln(p/q); p, q: t, e with values ≤ 0 replaced by 0.01, normalised",
        lambda c, _: kl(c.truth, c.estimate),
    ),
    Metric(
        "kl_reversed",
        "the same the other way round, D(released‖original)",
        "Σ q·ln(q/p)",
        lambda c, _: kl_reversed(c.truth, c.estimate),
    ),
    Metric(
        "precision",
        "share of the true top k that are on the released list of k",
        "|top k of t ∩ top k of e| / |top k of t|, averaged over contexts",
        lambda c, k: precision(c.truth, c.estimate, k),
        better="higher",
        needs_k=True,
    ),
    Metric("mae", "mean absolute error", "mean |e − t|", lambda c, _: mae(c.truth, c.estimate)),
    Metric(
        "mre",
        "mean relative error",
        "mean |e − t| / max(t, 1)",
        lambda c, _: mre(c.truth, c.estimate),
    ),
    Metric(
        "top_mae",
        "mean absolute error of the true top k",
        "mean of |e − t| over the top k of t, averaged over contexts",
        lambda c, k: top_mae(c.truth, c.estimate, k),
        needs_k=True,
    ),
    Metric(
        "top_mre",
        "mean relative error of the true top k",
        "mean of |e − t| / max(t, 1) over the top k of t, averaged over contexts",
        lambda c, k: top_mre(c.truth, c.estimate, k),
        needs_k=True,
    ),
    Metric(
        "subset_error",
        "relative error of sums over random subsets of the cells",
        "Σ |Σe − Σt| / Σ Σt over 100 subsets of N/20 cells",
        lambda c, _: subset_error(c.truth, c.estimate),
    ),
    Metric(
        "range_error",
        "relative error of sums over random ranges of the cells",
        "Σ |Σe − Σt| / Σ Σt over 100 ranges, both ends uniform",
        lambda c, _: range_error(c.truth, c.estimate, c.answers),
    ),
    Metric(
        "reduction",
        "share of the true total that is left once users are bounded",
        "total of the bounded counts / Σt",
        lambda c, _: _reduction(c),
        better="higher",
    ),
    Metric(
        "context_distance",
        "distance between the true and the released shares of the contexts (total variation)",
        "½ Σ |share of t − share of e| over the contexts",
        lambda c, _: context_distance(c.truth, c.estimate),
    ),
)

METRICS: dict[str, Metric] = {metric.name: metric for metric in _ALL}
"""Every metric by its name, in the order of tables."""


def measured(
    compared: Compared, ks: Sequence[int] = (10,)
) -> Iterator[tuple[str, int | None, float]]:
    """Name, k and value of each metric that is defined on this table; others are left out."""
    for metric in METRICS.values():
        for k in ks if metric.needs_k else (None,):
            value = metric.compute(compared, k or 0)
            if value is not None:
                yield metric.name, k, value
