"""Likelihood ratios of Laplace laws: of the claimed one, and of one fitted to training runs.

They are sums over columns, because the noises of cells are independent draws; a fault that breaks
this is looked for in ``combining.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crowdtally.lab.auditing.features import ABSENT, Matrix

THOUSAND = 1000
"""Log-likelihood ratios are rounded to thousandths, so that they are integers."""
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

    @property
    def is_claimed(self) -> bool:
        """Whether the laws are the release's own, and not fitted to runs."""
        return self.source == "claimed"

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
        values = matrix[:, self.columns]
        middle = (self.with_user + self.without) / 2  # says nothing, as a missing value does
        return self._ratio(np.where(values == ABSENT, middle, values))

    def simulated(self, runs: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Its values in many made-up runs with the user, and without, if the laws are right."""
        rng = np.random.default_rng(0)
        p = -np.expm1(-1 / self.scale)
        shape = (runs, len(self.columns))
        noise = rng.geometric(p, shape) - rng.geometric(p, shape)
        return self._ratio(self.with_user + noise), self._ratio(self.without + noise)

    def _ratio(self, values: NDArray[np.float64]) -> NDArray[np.int64]:
        far = np.abs(values - self.without) - np.abs(values - self.with_user)
        return np.asarray(np.rint((far / self.scale).sum(axis=1) * THOUSAND), dtype=np.int64)

    def words(self, names: tuple[str, ...]) -> str:
        """Which columns it weighs."""
        columns = listed(names, self.columns)
        return f"1000 × the {self.source} Laplace log-likelihood ratio of {columns}"


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
                found[tuple(int(one) for one in outcome)] = (round(odds * THOUSAND), ratio)
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
        choice = listed(names, self.strata)
        return f"1000 × the learned Laplace log-likelihood ratio of all cells, given {choice}"


def _within(
    matrix: Matrix, strata: NDArray[np.int64], outcome: NDArray[np.int64]
) -> NDArray[np.bool_]:
    return np.asarray((matrix[:, strata] == outcome).all(axis=1))


def listed(names: tuple[str, ...], columns: NDArray[np.int64], shown: int = 8) -> str:
    """The columns' names, and how many are not told."""
    found = [names[column] for column in columns[:shown]]
    more = [f"{len(columns) - shown} more"] if len(columns) > shown else []
    return ", ".join(found + more)
