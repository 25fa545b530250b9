"""FILTER(κ): the noisy counts of weight κ or more.

Contract. Relation: counts whose L1 distance is at most L. Output law: that of the whole noisy table
(scale L/ε), restricted to the cells with |v| ≥ κ, or with v ≥ κ if one-sided, sorted by cell: a
function of an ε-differentially private table. Two-sided κ = 0 keeps every cell: dense publishing.
The proof is in ``filter.md``.
"""

from __future__ import annotations

from crowdtally.curator.publishing.sampling import draw_sample
from crowdtally.curator.publishing.summary import Publishing, Summary
from crowdtally.noise.draws import Draws
from crowdtally.values.counts import Counts
from crowdtally.values.epsilon import Epsilon
from crowdtally.values.keeping import Keeping, Sides


def filter_summary(
    counts: Counts, epsilon: Epsilon, draws: Draws, *, cut: int, sides: Sides = "two"
) -> Summary:
    """The filtered table.

    Args:
        counts: the non-zero cells.
        epsilon: the cost.
        draws: where the noise comes from.
        cut: κ, public. One-sided, 0 keeps zeros too.
        sides: ``two`` for the noisy table, ``one`` for its positive part.
    """
    keeping = Keeping(cut, None, sides)
    scale = counts.l1_bound / epsilon.value
    cells, values = draw_sample(counts, scale, keeping, draws)
    name: Publishing = "dense" if keeping.keeps_all else "filter"
    return Summary(name, cells, values, counts.size, epsilon, counts.l1_bound, keeping)
