"""The recommenders: those of the package ``implicit``, learned from the public people alone.

Each takes one row of weights for each person: 1 for an item of a history, 0 for others, or how
likely it is that the item is in it. Both recommenders are linear in these weights, so likely items
count as much as they are likely.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np

from crowdtally_research.recommenders.judging import Floats

NEIGHBOURS = 100
"""Items that an item-based recommender remembers for each item."""
FACTORS = 64
"""Numbers by which a factorisation describes an item."""


class Recommender(Protocol):
    """Scores every item of the catalogue for each person."""

    name: str
    """As tables call it."""

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
