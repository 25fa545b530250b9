"""Estimates of counts and of their sums, also from summaries and sketches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import hypot, inf, sqrt
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crowdtally.core.counts import Keeping
from crowdtally.core.deadline import go_on
from crowdtally.core.hierarchy import Sketching
from crowdtally.errors import UsageError
from crowdtally.format.manifest import TableFacts
from crowdtally.inference.items import ItemEstimates, chances_among
from crowdtally.laws.base import Combination, EmptyCell, NoiseLaw
from crowdtally.reader.axes import Floats, Mask

TRUE = "the true counts"
"""What an interval covers where what bounding left out was measured, or nothing was bounded."""
BOUNDED = "the bounded counts"
"""What it covers where a release cannot tell what bounding left out."""


@dataclass(frozen=True, eq=False)
class Believed:
    mean: Floats
    """The posterior mean: the estimate of the count."""
    median: Floats
    """The posterior median: nearer to most small counts."""
    low: Floats
    high: Floats
    """The interval of the level that was asked for."""
    deviation: Floats
    own: Floats
    """The part of it that is the count's own; the rest is an error that all counts share."""

    @classmethod
    def of(cls, found: ItemEstimates) -> Believed:
        return cls(found.mean, found.median, found.low, found.high, found.deviation, found.own)

    def __len__(self) -> int:
        return len(self.mean)

    def parts(self) -> tuple[Floats, ...]:
        return self.mean, self.median, self.low, self.high, self.deviation, self.own

    def chance_among(self, k: int) -> Floats:
        """How likely each is one of the k largest."""
        return np.clip(chances_among(self.mean, self.own, k), 0.0, 1.0)

    def total(self, mask: Mask, level: Fraction, whole: float = 0.0, cell: float = inf) -> Total:
        """The sum of those that ``mask`` picks.

        Own errors are independent, and what all counts share adds up: but the more of the whole a
        sum holds, the more its error is that of the whole, which was measured (or, where nothing
        was calibrated, is no better known than the sum of the noisy counts). Given the whole, own
        errors of variance V, of which V_s is the sum's, leave it V_s(1 − V_s/V).

        ``whole`` is the deviation of the sum of all counts. ``cell``, where nothing was calibrated,
        is that of one noisy count: no sum of estimates is less certain than that of the noisy
        counts.
        """
        number = int(np.count_nonzero(mask))
        picked = slice(None) if number == len(self) else np.flatnonzero(mask)
        mean = float(self.mean[picked].sum())
        if number == 1:
            place = int(np.argmax(mask))
            ends = float(self.low[place]), float(self.high[place])
            return Total(mean, float(self.deviation[place]), *ends)
        squares = np.square(self.own[picked])
        shared = 0.0
        if self.deviation is not self.own:
            beyond = np.square(self.deviation[picked]) - squares
            shared = float(np.sqrt(np.maximum(beyond, 0.0)).sum())
        mass = mean if number == len(self) else float(self.mean.sum())
        part = mean / mass if mass > 0 else 0.0
        learned = min(part * whole, cell * sqrt(number))
        theirs = float(squares.sum())
        every = theirs if number == len(self) else float(np.square(self.own).sum())
        left = theirs * max(1 - theirs / every, 0.0) if every > 0 else 0.0
        return Total.normal(mean, hypot(sqrt(left), (1 - part) * shared, learned), level)


@dataclass(frozen=True)
class Total:
    mean: float
    error: float
    """Its standard deviation."""
    low: float
    high: float
    """Its interval."""

    @classmethod
    def normal(cls, mean: float, error: float, level: Fraction) -> Total:
        """A sum of many: nearly normal, and none of its counts is below 0."""
        reach = deviations(level) * error
        return cls(mean, error, max(mean - reach, 0.0), mean + reach)


def deviations(level: Fraction) -> float:
    """How many standard deviations an interval of a normal law reaches.

    >>> round(deviations(Fraction(19, 20)), 2)
    1.96
    """
    return NormalDist().inv_cdf((1 + float(level)) / 2)


def together(parts: Sequence[Believed], level: Fraction) -> Believed:
    """Sums of equally many counts, one from each part, whose own errors are independent."""
    if len(parts) == 1:
        return parts[0]
    mean = np.sum([part.mean for part in parts], axis=0)
    own = np.sqrt(np.sum([part.own**2 for part in parts], axis=0))
    beyond = [np.maximum(part.deviation**2 - part.own**2, 0.0) for part in parts]
    shared = np.sum(np.sqrt(beyond), axis=0)
    deviation = np.hypot(own, shared)
    reach = deviations(level) * deviation
    return Believed(mean, mean, np.maximum(mean - reach, 0.0), mean + reach, deviation, own)


# Sums over a table of which only some cells were published, and their errors.
#
# A filtered table is summed as published. In a sampled one a kept cell of weight w < τ represents
# τ/w cells like it, so it counts sign·τ, others their own value: sign·max(w, τ)
# (Horvitz–Thompson). A priority sample has τ_S instead of τ. Floats are fine here: nothing
# private depends on them.

_WHAT = {"none": "counts", "dyadic": "counts of ranges", "haar": "differences", "sketch": "buckets"}


@dataclass(frozen=True)
class Estimate:
    value: float
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
    tree: bool = False
    """Whether nodes below a dropped node were dropped too."""
    what: str = "counts"
    """What is published: counts of cells, or of nodes, or coefficients; only words depend on it."""

    @classmethod
    def of(cls, table: TableFacts) -> Sampled:
        tree = table.summary is not None and table.summary.drops_orphans
        return cls(table.keeping, table.law, tree, _WHAT[table.transform.kind])

    @property
    def threshold(self) -> float:
        """τ as a float; 0 where nothing was sampled away."""
        tau = self.keeping.threshold
        return float(tau) if self.keeping.samples and tau is not None else 0.0

    @cached_property
    def empty(self) -> EmptyCell:
        return self.law.empty_cell(self.keeping)

    def adjusted(self, values: ArrayLike) -> Floats:
        """What each published value counts for: sign·max(w, τ)."""
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

    ``values`` (in units) and ``weights`` are those of published cells; ``of`` has the weights of
    *all* cells of non-zero weight.
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

    A kept weight w < τ adds τ(τ−w), which is unbiased (also with τ_S: priority samples are
    uncorrelated); absent cells are no less uncertain than empty ones.
    """
    tau = sampled.threshold
    absent = max(of.squares - float(squares.sum()), 0.0)
    seen = float((squares * tau * np.maximum(tau - np.abs(values), 0.0)).sum())
    return max(seen, absent * sampled.empty.sampling_variance)


def _passed(
    values: Floats, weights: Floats, of: Combination, sampled: Sampled
) -> tuple[Combination, float]:
    """The cells whose noise is in the sum, and the variance that the others add, in units.

    Without a cut all cells are. With one, about as many as passed it; the rest count as empty cells
    that pass by chance.
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


# Answers from a count sketch: the mean of the estimates of its rows.
#
# A row's estimate of a cell is its bucket times its sign. It is unbiased, over the choice of the
# hashes and the noise; its variance is (‖M‖₂² − the cell's own square)/B plus that of the noise.
# The mean square of a row's noisy buckets estimates ‖M‖₂²/B plus that noise.


def sketch_sum(buckets: ArrayLike, cells: NDArray[Any], sketching: Sketching) -> Estimate:
    """The sum of the counts of ``cells``, each once, in units; one cell is a point query.

    ``buckets`` are all published ones, in order: R·B values.
    """
    table = np.asarray(buckets, dtype=np.float64)
    if table.size != sketching.size:
        raise UsageError(f"the sketch has {sketching.size} buckets: received {table.size}.")
    table = table.reshape(sketching.rows, sketching.buckets)
    estimates, variances = [], []
    for row in range(sketching.rows):
        go_on()
        bucket, sign = sketching.places(cells, row)
        weights = np.bincount(bucket, weights=sign, minlength=sketching.buckets)
        estimates.append(float(weights @ table[row]))
        variances.append(float((weights**2).sum() * (table[row] ** 2).mean()))
    return Estimate(float(np.mean(estimates)), sqrt(sum(variances)) / sketching.rows, _WORDS)


_WORDS = (
    "the true counts (of the records that were kept), over the noise and the public choice of "
    "hashes; cells that share a bucket are the larger part of the error where the sketch is small"
)
