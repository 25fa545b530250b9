"""Sums over a table of which only some cells were published, and how far off they may be.

A filtered table is summed as it is. In a sampled one a kept cell of weight w < τ stands for the
τ/w cells like it, so it counts sign·τ, others their own value: sign·max(w, τ) (Horvitz–Thompson).
A priority sample has τ_S in the place of τ. Floats are fine here: nothing private depends on them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crowdtally.errors import UsageError
from crowdtally.laws.laplace import DiscreteLaplace
from crowdtally.laws.law import EmptyCell
from crowdtally.laws.tails import empty_cell
from crowdtally.published import number
from crowdtally.values.keeping import Keeping

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
    """How the published cells of a table were chosen.

    >>> Sampled(Keeping(threshold=Fraction(10)), Fraction(2)).adjusted([3, -4, 25]).tolist()
    [10.0, -10.0, 25.0]
    """

    keeping: Keeping
    """The rule, with the threshold that the reader's values use: τ or τ_S."""
    scale: Fraction
    """Scale of the noise on each cell."""
    tree: bool = False
    """Whether nodes below a dropped node were dropped too."""
    unit: Fraction = Fraction(1)
    """What one unit of the published values means as a count; only words depend on it."""
    what: str = "counts"
    """What is published: counts of cells, or of nodes, or coefficients; only words depend on it."""

    @classmethod
    def of(cls, facts: Mapping[str, Any], scale: Fraction) -> Sampled:
        """From a table's entry in ``release.json``."""
        threshold = facts.get("estimating_threshold")
        tau = None if threshold is None else number(threshold, "the threshold")
        keeping = Keeping(facts.get("cut", 0), tau, facts.get("sides", "two"))
        unit = number(facts.get("noise", {}).get("unit", 1), "the unit")
        what = _WHAT[facts.get("transform", {}).get("kind", "none")]
        return cls(keeping, scale, facts.get("consistency") == "ancestors", unit, what)

    @property
    def threshold(self) -> float:
        """τ as a float; 0 where nothing was sampled away."""
        tau = self.keeping.threshold
        return float(tau) if self.keeping.samples and tau is not None else 0.0

    @cached_property
    def empty(self) -> EmptyCell:
        """What is seen of a cell that holds nobody."""
        return empty_cell(self.scale, self.keeping)

    def adjusted(self, values: ArrayLike) -> Floats:
        """What each published value stands for: sign·max(w, τ)."""
        raw = np.asarray(values).astype(np.float64)
        return np.sign(raw) * np.maximum(np.abs(raw), self.threshold)

    def unbiased_for(self) -> str:
        """What sums of the adjusted values are right about on average."""
        cut, mean = float(self.keeping.cut * self.unit), self.empty.mean * float(self.unit)
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


def subset_sum(values: ArrayLike, cells: int, sampled: Sampled) -> Estimate:
    """The sum over a subset of cells.

    Args:
        values: the published values of those cells of the subset that were published.
        cells: r: how many cells the subset has in all, published or not.
        sampled: how the table was published.
    """
    present = np.asarray(values)
    if isinstance(cells, bool) or not isinstance(cells, int) or cells < max(1, present.size):
        raise UsageError(
            f"a subset has at least one cell, and at least those that are published "
            f"({present.size}): received {cells!r}."
        )
    return weighted_sum(present, np.ones(present.size), float(cells), sampled)


def linear_sum(
    cells: NDArray[Any], values: NDArray[Any], weights: Mapping[int, float], sampled: Sampled
) -> Estimate:
    """The weighted sum over some cells of a published table: nodes of a range, coefficients.

    Args:
        cells: numbers of all published cells, ascending.
        values: their published values.
        weights: the cells wanted, published or not, and what each counts.
        sampled: how the table was published.
    """
    wanted = np.array(list(weights), dtype=cells.dtype)
    factors = np.array(list(weights.values()), dtype=np.float64)
    places = np.minimum(np.searchsorted(cells, wanted), max(len(cells) - 1, 0))
    found = np.flatnonzero(cells[places] == wanted) if len(cells) else places[:0]
    total = float((factors**2).sum())
    return weighted_sum(values[places[found]], factors[found], total, sampled)


def weighted_sum(
    values: ArrayLike, weights: ArrayLike, squares: float, sampled: Sampled
) -> Estimate:
    """Σ a_i·count_i, for public weights a_i.

    Args:
        values: the published values among the cells of non-zero weight.
        weights: the weights of those.
        squares: Σ a_i² over *all* cells of non-zero weight, published or not.
        sampled: how the table was published.
    """
    raw = np.asarray(values).astype(np.float64)
    factors = np.asarray(weights, dtype=np.float64)
    estimate = float((factors * sampled.adjusted(raw)).sum())
    error = sqrt(_variance(raw, factors**2, squares, sampled))
    return Estimate(estimate, error, sampled.unbiased_for())


def _variance(values: Floats, squares: Floats, total: float, sampled: Sampled) -> float:
    """Of the noise and of the sampling, from the published values alone.

    Sampling: a kept weight w < τ adds τ(τ−w), which is right on average (also with τ_S: priority
    samples are uncorrelated); cells that are absent are no less uncertain than empty ones. Noise:
    without a cut, that of all cells. With one, that of as many cells as seem to have passed it, and
    for the rest that of empty cells which pass by chance.
    """
    tau, empty, noise = sampled.threshold, sampled.empty, DiscreteLaplace(sampled.scale).std() ** 2
    weights = np.abs(values)
    absent = max(total - float(squares.sum()), 0.0)
    seen = float((squares * tau * np.maximum(tau - weights, 0.0)).sum())
    sampling = max(seen, absent * empty.sampling_variance)
    if not sampled.keeping.cut:
        return sampling + total * noise
    passed = float((squares * np.maximum(tau / np.maximum(weights, 1.0), 1.0)).sum())
    passed = min(passed, total)
    by_chance = empty.variance - empty.sampling_variance
    return sampling + passed * noise + (total - passed) * by_chance
