"""PRIORITY(S) and FILTER-PRIORITY(κ, S): the S cells of highest priority.

Contract. Relation: counts whose L1 distance is at most L. Output law: that of a priority sample of
the (filtered) noisy table: each cell has priority w/r, r uniform on (0, 1]; the S highest are
published with τ_S, the next priority. It is drawn as a threshold sample at a public τ, which is
ε-differentially private, and a choice from that sample by fresh randomness. A sample that falls
short is published as it is, with τ, and never drawn again. The proof is in ``priority.md``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from crowdtally.core.counts import Keeping, Sides
from crowdtally.core.integers import Integers, exact_product
from crowdtally.core.numbers import Number
from crowdtally.core.values import value
from crowdtally.curator.summaries import sparse
from crowdtally.curator.summaries.base import LARGEST_SUMMARY, Charged, Noisy, SampleName, Summary
from crowdtally.curator.summaries.threshold import filtered, sampled
from crowdtally.laws.base import CellNoise
from crowdtally.noise.draws import Draws

_HALF = 63  # bits of one of the two integers that make a ticket
_MARGIN = 1e-9  # far above the rounding of a float quotient, far below the gaps between most


@value
@dataclass(frozen=True)
class Priority:
    """S cells of the noisy table."""

    name: ClassVar[str] = "priority"
    leaves_out: ClassVar[bool] = True
    largest: ClassVar[int] = LARGEST_SUMMARY

    size: int
    """How many cells to publish."""
    threshold: Number | None = None
    """Of the sample that it is drawn from. Without one it follows from the size."""
    sides: Sides = "two"
    """``one`` keeps positive noisy counts alone, ``two`` both signs."""

    def __post_init__(self) -> None:
        sparse.check_fields(self)

    @property
    def wanted(self) -> int | None:
        return self.size

    def keeping(self, cells: int, law: CellNoise, *, tree: bool) -> Keeping:
        return _sampling(0, self.threshold, self.size, cells, law, self.sides)

    def draw(self, charged: Charged, draws: Draws) -> Noisy:
        return prioritised(sampled(charged, draws), self.size, draws).noisy()


@value
@dataclass(frozen=True)
class FilterPriority:
    """S cells of the filtered noisy table; of a tree, of the nodes with all their ancestors."""

    name: ClassVar[str] = "filter-priority"
    leaves_out: ClassVar[bool] = True
    largest: ClassVar[int] = LARGEST_SUMMARY

    size: int
    """How many cells to publish."""
    cut: int | None = None
    """Noisy counts nearer to 0 are dropped first. Without one it follows from the size."""
    threshold: Number | None = None
    """Of the sample that it is drawn from. Without one it follows from the size and the cut."""
    sides: Sides = "two"
    """``one`` keeps positive noisy counts alone, ``two`` both signs."""

    def __post_init__(self) -> None:
        sparse.check_fields(self)

    @property
    def wanted(self) -> int | None:
        return self.size

    def keeping(self, cells: int, law: CellNoise, *, tree: bool) -> Keeping:
        """κ and τ; of a tree κ alone, because its ancestor rule needs the whole filter."""
        cut = sparse.cut_for(self.cut, self.size, cells, law, self.sides)
        if tree:
            return Keeping(cut, None, self.sides)
        return _sampling(cut, self.threshold, self.size, cells, law, self.sides)

    def draw(self, charged: Charged, draws: Draws) -> Noisy:
        some = sampled(charged, draws) if charged.tree is None else filtered(charged, draws)
        return prioritised(some, self.size, draws).noisy()


def _sampling(
    cut: int, threshold: Number | None, size: int, cells: int, law: CellNoise, sides: Sides
) -> Keeping:
    if threshold is not None:
        return Keeping(cut, Fraction(threshold) / law.unit, sides)
    return Keeping(cut, sparse.priority_threshold(cells, size, law, cut=cut, sides=sides), sides)


def prioritised(sample: Summary, size: int, draws: Draws) -> Summary:
    """The S highest priorities of a filter or threshold sample: post-processing, at no cost.

    Given that it was kept, a cell's r is uniform on (0, min(w/τ, 1)]; so its priority w/r is
    max(w, τ)/u with u uniform on (0, 1]. Without τ it is w/u.
    """
    sparse.check_size(size)
    name: SampleName = "filter-priority" if sample.keeping.cut else "priority"
    some = np.flatnonzero(sample.values)  # a weight of 0 has no priority; sampling never keeps one
    sample = replace(sample, cells=sample.cells[some], values=sample.values[some])
    if len(some) <= size:
        return replace(sample, publishing=name, wanted=size, short=True)
    stakes, unit = _stakes(sample.values, sample.threshold)
    kept, last, ticket = _highest(stakes, _tickets(len(stakes), draws), size)
    return replace(
        sample,
        publishing=name,
        cells=sample.cells[kept],
        values=sample.values[kept],
        wanted=size,
        threshold=Fraction(int(stakes[last]) << 2 * _HALF, unit * ticket),
    )


def _stakes(values: Integers, threshold: Fraction | None) -> tuple[Integers, int]:
    """max(w, τ) for every cell as integers, and how many of their units make one."""
    weights = np.abs(values)
    if threshold is None:
        return weights, 1
    units = exact_product(weights, threshold.denominator)
    if threshold.numerator >= 1 << 63:
        units = units.astype(object)
    return np.maximum(units, threshold.numerator), threshold.denominator


def _floats(stakes: Integers) -> NDArray[np.float64]:
    """The stakes as floats, all divided by one power of two.

    They have as many digits as the threshold that was typed, and a float ends at 10^308. The
    smallest keeps 64 bits, more than a float has.
    """
    spare = max(int(stakes.min()).bit_length() - 64, 0)
    return (stakes >> spare).astype(float)


def _tickets(size: int, draws: Draws) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """The two halves of u·2^126 − 1 for every cell: 126 bits, so that ties do not happen."""
    bounds = np.full(size, 1 << _HALF, dtype=np.uint64)
    return draws.uniforms_below(bounds), draws.uniforms_below(bounds)


def _highest(
    stakes: Integers, tickets: tuple[NDArray[np.uint64], NDArray[np.uint64]], size: int
) -> tuple[NDArray[np.int64], int, int]:
    """Positions of the ``size`` highest stake/ticket, in order; the next one, and its ticket.

    Floats find the few cells near the boundary; those are compared exactly. A cell whose quotient
    is off the boundary by the margin is on the same side of it in exact numbers.
    """
    high, low = tickets
    quotients = (high.astype(float) * 2.0**_HALF + low.astype(float) + 1) / _floats(stakes)
    boundary = np.partition(quotients, size)[size]
    surely = np.flatnonzero(quotients < boundary * (1 - _MARGIN))
    near = np.flatnonzero(np.abs(quotients - boundary) <= boundary * _MARGIN).tolist()
    exact = {i: (int(high[i]) << _HALF) + int(low[i]) + 1 for i in near}
    near.sort(key=lambda i: (Fraction(exact[i], int(stakes[i])), i))
    missing = size - len(surely)
    kept = np.sort(np.concatenate([surely, np.array(near[:missing], dtype=np.int64)]))
    return kept, near[missing], exact[near[missing]]
