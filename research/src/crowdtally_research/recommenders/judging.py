"""How good a list is: whether, and how far up, it has what was hidden.

The whole catalogue is ranked. Then each person's device leaves out what the person has, which it
knows and tells nobody; so it is done alike whatever the recommender was given, raw histories too.
Items of a perturbed history that the person does not have stay: nobody knows them to be had.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]
Mask = NDArray[np.bool_]

_TIES = 1e-6
"""What the most popular item gains on an equal one, as a share of the list's best score."""


def best(scores: Floats, had: Mask, popularity: Floats, k: int) -> NDArray[np.int64]:
    """The places of each person's k best items without those that the person has, best first.

    Of equal scores the more popular item comes first; so whoever gave an empty history gets the
    list that is the same for all.

    >>> scores, had = np.array([[3.0, 2.0, 1.0, 0.0, 0.0]]), np.array([[1, 0, 0, 0, 0]], bool)
    >>> best(scores, had, np.array([0.0, 0.0, 0.0, 0.1, 0.9]), 4).tolist()
    [[1, 2, 4, 3]]
    """
    top = np.abs(scores).max(axis=1, keepdims=True)
    nudged = scores + np.where(top > 0, top, 1.0) * _TIES * (popularity / max(popularity.max(), 1))
    ranked = np.where(had, -np.inf, nudged)
    if k < ranked.shape[1]:
        first = np.argpartition(-ranked, k, axis=1)[:, :k]
    else:
        first = np.tile(np.arange(ranked.shape[1]), (len(ranked), 1))
    order = np.argsort(-np.take_along_axis(ranked, first, axis=1), axis=1, kind="stable")
    return np.take_along_axis(first, order, axis=1)


def hit_rate(listed: NDArray[np.int64], hidden: Mask) -> Floats:
    """For each person 1 where a hidden item is on the list, else 0.

    >>> hit_rate(np.array([[2, 0], [1, 0]]), np.array([[1, 0, 0], [0, 0, 1]], bool)).tolist()
    [1.0, 0.0]
    """
    found = np.take_along_axis(hidden, listed, axis=1)
    return np.asarray(found.any(axis=1), dtype=np.float64)


def ndcg(listed: NDArray[np.int64], hidden: Mask) -> Floats:
    """For each person Σ 1/log2(1 + place) over the hidden items on the list, over the most it can.

    1 where all of the list, or all hidden items, come first.

    >>> ndcg(np.array([[2, 0, 1]]), np.array([[1, 0, 0, 0]], bool)).round(4).tolist()
    [0.6309]
    """
    found = np.take_along_axis(hidden, listed, axis=1)
    worth = 1 / np.log2(np.arange(2, listed.shape[1] + 2))
    most = np.concatenate([[0.0], np.cumsum(worth)])
    possible = np.minimum(hidden.sum(axis=1), listed.shape[1])
    return np.asarray((found * worth).sum(axis=1) / most[possible], dtype=np.float64)
