"""Recommenders of the package implicit, the popular list, and how lists are judged."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

# How good a list is: whether, and how far up, it has what was hidden.
#
# The whole catalogue is ranked. Then each person's device leaves out what the person has, which it
# knows and tells nobody; so it is done alike whatever the recommender was given, raw histories too.
# Items of a perturbed history that the person does not have stay: nobody knows them to be had.

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


# The recommenders: those of the package ``implicit``, learned from the public people alone.
#
# Each takes one row of weights for each person: 1 for an item of a history, 0 for others, or how
# likely it is that the item is in it. Both recommenders are linear in these weights, so likely
# items count as much as they are likely.

NEIGHBOURS = 100
"""Items that an item-based recommender remembers for each item."""
FACTORS = 64
"""Numbers by which a factorisation describes an item."""


class Recommender(Protocol):
    """Scores every item of the catalogue for each person."""

    name: str

    def scores(self, weights: Floats) -> Floats:
        """A row for each row of weights, a column for each item; larger is better."""
        ...


class Popular:
    """The same list for everybody: how many public people had each item."""

    name = "popular list"

    def __init__(self, public: Any) -> None:
        self.popularity: Floats = np.asarray(public.sum(axis=0), dtype=np.float64).ravel()

    def scores(self, weights: Floats) -> Floats:
        """The popularity of each item, whatever the weights."""
        return np.tile(self.popularity, (len(weights), 1))


class ItemBased:
    """Items near those of the history, by BM25 over the public people who had both."""

    name = "item-based"

    def __init__(self, public: Any) -> None:
        from implicit.nearest_neighbours import BM25Recommender

        with _quietly():
            model = BM25Recommender(K=NEIGHBOURS)
            model.fit(public, show_progress=False)
        self._similarity = model.similarity

    def scores(self, weights: Floats) -> Floats:
        """What ``BM25Recommender.recommend`` adds up, for all items at once."""
        return np.asarray((self._similarity.T @ weights.T).T)


class Factors:
    """Matrix factorisation by alternating least squares, a new person folded in.

    Every entry, 0 or 1, has the same confidence here. So the factors of a person are a linear
    function of the history, and it is enough to fold in each item by itself.
    """

    name = "factorisation"

    def __init__(self, public: Any, seed: int) -> None:
        from implicit.cpu.als import AlternatingLeastSquares
        from scipy.sparse import identity

        items = public.shape[1]
        with _quietly():
            model = AlternatingLeastSquares(
                factors=min(FACTORS, items), alpha=1.0, random_state=seed
            )
            model.fit(public, show_progress=False)
            single = identity(items, dtype=np.float32, format="csr")
            self._of_item = model.recalculate_user(np.arange(items), single)
        self._items = model.item_factors

    def scores(self, weights: Floats) -> Floats:
        """The products of the person's factors with those of each item."""
        return np.asarray((weights @ self._of_item) @ self._items.T)


@contextmanager
def _quietly() -> Iterator[None]:
    """BLAS on one thread, as ``implicit`` advises, and without its remarks on how it was built."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, "blas"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
