"""Filter and threshold summaries."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from crowdtally.core.counts import Counts, Keeping, Sides
from crowdtally.core.numbers import Number, whole_number
from crowdtally.core.privacy import Price
from crowdtally.core.values import value
from crowdtally.curator.pricing import cost_facts, noise_of
from crowdtally.curator.summaries import sparse
from crowdtally.curator.summaries.base import LARGEST_SUMMARY, Charged, Noisy, SampleName, Summary
from crowdtally.errors import UsageError
from crowdtally.laws.base import CellNoise
from crowdtally.noise.draws import Draws

# FILTER(κ): the noisy counts of weight κ or more.
#
# Contract. Relation: counts whose distance is within their bound. Output law: that of the whole
# noisy table (``dense.py``), restricted to the cells with |v| ≥ κ, or with v ≥ κ if one-sided,
# sorted by cell: a function of a private table, at its price. Two-sided κ = 0 keeps every cell,
# as dense publishing does. The proof is in ``filter.md``.


@value
@dataclass(frozen=True)
class Filter:
    """The noisy counts of κ or more; nodes of a tree only with all their ancestors."""

    name: ClassVar[str] = "filter"
    leaves_out: ClassVar[bool] = True
    largest: ClassVar[int] = LARGEST_SUMMARY
    wanted: ClassVar[None] = None

    cut: int | None = None
    """Noisy counts nearer to 0 are dropped. Without one it follows from the size."""
    size: int | None = None
    """How many cells to publish, about: so many empty ones may be expected to pass."""
    sides: Sides = "two"
    """``one`` keeps positive noisy counts alone, ``two`` both signs."""

    def __post_init__(self) -> None:
        if self.cut is None and self.size is None:
            raise UsageError("Filter needs a cut, or a size to find one: such as size=3000.")
        sparse.check_fields(self)

    def keeping(self, cells: int, law: CellNoise, *, tree: bool) -> Keeping:
        return Keeping(
            sparse.cut_for(self.cut, self.size, cells, law, self.sides), None, self.sides
        )

    def draw(self, charged: Charged, draws: Draws) -> Noisy:
        return filtered(charged, draws).noisy()


def filtered(charged: Charged, draws: Draws) -> Summary:
    cut, sides = charged.keeping.cut, charged.keeping.sides
    summary = filter_summary(charged.counts, charged.price, draws, cut=cut, sides=sides)
    return summary if charged.tree is None else sparse.without_orphans(summary, charged.tree)


def filter_summary(
    counts: Counts, price: Price, draws: Draws, *, cut: int, sides: Sides = "two"
) -> Summary:
    """The filtered table; one-sided, κ = 0 keeps zeros too."""
    keeping = Keeping(cut, None, sides)
    cells, values = sparse.draw_sample(counts, noise_of(counts, price), keeping, draws)
    name: SampleName = "dense" if keeping.keeps_all else "filter"
    return Summary(name, cells, values, counts.size, cost_facts(counts, price), keeping)


# THRESHOLD(τ) and FILTER+THRESHOLD(κ, τ): a sample in proportion to the noisy counts.
#
# Contract. Relation: counts whose L1 distance is at most L. Output law: as if the whole noisy
# table (scale L/ε) had been built, weights below κ dropped and each other weight w kept
# independently with probability min(w/τ, 1), sorted by cell: post-processing of an
# ε-differentially private table. The proof is in ``threshold.md``.


@value
@dataclass(frozen=True)
class Threshold:
    """Each noisy count w with probability min(w/τ, 1)."""

    name: ClassVar[str] = "threshold"
    leaves_out: ClassVar[bool] = True
    largest: ClassVar[int] = LARGEST_SUMMARY
    wanted: ClassVar[None] = None

    threshold: Number | None = None
    """Noisy counts nearer to 0 are kept in proportion to them. Without one it follows from the
    size."""
    size: int | None = None
    """How many cells to publish, about."""
    sides: Sides = "two"
    """``one`` keeps positive noisy counts alone, ``two`` both signs."""
    guess_total: int = 0
    """A public guess of the table's total count, to find the threshold by."""

    def __post_init__(self) -> None:
        if self.threshold is None and self.size is None:
            raise UsageError(
                "Threshold needs a threshold, or a size to find one: such as size=3000."
            )
        sparse.check_fields(self)
        whole_number(self.guess_total, "guess_total of Threshold", 0, sparse.LARGEST_GUESS)

    def keeping(self, cells: int, law: CellNoise, *, tree: bool) -> Keeping:
        if self.threshold is not None:
            return Keeping(0, Fraction(self.threshold) / law.unit, self.sides)
        guess = int(self.guess_total / law.unit)
        tau = sparse.sampling_threshold(cells, self.size or 1, law, sides=self.sides, total=guess)
        return Keeping(0, tau, self.sides)

    def draw(self, charged: Charged, draws: Draws) -> Noisy:
        return sampled(charged, draws).noisy()


def sampled(charged: Charged, draws: Draws) -> Summary:
    """What a rule with a τ keeps; with κ ≥ τ it is the filter κ."""
    counts, price, keeping = charged.counts, charged.price, charged.keeping
    cells, values = sparse.draw_sample(counts, noise_of(counts, price), keeping, draws)
    name: SampleName = "filter-threshold" if keeping.cut else "threshold"
    facts = cost_facts(counts, price)
    return Summary(name, cells, values, counts.size, facts, keeping, keeping.threshold)
