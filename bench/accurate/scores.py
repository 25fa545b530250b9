"""How good estimates are, beside the truth: of items, and of items in each context."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdtally.lab.metrics import in_ties, kl, mae, mse, on_top, precision, relative, top_mae

Floats = NDArray[np.float64]
Scores = dict[str, float]

TEN, AMONG_LIFTS, AMONG_SPECIAL = 10, 100, 200
HIGHER = frozenset({"precision@10", "ndcg@10", "lift rank", "special@10"})
"""The scores of which more is better; of all others less is."""


def cell_scores(truth: NDArray[Any], mean: Floats, median: Floats) -> Scores:
    """Of all cells of a table.

    Squares, divergence and lists are of the mean; absolute and relative errors of the median, which
    is the mean for methods that have no other.
    """
    flat, guessed, middle = truth.ravel(), mean.ravel(), median.ravel()
    met = flat > 0
    return {
        "mse": mse(flat, guessed),
        "kl": kl(flat, guessed),
        "mae": mae(flat, middle),
        "median relative error": float(np.median(relative(flat[met], middle[met]))),
    }


def item_scores(truth: NDArray[Any], mean: Floats, median: Floats) -> Scores:
    """Of a table of items: its cells and its top ten."""
    found = cell_scores(truth, mean, median)
    k = min(TEN, len(truth))
    listed = on_top(mean, k)
    return found | {
        "precision@10": precision(truth, mean, k) or 0.0,
        "error of the true top ten": top_mae(truth, mean, k) or 0.0,
        "error of the listed ten": mae(truth[listed], mean[listed]) if listed.any() else np.inf,
    }


def context_scores(
    truth: NDArray[Any], items: NDArray[Any], mean: Floats, item_mean: Floats
) -> Scores:
    """Of items in contexts, averaged over the contexts in which somebody is.

    Args:
        truth: (m, h) the true counts.
        items: (m,) those of the items.
        mean: (m, h) the estimates.
        item_mean: (m,) those of the items: a lift is an estimate over its item's.
    """
    found = cell_scores(truth, mean, mean)
    found["precision@10"] = precision(truth, mean, min(TEN, len(truth))) or 0.0
    order = np.lexsort((in_ties(np.arange(len(items))), -items))
    top, special = order[:AMONG_LIFTS], order[:AMONG_SPECIAL]
    lifts = truth / np.maximum(items, 1)[:, None]
    guessed = mean / np.maximum(item_mean, 1)[:, None]
    each: dict[str, list[float]] = {"ndcg@10": [], "lift rank": [], "special@10": []}
    for context in np.flatnonzero(truth.sum(axis=0) > 0):
        each["ndcg@10"].append(_ndcg(truth[:, context], mean[:, context]))
        each["lift rank"].append(_rank_correlation(lifts[top, context], guessed[top, context]))
        each["special@10"].append(_common(lifts[special, context], guessed[special, context]) / TEN)
    return found | {name: float(np.mean(values)) for name, values in each.items()}


def _ndcg(truth: NDArray[Any], mean: Floats) -> float:
    """How much of the best list's weight the released list has: Σ count / log₂(1 + place)."""
    weights = 1 / np.log2(2 + np.arange(TEN))
    listed, best = truth[_largest(mean)], truth[_largest(truth)]
    return float((listed * weights).sum() / (best * weights).sum())


def _largest(values: NDArray[Any]) -> NDArray[np.int64]:
    return np.lexsort((in_ties(np.arange(len(values))), -values))[:TEN]


def _common(first: NDArray[Any], second: NDArray[Any]) -> int:
    return len(set(_largest(first).tolist()) & set(_largest(second).tolist()))


def _rank_correlation(first: NDArray[Any], second: NDArray[Any]) -> float:
    """Spearman's; 0 where one side tells nothing apart."""
    from scipy.stats import rankdata

    ranks = [rankdata(np.round(values, 12)) for values in (first, second)]
    if any(np.ptp(one) == 0 for one in ranks):
        return 0.0
    return float(np.corrcoef(*ranks)[0, 1])
