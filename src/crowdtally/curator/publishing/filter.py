"""FILTER(κ): the noisy counts of weight κ or more.

Contract. Relation: counts whose distance is within their bound. Output law: that of the whole noisy
table (``dense.py``), restricted to the cells with |v| ≥ κ, or with v ≥ κ if one-sided, sorted by
cell: a function of a private table, at its price. Two-sided κ = 0 keeps every cell, as dense
publishing does. The proof is in ``filter.md``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from crowdtally.core.counts import Counts, Keeping, Sides
from crowdtally.core.privacy import Price
from crowdtally.curator.pricing import cost_facts, noise_of
from crowdtally.curator.publishing.ancestors import without_orphans
from crowdtally.curator.publishing.publishing import LARGEST_SUMMARY, Charged, Noisy, given_cut
from crowdtally.curator.publishing.sampling import draw_sample
from crowdtally.curator.publishing.sizes import cut_for, given_size
from crowdtally.curator.publishing.summary import SampleName, Summary
from crowdtally.errors import UsageError
from crowdtally.laws.base import CellNoise
from crowdtally.noise.draws import Draws


@dataclass(frozen=True)
class Filter:
    """The noisy counts of κ or more; nodes of a tree only with all their ancestors."""

    name: ClassVar[str] = "filter"
    takes: ClassVar[frozenset[str]] = frozenset({"cut", "size", "sides"})
    leaves_out: ClassVar[bool] = True
    largest: ClassVar[int] = LARGEST_SUMMARY

    cut: int | None
    """κ as a count; None where it follows from the size."""
    size: int | None
    """S: how many empty cells may be expected to pass."""
    sides: Sides
    """Whether large negative noisy counts are kept too."""

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Filter:
        """From ``cut`` or ``size``, and ``sides``."""
        if options["cut"] is None and options["size"] is None:
            raise UsageError("a filter needs --cut K, or --size S to find one.")
        return cls(given_cut(options), given_size(options), options["sides"])

    @property
    def wanted(self) -> int | None:
        """No fixed number."""
        return None

    def keeping(self, cells: int, law: CellNoise, *, tree: bool) -> Keeping:
        """κ and nothing else."""
        return Keeping(cut_for(self.cut, self.size, cells, law, self.sides), None, self.sides)

    def draw(self, charged: Charged, draws: Draws) -> Noisy:
        """The filtered table."""
        return filtered(charged, draws).noisy()


def filtered(charged: Charged, draws: Draws) -> Summary:
    """What passes the cut; of a tree, with all its ancestors."""
    cut, sides = charged.keeping.cut, charged.keeping.sides
    summary = filter_summary(charged.counts, charged.price, draws, cut=cut, sides=sides)
    return summary if charged.tree is None else without_orphans(summary, charged.tree)


def filter_summary(
    counts: Counts, price: Price, draws: Draws, *, cut: int, sides: Sides = "two"
) -> Summary:
    """The filtered table.

    Args:
        counts: the non-zero cells.
        price: the cost.
        draws: where the noise comes from.
        cut: κ, public. One-sided, 0 keeps zeros too.
        sides: ``two`` for the noisy table, ``one`` for its positive part.
    """
    keeping = Keeping(cut, None, sides)
    cells, values = draw_sample(counts, noise_of(counts, price), keeping, draws)
    name: SampleName = "dense" if keeping.keeps_all else "filter"
    return Summary(name, cells, values, counts.size, cost_facts(counts, price), keeping)
