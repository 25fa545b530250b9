"""Statistics of several columns at once, for faults that join what should be independent.

Where two tables share their noise, each alone looks right, and their difference has none at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crowdtally.lab.auditing.events import Combined
from crowdtally.lab.auditing.features import ABSENT, Matrix

_MOST_TELLING = 10
_MOST_CORRELATED = 24
_THOUSAND = 1000
_LEAST_WEIGHT = 30
"""In thousandths of the largest; smaller ones are chance."""
_RIDGE = 1e-9
"""Of the mean variance: a direction without any noise is found, not divided by zero."""


def combinations(telling: Sequence[int], without: Matrix) -> list[Combined]:
    """Sums and differences of the most telling columns, and of those that go together most.

    Args:
        telling: columns, the most telling first.
        without: runs of one database, in which independent noises do not go together.
    """
    near = telling[:_MOST_TELLING]
    pairs = {(min(a, b), max(a, b)) for a in near for b in near if a != b}
    together = _correlations(without)
    for place in np.argsort(-together, axis=None, kind="stable")[:_MOST_CORRELATED]:
        a, b = divmod(int(place), together.shape[1])
        if together[a, b] > 0:
            pairs.add((a, b))
    return [Combined(a, b, sign) for a, b in sorted(pairs) for sign in (1, -1)]


def _correlations(matrix: Matrix) -> NDArray[np.float64]:
    """Absolute rank correlations of the columns, above the diagonal; 0 elsewhere."""
    ranks = np.stack([_ranks(column) for column in matrix.T], axis=1)
    ranks -= ranks.mean(axis=0)
    size = np.sqrt((ranks**2).sum(axis=0))
    scaled = ranks / np.where(size > 0, size, 1)
    return np.triu(np.abs(scaled.T @ scaled), k=1)


def _ranks(column: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.searchsorted(np.unique(column), column).astype(np.float64)


@dataclass(frozen=True, eq=False)
class Linear:
    """The weighted sum of columns that tells the databases apart best (Fisher's direction).

    Where noise is shared in any proportion, some direction has none, and this finds it.
    """

    columns: NDArray[np.int64]
    """The columns that it adds."""
    weights: NDArray[np.int64]
    """Their weights, in thousandths of the largest."""

    @classmethod
    def learned(cls, telling: Sequence[int], with_user: Matrix, without: Matrix) -> Linear | None:
        """From training runs; None where no column is always there and varies."""
        columns = np.array(sorted(telling), dtype=np.int64)
        a, b = with_user[:, columns], without[:, columns]
        there = ~((a == ABSENT).any(axis=0) | (b == ABSENT).any(axis=0)) & (np.ptp(b, axis=0) > 0)
        if not there.any():
            return None
        columns, a, b = columns[there], a[:, there].astype(float), b[:, there].astype(float)
        covariance = np.atleast_2d(np.cov(a, rowvar=False) + np.cov(b, rowvar=False))
        ridge = np.eye(len(columns)) * (_RIDGE * np.trace(covariance) / len(columns))
        direction = np.linalg.solve(covariance + ridge, a.mean(axis=0) - b.mean(axis=0))
        largest = np.abs(direction).max()
        if not np.isfinite(largest) or largest == 0:
            return None
        weights = np.rint(direction / largest * _THOUSAND).astype(np.int64)
        large = np.abs(weights) >= _LEAST_WEIGHT
        return cls(columns[large], weights[large])

    def of(self, matrix: Matrix) -> NDArray[np.int64]:
        """The sum; a missing value counts as 0, and values are held so that nothing overflows."""
        values = np.where(matrix == ABSENT, 0, np.clip(matrix, -(1 << 40), 1 << 40))
        return np.asarray(values[:, self.columns] @ self.weights, dtype=np.int64)

    def words(self, names: tuple[str, ...]) -> str:
        """The sum, written out."""
        terms = [f"{w}·{names[c]}" for c, w in zip(self.columns, self.weights, strict=True)]
        return " + ".join(terms[:8]) + (f" + {len(terms) - 8} more" if len(terms) > 8 else "")
