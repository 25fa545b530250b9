"""How good estimates are, beside the truth: of items, and of items in each context."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdtally.lab.metrics import in_ties, kl, mae, mse, on_top, precision, top_mae

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Scores = dict[str, float]

TEN, AMONG_LIFTS, AMONG_SPECIAL = 10, 100, 200
LISTS = ("ndcg@10", "lift rank", "special@10")
"""What is judged of lists in contexts: more is better."""
SLICES = ("listed 10", "listed 100", "true 100", "all")
"""Of which cells it is told how many of their intervals hold the truth."""


@dataclass(frozen=True, eq=False)
class Estimates:
    """What one run says of a table, in the order of the domain; (m,) or (m, h)."""

    mean: Floats
    median: Floats
    """The mean, for methods that have no other."""
    low: Floats | None = None
    high: Floats | None = None
    """The 95% interval; None for methods that give none."""


def total_scores(truth: float, low: float, high: float) -> Scores:
    """Of the sum of all items: whether its interval holds the truth, and its width in truths."""
    return {"covered total": float(low <= truth <= high), "width total": (high - low) / truth}


def item_scores(truth: Ints, found: Estimates) -> Scores:
    """Of a table of items: its cells, and its top ten."""
    k = min(TEN, len(truth))
    listed = on_top(found.mean, k)
    return _cell_scores(truth, found) | {
        "precision@10": precision(truth, found.mean, k) or 0.0,
        "error of the true top ten": top_mae(truth, found.mean, k) or 0.0,
        "error of the listed ten": mae(truth[listed], found.mean[listed]) if listed.any() else 0.0,
    }


def context_scores(
    truth: Ints, items: Ints, found: Estimates, item_mean: Floats, lists: list[Ints] | None
) -> Scores:
    """Of items in contexts; those of lists are averaged over the contexts in which somebody is.

    Args:
        truth: (m, h) the true counts.
        items: (m,) those of the items.
        found: the estimates.
        item_mean: (m,) those of the items: a lift is an estimate over its item's.
        lists: the ten items that are recommended in each context; None: the ten largest estimates.
    """
    top, special = _largest(items, AMONG_LIFTS), _largest(items, AMONG_SPECIAL)
    lifts = truth / np.maximum(items, 1)[:, None]
    guessed = found.mean / np.maximum(item_mean, 1)[:, None]
    each = []
    for context in np.flatnonzero(truth.sum(axis=0) > 0):
        listed = _largest(found.mean[:, context]) if lists is None else lists[context]
        best = _largest(truth[:, context])
        lifted = _largest(lifts[special, context]), _largest(guessed[special, context])
        each.append((
            _ndcg(truth[:, context], listed[:TEN], best),
            _rank_correlation(lifts[top, context], guessed[top, context]),
            len(np.intersect1d(*lifted)) / TEN,
            len(np.intersect1d(listed[:TEN], best)) / TEN,
        ))  # fmt: skip
    means = np.mean(each, axis=0).tolist()
    return _cell_scores(truth, found) | dict(zip((*LISTS, "precision@10"), means, strict=True))


def _cell_scores(truth: Ints, found: Estimates) -> Scores:
    flat, mean = truth.ravel(), found.mean.ravel()
    errors = {
        "mse": mse(flat, mean), "kl": kl(flat, mean), "mae": mae(flat, found.median.ravel()),
    }  # fmt: skip
    if found.low is None or found.high is None:
        return errors
    low, high = found.low.ravel(), found.high.ravel()
    return errors | dict(_coverage(flat, mean, low, high))


def _coverage(truth: Ints, mean: Floats, low: Floats, high: Floats) -> Iterator[tuple[str, float]]:
    """By slice: how often the interval holds the truth, and its mean width over the mean count."""
    held = (low <= truth) & (truth <= high)
    every = np.arange(len(truth))
    places = (_largest(mean), _largest(mean, 100), _largest(truth, 100), every)
    for name, which in zip(SLICES, places, strict=True):
        yield f"covered {name}", float(held[which].mean())
        mass = max(float(truth[which].sum()), 1.0)
        yield f"width {name}", float((high - low)[which].sum()) / mass


def _ndcg(truth: Ints, listed: Ints, best: Ints) -> float:
    """How much of the best list's weight a list has: Σ count / log₂(1 + place)."""
    weights = 1 / np.log2(2 + np.arange(TEN))
    had, most = (truth[one] @ weights[: len(one)] for one in (listed, best))
    return float(had / most)


def _largest(values: NDArray[Any], k: int = TEN) -> Ints:
    """The places of the k largest, best first; equal ones in an order that favours no method."""
    return np.lexsort((in_ties(np.arange(len(values))), -values))[:k]


def _rank_correlation(first: Floats, second: Floats) -> float:
    """Spearman's; 0 where one side tells nothing apart."""
    from scipy.stats import rankdata

    ranks = [rankdata(np.round(values, 12)) for values in (first, second)]
    if any(np.ptp(one) == 0 for one in ranks):
        return 0.0
    return float(np.corrcoef(*ranks)[0, 1])
