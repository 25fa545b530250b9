"""Likelihood ratios that are learned bin by bin, for columns of any law, absences included."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crowdtally.lab.auditing.features import ABSENT, Matrix
from crowdtally.lab.auditing.fitting import THOUSAND, listed

_MOST_BINS = 48
_SMOOTHING = 1.0
_SURPRISE = 4.0
"""A column that surprises less is left out: its weights would be noise."""


@dataclass(frozen=True, eq=False)
class Histogram:
    """The log of how much likelier each bin of a column was with the user, learned."""

    column: int
    """Which column."""
    edges: NDArray[np.int64]
    """The least value of each bin but the first; absence is in the first."""
    weights: NDArray[np.float64]
    """The log-ratio of each bin, shrunk by its standard error."""
    surprise: float
    """How far the column is from telling nothing, in standard scores."""

    @classmethod
    def learned(cls, column: int, with_user: Matrix, without: Matrix) -> Histogram:
        """From training runs."""
        values = with_user[:, column], without[:, column]
        edges = _edges(np.concatenate(values))
        first, second = (_binned(v, edges) for v in values)
        ratios = np.log(first / first.sum()) - np.log(second / second.sum())
        errors = np.sqrt(1 / first + 1 / second)
        shrunk = np.sign(ratios) * np.maximum(np.abs(ratios) - errors, 0)
        # A sum of squared standard scores: its mean is the number of bins if nothing differs.
        surprise = (((ratios / errors) ** 2).sum() - len(ratios)) / np.sqrt(2 * len(ratios))
        return cls(column, edges, shrunk, float(surprise))

    def log_ratio(self, matrix: Matrix) -> NDArray[np.float64]:
        """Of each run."""
        return self.weights[np.searchsorted(self.edges, matrix[:, self.column], side="right")]


@dataclass(frozen=True, eq=False)
class LearnedRatio:
    """The sum of the histograms of several columns."""

    histograms: tuple[Histogram, ...]
    """One for each column that tells anything."""

    @classmethod
    def learned(
        cls, columns: NDArray[np.int64], with_user: Matrix, without: Matrix
    ) -> LearnedRatio:
        """From training runs."""
        made = [Histogram.learned(int(column), with_user, without) for column in columns]
        return cls(tuple(one for one in made if one.surprise > _SURPRISE))

    def of(self, matrix: Matrix) -> NDArray[np.int64]:
        """In thousandths."""
        total = np.zeros(len(matrix))
        for one in self.histograms:
            total += one.log_ratio(matrix)
        return np.rint(total * THOUSAND).astype(np.int64)

    def words(self, names: tuple[str, ...]) -> str:
        """Which columns it weighs."""
        columns = np.array([one.column for one in self.histograms], dtype=np.int64)
        return f"1000 × the learned log-likelihood ratio of {listed(names, columns)}"


def _edges(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Each value a bin where there are few, else quantiles; absence always a bin of its own."""
    levels = np.unique(values)
    if len(levels) > _MOST_BINS:
        ranks = np.linspace(0, len(values) - 1, _MOST_BINS).astype(np.int64)
        levels = np.unique(np.sort(values)[ranks])
    # Whatever is published, however low, is in another bin than absence.
    return np.unique(np.append(levels[1:], ABSENT + 1)) if levels[0] == ABSENT else levels[1:]


def _binned(values: NDArray[np.int64], edges: NDArray[np.int64]) -> NDArray[np.float64]:
    places = np.searchsorted(edges, values, side="right")
    return np.bincount(places, minlength=len(edges) + 1).astype(np.float64) + _SMOOTHING
