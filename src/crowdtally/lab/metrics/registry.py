"""Every metric by name, and all of them for one table of one run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from crowdtally.errors import UsageError
from crowdtally.lab.metrics import cells, distributions, lists, queries


@dataclass(frozen=True, eq=False)
class Compared:
    """A table beside its truth, both in the order of the domain."""

    truth: NDArray[Any]
    """The exact, unbounded counts of the same kind."""
    estimate: NDArray[np.float64]
    """What a reader would take for each of them."""
    contexts: int = 1
    """How many combinations of contexts each item has in this table: the last numbers fastest."""
    kept: float | None = None
    """The total of the bounded counts, before noise; None for a method that bounds nobody."""
    answers: NDArray[np.float64] | None = None
    """What a reader is told for each range of the workload; None for the sums of the cells."""

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
    """What tables and options call it."""
    words: str
    """What it is, for people."""
    formula: str
    """How it is computed; t is the truth, e the estimate."""
    better: Literal["lower", "higher"]
    """Which way is better."""
    needs_k: bool
    """Whether it is about a list of k."""
    compute: Callable[[Compared, int], float | None]
    """The number; None where it is not defined. The k of a metric without lists is ignored."""


def _metric(
    name: str,
    words: str,
    formula: str,
    compute: Callable[[Compared], float | None],
    better: Literal["lower", "higher"] = "lower",
) -> Metric:
    return Metric(name, words, formula, better, False, lambda c, _: compute(c))


_ALL = (
    _metric("mse", "mean squared error", "mean (e − t)²", lambda c: cells.mse(c.truth, c.estimate)),
    _metric(
        "kl",
        "divergence of the released from the true distribution, D(original‖released)",
        "Σ p·ln(p/q); p, q: t, e with values ≤ 0 replaced by 0.01, normalised",
        lambda c: distributions.kl(c.truth, c.estimate),
    ),
    _metric(
        "kl_reversed",
        "the same the other way round, D(released‖original)",
        "Σ q·ln(q/p)",
        lambda c: distributions.kl_reversed(c.truth, c.estimate),
    ),
    Metric(
        "precision",
        "share of the true top k that are on the released list of k",
        "|top k of t ∩ top k of e| / |top k of t|, averaged over contexts",
        "higher",
        True,
        lambda c, k: lists.precision(c.truth, c.estimate, k),
    ),
    _metric("mae", "mean absolute error", "mean |e − t|", lambda c: cells.mae(c.truth, c.estimate)),
    _metric(
        "mre",
        "mean relative error",
        "mean |e − t| / max(t, 1)",
        lambda c: cells.mre(c.truth, c.estimate),
    ),
    Metric(
        "top_mae",
        "mean absolute error of the true top k",
        "mean of |e − t| over the top k of t, averaged over contexts",
        "lower",
        True,
        lambda c, k: lists.top_mae(c.truth, c.estimate, k),
    ),
    Metric(
        "top_mre",
        "mean relative error of the true top k",
        "mean of |e − t| / max(t, 1) over the top k of t, averaged over contexts",
        "lower",
        True,
        lambda c, k: lists.top_mre(c.truth, c.estimate, k),
    ),
    _metric(
        "subset_error",
        "relative error of sums over random subsets of the cells",
        "Σ |Σe − Σt| / Σ Σt over 100 subsets of N/20 cells",
        lambda c: queries.subset_error(c.truth, c.estimate),
    ),
    _metric(
        "range_error",
        "relative error of sums over random ranges of the cells",
        "Σ |Σe − Σt| / Σ Σt over 100 ranges, both ends uniform",
        lambda c: queries.range_error(c.truth, c.estimate, c.answers),
    ),
    _metric(
        "reduction",
        "share of the true total that is left once users are bounded",
        "total of the bounded counts / Σt",
        lambda c: _reduction(c),
        "higher",
    ),
    _metric(
        "context_distance",
        "distance between the true and the released shares of the contexts (total variation)",
        "½ Σ |share of t − share of e| over the contexts",
        lambda c: distributions.context_distance(c.truth, c.estimate),
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


def _reduction(compared: Compared) -> float | None:
    total = float(compared.truth.sum())
    return compared.kept / total if compared.kept is not None and total > 0 else None
