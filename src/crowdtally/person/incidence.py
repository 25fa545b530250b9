"""Sets of categories as a sparse matrix of zeros and ones: its products, by NumPy alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache, cached_property
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]

_AT_ONCE = 1 << 21
"""Entries of a product that are held at a time."""


class Incidence:
    """S, with a row for each set and a column for each category."""

    def __init__(self, sets: Sequence[Sequence[int]], columns: int) -> None:
        self.rows, self.columns = len(sets), columns
        self.lengths: Numbers = np.array([len(one) for one in sets], dtype=np.int64)
        self._column: Numbers = np.fromiter(chain.from_iterable(sets), dtype=np.int64)
        self._row: Numbers = np.repeat(np.arange(self.rows), self.lengths)

    def sums(self, values: Floats) -> Floats:
        """S·values: for each set, the sum over its categories."""
        return _added(self._row, values[self._column], self.rows)

    def spread(self, values: Floats) -> Floats:
        """Sᵀ·values: for each category, the sum over the sets that have it."""
        return _added(self._column, values[self._row], self.columns)

    def least(self, values: Floats) -> Floats:
        """For each category, the least value among the sets that have it."""
        found = np.full(self.columns, np.inf)
        np.minimum.at(found, self._column, values[self._row])
        return found

    def gram(self, weights: Floats) -> Floats:
        """Sᵀ·diag(weights)·S, at the cost of the pairs of categories within each set."""
        product = np.zeros(self.columns * self.columns)
        for which, members in self._by_length:
            step = max(1, _AT_ONCE // members.shape[1] ** 2)
            for start in range(0, len(which), step):
                some, heavy = members[start : start + step], weights[which[start : start + step]]
                used = heavy != 0.0
                some, heavy = some[used], heavy[used]
                pairs = some[:, :, None] * self.columns + some[:, None, :]
                repeated = np.repeat(heavy, some.shape[1] ** 2)
                product += _added(pairs.ravel(), repeated, product.size)
        return product.reshape(self.columns, self.columns)

    @cached_property
    def _by_length(self) -> list[tuple[Numbers, Numbers]]:
        """The sets of one length and, row by row, their categories."""
        first = np.cumsum(self.lengths) - self.lengths
        found = []
        for length in np.unique(self.lengths).tolist():
            which = np.flatnonzero(self.lengths == length)
            found.append((which, self._column[first[which][:, None] + np.arange(length)]))
        return found


def _added(where: Numbers, values: Floats, size: int) -> Floats:
    """The sum of the values at each of ``size`` places."""
    return np.asarray(np.bincount(where, values, minlength=size), dtype=np.float64)


@contextmanager
def one_thread() -> Iterator[None]:
    """Linear algebra in one thread: for systems this small, a second one costs more than it helps.

    On a busy computer threads that wait for each other made a plan forty times slower.
    """
    with _threads().limit(limits=1, user_api="blas"):
        yield


@cache
def _threads() -> Any:
    """The thread pools of this process; looking for them takes a moment."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def solved(matrix: Floats, right: Floats) -> Floats:
    """The solution of a positive definite system, its diagonal made equal first.

    Entries of a matrix here differ by many powers of ten; with an even diagonal they do not.
    """
    scale = 1 / np.sqrt(np.diagonal(matrix))
    return np.asarray(scale * np.linalg.solve(matrix * scale * scale[:, None], scale * right))
