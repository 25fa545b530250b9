"""Sums over a table of which only some cells were published, and how far off they may be.

A filtered table is summed as it is. In a sampled one a kept cell of weight w < τ stands for the
τ/w cells like it, so it counts sign·τ, others their own value: sign·max(w, τ) (Horvitz–Thompson).
A priority sample has τ_S instead of τ. Floats are fine here: nothing private depends on them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import hypot, sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crowdtally.core.counts import Keeping
from crowdtally.format.manifest import TableFacts
from crowdtally.laws.base import Combination, EmptyCell, NoiseLaw

Floats = NDArray[np.float64]

_WHAT = {"none": "counts", "dyadic": "counts of ranges", "haar": "differences", "sketch": "buckets"}


@dataclass(frozen=True)
class Estimate:
    """An answer from a release."""

    value: float
    """The estimate."""
    standard_error: float
    """How far it typically is from what it is unbiased for."""
    unbiased_for: str
    """What it is right about on average, and what it leaves out."""


@dataclass(frozen=True)
class Sampled:
    """How the published cells of a table were chosen, and the noise on them.

    >>> from fractions import Fraction
    >>> from crowdtally.laws.laplace import DiscreteLaplace
    >>> sampled = Sampled(Keeping(threshold=Fraction(10)), DiscreteLaplace(Fraction(2)))
    >>> sampled.adjusted([3, -4, 25]).tolist()
    [10.0, -10.0, 25.0]
    """

    keeping: Keeping
    """The rule, with the threshold that the reader's values use: τ or τ_S."""
    law: NoiseLaw
    """The noise on the cells."""
    tree: bool = False
    """Whether nodes below a dropped node were dropped too."""
    what: str = "counts"
    """What is published: counts of cells, or of nodes, or coefficients; only words depend on it."""

    @classmethod
    def of(cls, table: TableFacts) -> Sampled:
        """From what a release says about a table."""
        tree = table.summary is not None and table.summary.drops_orphans
        return cls(table.keeping, table.law, tree, _WHAT[table.transform.kind])

    @property
    def threshold(self) -> float:
        """τ as a float; 0 where nothing was sampled away."""
        tau = self.keeping.threshold
        return float(tau) if self.keeping.samples and tau is not None else 0.0

    @cached_property
    def empty(self) -> EmptyCell:
        """What is seen of a cell that holds nobody."""
        return self.law.empty_cell(self.keeping)

    def adjusted(self, values: ArrayLike) -> Floats:
        """What each published value stands for: sign·max(w, τ)."""
        raw = np.asarray(values).astype(np.float64)
        return np.sign(raw) * np.maximum(np.abs(raw), self.threshold)

    def unbiased_for(self) -> str:
        """What sums of the adjusted values are right about on average."""
        unit = self.law.unit
        cut, mean = float(self.keeping.cut * unit), self.empty.mean * float(unit)
        if self.tree:
            return (
                f"the noisy tree without nodes smaller than {cut:.6g} and those below them; "
                "dropped nodes count as 0, so sums are low where many small counts were dropped"
            )
        if self.keeping.cut and self.keeping.sides == "two":
            return (
                f"the noisy {self.what} of size {cut:.6g} or more; smaller ones count as 0, so "
                "sums over many small counts are low"
            )
        if self.keeping.sides == "two":
            return "the true counts (of the records that were kept)"
        if self.keeping.cut:
            return (
                f"the noisy {self.what} of {cut:.6g} or more; smaller ones count as 0, and an "
                f"empty one counts {mean:.3g} on average"
            )
        return (
            f"the noisy {self.what} with negative ones as 0: an empty one counts {mean:.3g} on "
            "average, so sums over many are high"
        )


def weighted_sum(
    values: ArrayLike, weights: ArrayLike, of: Combination, sampled: Sampled
) -> Estimate:
    """Σ a_i·count_i, for public weights a_i, as a count.

    Args:
        values: the published values, in units, among the cells of non-zero weight.
        weights: the weights of those.
        of: the weights of *all* cells of non-zero weight, published or not.
        sampled: how the table was published.
    """
    raw, unit = np.asarray(values).astype(np.float64), float(sampled.law.unit)
    factors = np.asarray(weights, dtype=np.float64)
    estimate = float((factors * sampled.adjusted(raw)).sum()) * unit
    noisy, by_chance = _passed(raw, factors, of, sampled)
    rest = by_chance + _sampling(raw, factors**2, of, sampled)
    error = hypot(sampled.law.std(noisy), sqrt(rest) * unit)
    return Estimate(estimate, error, sampled.unbiased_for())


def _sampling(values: Floats, squares: Floats, of: Combination, sampled: Sampled) -> float:
    """The variance that sampling adds, in units, from the published values alone.

    A kept weight w < τ adds τ(τ−w), which is right on average (also with τ_S: priority samples are
    uncorrelated); cells that are absent are no less uncertain than empty ones.
    """
    tau = sampled.threshold
    absent = max(of.squares - float(squares.sum()), 0.0)
    seen = float((squares * tau * np.maximum(tau - np.abs(values), 0.0)).sum())
    return max(seen, absent * sampled.empty.sampling_variance)


def _passed(
    values: Floats, weights: Floats, of: Combination, sampled: Sampled
) -> tuple[Combination, float]:
    """The cells whose noise is in the sum, and the variance that the others add, in units.

    Without a cut all cells are in it. With one, as many as seem to have passed it; the rest are
    taken for empty cells which pass by chance.
    """
    if not sampled.keeping.cut:
        return of, 0.0
    times = np.maximum(sampled.threshold / np.maximum(np.abs(values), 1.0), 1.0)
    squares = min(float((weights**2 * times).sum()), of.squares)
    total = float((weights * times).sum())
    if abs(total) > abs(of.total):
        total = of.total
    empty = sampled.empty
    by_chance = empty.variance - empty.sampling_variance
    return Combination(squares, total), (of.squares - squares) * by_chance
