"""Likelihood ratios, of claimed laws and of learned ones, for the search of events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdtally.curator.bounding.scaling import Auto
from crowdtally.curator.request.request import Request
from crowdtally.curator.summaries.base import Dense
from crowdtally.curator.table import Table
from crowdtally.format import NoisyTable
from crowdtally.lab.auditing.observe import ABSENT, Column, Columns, Combined, Matrix
from crowdtally.laws.balls import Rate
from crowdtally.laws.laplace import DiscreteLaplace
from crowdtally.noise.draws import SystemDraws

# Likelihood ratios of Laplace laws: of the claimed one, and of one fitted to training runs.
#
# They are sums over columns, because the noises of cells are independent draws; combinations of
# columns, below, find a fault that breaks this.

_THOUSAND = 1000
"""Log-likelihood ratios are rounded to thousandths, so that they are integers."""
_LEAST_RUNS = 200
"""In a stratum with fewer runs nothing is learned."""


@dataclass(frozen=True, eq=False)
class Expected:
    """The exact vectors behind both databases, if they are known, and the claimed noise."""

    with_user: NDArray[np.float64]
    """Each column without noise; NaN where there is no claim."""
    without: NDArray[np.float64]
    scale: NDArray[np.float64]
    """The claimed scale of the column's Laplace noise."""


@dataclass(frozen=True, eq=False)
class LaplaceRatio:
    """Σ (|o − c₀| − |o − c₁|)/scale: the log-likelihood ratio of two shifted Laplace laws."""

    columns: NDArray[np.int64]
    with_user: NDArray[np.float64]
    """c₁ of each."""
    without: NDArray[np.float64]
    """c₀ of each."""
    scale: NDArray[np.float64]
    is_claimed: bool
    """Whether the laws are the release's own, and not fitted to runs."""

    @classmethod
    def claimed(cls, expected: Expected) -> LaplaceRatio:
        differs = expected.with_user != expected.without
        known = np.isfinite(expected.with_user) & np.isfinite(expected.without)
        columns = np.flatnonzero(differs & known & (expected.scale > 0))
        with_user, without = expected.with_user[columns], expected.without[columns]
        return cls(columns, with_user, without, expected.scale[columns], is_claimed=True)

    @classmethod
    def learned(cls, with_user: Matrix, without: Matrix) -> LaplaceRatio:
        """The medians and the mean deviations of training runs, of columns without absences."""
        first, second = np.median(with_user, axis=0), np.median(without, axis=0)
        present = ~((with_user == ABSENT).any(axis=0) | (without == ABSENT).any(axis=0))
        scale = np.abs(without - second).mean(axis=0)
        columns = np.flatnonzero(present & (first != second) & (scale > 0))
        return cls(columns, first[columns], second[columns], scale[columns], is_claimed=False)

    def of(self, matrix: Matrix) -> NDArray[np.int64]:
        """In thousandths."""
        values = matrix[:, self.columns]
        middle = (self.with_user + self.without) / 2  # favours neither, as a missing value does
        return self._ratio(np.where(values == ABSENT, middle, values))

    def simulated(self, runs: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Its values in many simulated runs with the user, and without, if the laws are right."""
        rng = np.random.default_rng(0)
        p = -np.expm1(-1 / self.scale)
        shape = (runs, len(self.columns))
        noise = rng.geometric(p, shape) - rng.geometric(p, shape)
        return self._ratio(self.with_user + noise), self._ratio(self.without + noise)

    def _ratio(self, values: NDArray[np.float64]) -> NDArray[np.int64]:
        far = np.abs(values - self.without) - np.abs(values - self.with_user)
        return np.asarray(np.rint((far / self.scale).sum(axis=1) * _THOUSAND), dtype=np.int64)

    def words(self, names: tuple[str, ...]) -> str:
        source = "claimed" if self.is_claimed else "learned"
        columns = listed(names, self.columns)
        return f"1000 × the {source} Laplace log-likelihood ratio of {columns}"


@dataclass(frozen=True, eq=False)
class Stratified:
    """A Laplace ratio for each outcome of a private choice: unit and noise follow from it."""

    strata: NDArray[np.int64]
    ratios: Mapping[tuple[int, ...], tuple[int, LaplaceRatio]]
    """For each outcome how much likelier it was with the user, in log-thousandths, and the rest."""

    @classmethod
    def learned(cls, strata: NDArray[np.int64], with_user: Matrix, without: Matrix) -> Stratified:
        ratios = {}
        for outcome in np.unique(without[:, strata], axis=0):
            first, second = (_within(side, strata, outcome) for side in (with_user, without))
            if min(first.sum(), second.sum()) >= _LEAST_RUNS:
                odds = np.log(first.mean() / second.mean())
                ratio = LaplaceRatio.learned(with_user[first], without[second])
                ratios[tuple(outcome.tolist())] = (round(odds * _THOUSAND), ratio)
        return cls(strata, ratios)

    def of(self, matrix: Matrix) -> NDArray[np.int64]:
        """In thousandths; 0 where the outcome was too rare to learn from."""
        total = np.zeros(len(matrix), dtype=np.int64)
        for outcome, (odds, ratio) in self.ratios.items():
            here = _within(matrix, self.strata, np.array(outcome))
            total[here] = odds + ratio.of(matrix[here])
        return total

    def words(self, names: tuple[str, ...]) -> str:
        choice = listed(names, self.strata)
        return f"1000 × the learned Laplace log-likelihood ratio of all cells, given {choice}"


def _within(
    matrix: Matrix, strata: NDArray[np.int64], outcome: NDArray[np.int64]
) -> NDArray[np.bool_]:
    return np.asarray((matrix[:, strata] == outcome).all(axis=1))


def listed(names: tuple[str, ...], columns: NDArray[np.int64], shown: int = 8) -> str:
    """The names of the first columns, and the number of the others."""
    more = [f"{len(columns) - shown} more"] if len(columns) > shown else []
    return ", ".join([names[column] for column in columns[:shown]] + more)


# Likelihood ratios that are learned bin by bin, for columns of any law, absences included.

_MOST_BINS = 48
_SMOOTHING = 1.0
_SURPRISE = 4.0
"""A column with less is left out: its weights would be noise."""


@dataclass(frozen=True, eq=False)
class Histogram:
    """The log of how much likelier each bin of a column was with the user, learned."""

    column: int
    edges: NDArray[np.int64]
    """The least value of each bin but the first; absence is in the first."""
    weights: NDArray[np.float64]
    """The log-ratio of each bin, shrunk by its standard error."""
    surprise: float
    """How far the column is from no difference, in standard scores."""

    @classmethod
    def learned(cls, column: int, with_user: Matrix, without: Matrix) -> Histogram:
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
        return self.weights[np.searchsorted(self.edges, matrix[:, self.column], side="right")]


@dataclass(frozen=True, eq=False)
class LearnedRatio:
    """The sum of the histograms of several columns."""

    histograms: tuple[Histogram, ...]

    @classmethod
    def learned(
        cls, columns: NDArray[np.int64], with_user: Matrix, without: Matrix
    ) -> LearnedRatio:
        every = [Histogram.learned(int(column), with_user, without) for column in columns]
        return cls(tuple(one for one in every if one.surprise > _SURPRISE))

    def of(self, matrix: Matrix) -> NDArray[np.int64]:
        """In thousandths."""
        ratios = (one.log_ratio(matrix) for one in self.histograms)
        return np.rint(sum(ratios, np.zeros(len(matrix))) * _THOUSAND).astype(np.int64)

    def words(self, names: tuple[str, ...]) -> str:
        columns = np.array([one.column for one in self.histograms], dtype=np.int64)
        return f"1000 × the learned log-likelihood ratio of {listed(names, columns)}"


def _edges(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Each value a bin where there are few, else quantiles; absence always a bin of its own."""
    levels = np.unique(values)
    if len(levels) > _MOST_BINS:
        ranks = np.linspace(0, len(values) - 1, _MOST_BINS).astype(np.int64)
        levels = np.unique(np.sort(values)[ranks])
    # Even the lowest published value is in another bin than absence.
    return np.unique(np.append(levels[1:], ABSENT + 1)) if levels[0] == ABSENT else levels[1:]


def _binned(values: NDArray[np.int64], edges: NDArray[np.int64]) -> NDArray[np.float64]:
    places = np.searchsorted(edges, values, side="right")
    return np.bincount(places, minlength=len(edges) + 1).astype(np.float64) + _SMOOTHING


# Statistics of several columns at once, for faults that join what should be independent.
#
# Where two tables share their noise, each alone looks right, and their difference has none at
# all.

_MOST_TELLING = 10
_MOST_CORRELATED = 24
_LEAST_WEIGHT = 30
"""In thousandths of the largest; smaller ones are chance."""
_RIDGE = 1e-9
"""Of the mean variance: a direction without any noise is found, not divided by zero."""


def combinations(telling: Sequence[int], without: Matrix) -> list[Combined]:
    """Sums and differences of the most telling columns, and of those that correlate most.

    ``telling`` has the most telling column first; in runs ``without`` the user independent noises
    do not correlate.
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
    places = [np.searchsorted(np.unique(column), column) for column in matrix.T]
    ranks = np.stack(places, axis=1).astype(np.float64)
    ranks -= ranks.mean(axis=0)
    size = np.sqrt((ranks**2).sum(axis=0))
    scaled = ranks / np.where(size > 0, size, 1)
    return np.triu(np.abs(scaled.T @ scaled), k=1)


@dataclass(frozen=True, eq=False)
class Linear:
    """The weighted sum of columns that separates the databases best (Fisher's direction).

    Where noise is shared in any proportion, some direction has none, and this finds it.
    """

    columns: NDArray[np.int64]
    weights: NDArray[np.int64]
    """In thousandths of the largest."""

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
        """The sum; a missing value counts as 0, and values are clipped so that none overflows."""
        values = np.where(matrix == ABSENT, 0, np.clip(matrix, -(1 << 40), 1 << 40))
        return np.asarray(values[:, self.columns] @ self.weights, dtype=np.int64)

    def words(self, names: tuple[str, ...]) -> str:
        terms = [f"{w}·{names[c]}" for c, w in zip(self.columns, self.weights, strict=True)]
        return " + ".join(terms[:8]) + (f" + {len(terms) - 8} more" if len(terms) > 8 else "")


# The columns of a case without noise, and the noise that is claimed for them.
#
# The claimed law's own likelihood ratio is the sharpest event against a release that keeps its
# claim; learned ones find faults. It sharpens the search, and certifies nothing.

Tables = Mapping[str, NoisyTable]


class NoNoise(SystemDraws):
    """Adds nothing to any count."""

    def geometric(self, rate: Rate | Fraction, size: int) -> NDArray[Any]:
        return np.zeros(size, dtype=np.int64)

    def gaussian(self, variance: Fraction, size: int) -> NDArray[Any]:
        return np.zeros(size, dtype=np.int64)

    def interval(self, rate: Fraction, size: int) -> NDArray[Any]:
        return np.zeros(size, dtype=np.int64)


def is_expected(request: Request) -> bool:
    """Whether counts and noise can be known: not where a bound or items are chosen."""
    chooses = request.method.choose is not None or isinstance(request.method.rule, Auto)
    return not chooses and request.discovery is None


def every_cell(request: Request) -> Request:
    """The same request with every cell published, so that each is seen."""
    tables = tuple(
        replace(table, publishing=Dense()) if isinstance(table, Table) else table
        for table in request.tables
    )
    return replace(request, tables=tables)


def expected_of(columns: Columns, with_user: Tables, without: Tables) -> Expected:
    """For each column of a cell its two exact values, and its scale; NaN for other columns."""
    cells = [column if column.read is None else None for column in columns.columns]
    return Expected(
        np.array([_exact(one, with_user) for one in cells]),
        np.array([_exact(one, without) for one in cells]),
        np.array([_scale(one, without) for one in cells]),
    )


def _exact(cell: Column | None, tables: Tables) -> float:
    return np.nan if cell is None else float(tables[cell.part].values[cell.key])


def _scale(cell: Column | None, tables: Tables) -> float:
    law = None if cell is None else tables[cell.part].law
    return float(law.scale) if isinstance(law, DiscreteLaplace) else np.nan
