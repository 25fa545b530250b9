"""Likelihood ratios: of the claimed law, and learned from training runs without any claim.

All are sums over columns, because the noises of cells are independent draws; a fault that breaks
this is looked for by :mod:`combining`. They are rounded to thousandths, so that they are integers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crowdtally.lab.auditing.features import ABSENT, Matrix

_THOUSAND = 1000
_MOST_BINS = 48
_SMOOTHING = 1.0
_SURPRISE = 4.0
"""A column that surprises less is left out: its weights would be noise."""
_LEAST_RUNS = 200
"""In a stratum with fewer runs nothing is learned."""


@dataclass(frozen=True, eq=False)
class Expected:
    """The exact vectors behind both databases, if they are known, and the claimed noise."""

    with_user: NDArray[np.float64]
    """What each column would be without noise; NaN where there is no claim."""
    without: NDArray[np.float64]
    """The same without the user."""
    scale: NDArray[np.float64]
    """The claimed scale of the column's Laplace noise."""


@dataclass(frozen=True, eq=False)
class LaplaceRatio:
    """Σ (|o − c₀| − |o − c₁|)/scale: the log-likelihood ratio of two shifted Laplace laws."""

    columns: NDArray[np.int64]
    """The columns that differ."""
    with_user: NDArray[np.float64]
    """c₁ of each."""
    without: NDArray[np.float64]
    """c₀ of each."""
    scale: NDArray[np.float64]
    """The scale of each."""
    source: str
    """Where the laws come from, in words."""

    @classmethod
    def claimed(cls, expected: Expected) -> LaplaceRatio:
        """From what is known."""
        differs = expected.with_user != expected.without
        known = np.isfinite(expected.with_user) & np.isfinite(expected.without)
        columns = np.flatnonzero(differs & known & (expected.scale > 0))
        with_user, without = expected.with_user[columns], expected.without[columns]
        return cls(columns, with_user, without, expected.scale[columns], "claimed")

    @classmethod
    def learned(cls, with_user: Matrix, without: Matrix) -> LaplaceRatio:
        """The medians and the mean deviations of training runs, of columns without absences."""
        centres = np.median(with_user, axis=0), np.median(without, axis=0)
        present = ~((with_user == ABSENT).any(axis=0) | (without == ABSENT).any(axis=0))
        deviation = np.abs(without - centres[1]).mean(axis=0)
        columns = np.flatnonzero(present & (centres[0] != centres[1]) & (deviation > 0))
        scale = deviation[columns]
        return cls(columns, centres[0][columns], centres[1][columns], scale, "learned")

    def of(self, matrix: Matrix) -> NDArray[np.int64]:
        """In thousandths."""
        total = np.zeros(len(matrix))
        for place, column in enumerate(self.columns):
            values = matrix[:, column].astype(np.float64)
            far = np.abs(values - self.without[place]) - np.abs(values - self.with_user[place])
            total += np.where(matrix[:, column] == ABSENT, 0.0, far / self.scale[place])
        return np.rint(total * _THOUSAND).astype(np.int64)

    def words(self, names: tuple[str, ...]) -> str:
        """Which columns it weighs."""
        return (
            f"1000 × the {self.source} Laplace log-likelihood ratio of {_list(names, self.columns)}"
        )


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
        return np.rint(total * _THOUSAND).astype(np.int64)

    def words(self, names: tuple[str, ...]) -> str:
        """Which columns it weighs."""
        columns = np.array([one.column for one in self.histograms], dtype=np.int64)
        return f"1000 × the learned log-likelihood ratio of {_list(names, columns)}"


@dataclass(frozen=True, eq=False)
class Stratified:
    """A Laplace ratio for each outcome of a private choice: unit and noise follow from it."""

    strata: NDArray[np.int64]
    """The columns of the choice."""
    ratios: Mapping[tuple[int, ...], tuple[int, LaplaceRatio]]
    """For each outcome how much likelier it was with the user, in log-thousandths, and the rest."""

    @classmethod
    def learned(cls, strata: NDArray[np.int64], with_user: Matrix, without: Matrix) -> Stratified:
        """From training runs."""
        found = {}
        for outcome in np.unique(without[:, strata], axis=0):
            first, second = (_within(side, strata, outcome) for side in (with_user, without))
            if min(first.sum(), second.sum()) >= _LEAST_RUNS:
                odds = np.log(first.mean() / second.mean())
                ratio = LaplaceRatio.learned(with_user[first], without[second])
                found[tuple(int(one) for one in outcome)] = (round(odds * _THOUSAND), ratio)
        return cls(strata, found)

    def of(self, matrix: Matrix) -> NDArray[np.int64]:
        """In thousandths; 0 where the outcome was too rare to learn from."""
        total = np.zeros(len(matrix), dtype=np.int64)
        for outcome, (odds, ratio) in self.ratios.items():
            here = _within(matrix, self.strata, np.array(outcome))
            total[here] = odds + ratio.of(matrix[here])
        return total

    def words(self, names: tuple[str, ...]) -> str:
        """What it is conditioned on."""
        choice = _list(names, self.strata)
        return f"1000 × the learned Laplace log-likelihood ratio of all cells, given {choice}"


def _within(
    matrix: Matrix, strata: NDArray[np.int64], outcome: NDArray[np.int64]
) -> NDArray[np.bool_]:
    return np.asarray((matrix[:, strata] == outcome).all(axis=1))


def _edges(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Each value a bin where there are few, else quantiles; absence always a bin of its own."""
    levels = np.unique(values)
    if len(levels) > _MOST_BINS:
        ranks = np.linspace(0, len(values) - 1, _MOST_BINS).astype(np.int64)
        levels = np.unique(np.sort(values)[ranks])
        if levels[0] == ABSENT:
            levels = np.unique(np.append(levels, values[values != ABSENT].min()))
    return levels[1:]


def _binned(values: NDArray[np.int64], edges: NDArray[np.int64]) -> NDArray[np.float64]:
    places = np.searchsorted(edges, values, side="right")
    return np.bincount(places, minlength=len(edges) + 1).astype(np.float64) + _SMOOTHING


def _list(names: tuple[str, ...], columns: NDArray[np.int64], shown: int = 8) -> str:
    listed = [names[column] for column in columns[:shown]]
    more = [f"{len(columns) - shown} more"] if len(columns) > shown else []
    return ", ".join(listed + more)
