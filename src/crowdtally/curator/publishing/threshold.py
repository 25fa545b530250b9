"""THRESHOLD(τ) and FILTER+THRESHOLD(κ, τ): a sample in proportion to the noisy counts.

Contract. Relation: counts whose L1 distance is at most L. Output law: as if the whole noisy table
(scale L/ε) had been built, weights below κ dropped and each other weight w kept independently with
probability min(w/τ, 1), sorted by cell: post-processing of an ε-differentially private table. The
proof is in ``threshold.md``.
"""

from __future__ import annotations

from fractions import Fraction

from crowdtally.curator.publishing.sampling import draw_sample
from crowdtally.curator.publishing.summary import Publishing, Summary
from crowdtally.noise.draws import Draws
from crowdtally.values.counts import Counts
from crowdtally.values.epsilon import Epsilon
from crowdtally.values.keeping import Keeping, Sides


def threshold_summary(
    counts: Counts,
    epsilon: Epsilon,
    draws: Draws,
    *,
    threshold: Fraction,
    cut: int = 0,
    sides: Sides = "two",
) -> Summary:
    """The sample. With κ ≥ τ it is the filter κ.

    Args:
        counts: the non-zero cells.
        epsilon: the cost.
        draws: where the noise comes from.
        threshold: τ > 0, public; any rational.
        cut: κ, public; 0 for none.
        sides: ``two`` for the noisy table, ``one`` for its positive part.
    """
    keeping = Keeping(cut, threshold, sides)
    scale = counts.l1_bound / epsilon.value
    cells, values = draw_sample(counts, scale, keeping, draws)
    name: Publishing = "filter-threshold" if cut else "threshold"
    return Summary(name, cells, values, counts.size, epsilon, counts.l1_bound, keeping, threshold)
