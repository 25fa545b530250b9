"""Empty cells of a domain of any size, drawn as if each had been given discrete Gaussian noise.

What ``empty.py`` is for discrete Laplace noise. Contract. Relation: counts whose L2 distance is at
most Δ. Output law: that of the empty cells of the whole noisy table (variance σ², Δ²/(2σ²) = ρ)
restricted to |v| ≥ κ, or to v ≥ κ if one-sided. With the listed cells treated alike this is a
function of a ρ-zCDP table. The proof is in ``empty.md``: each cell is included with exactly the
probability below, and values follow the law given that.
"""

from __future__ import annotations

from fractions import Fraction

from crowdtally.curator.publishing.empty import unlisted
from crowdtally.errors import UsageError
from crowdtally.laws.gaussian import GaussianNoise
from crowdtally.noise.balls import Probability, Real
from crowdtally.noise.draws import Draws
from crowdtally.values.counts import Counts
from crowdtally.values.integers import Integers
from crowdtally.values.keeping import Keeping


def inclusion_probability(variance: Fraction, keeping: Keeping) -> Probability:
    """The exact probability that an empty cell is kept, as ever smaller balls around it."""
    _refuse_sampling(keeping)
    if keeping.keeps_all:
        return Fraction(1)
    law = GaussianNoise(variance)
    return Real.ball(
        ("gaussian inclusion", law.variance, keeping), lambda bits: law.inclusion(keeping)
    )


def empty_cells(counts: Counts, variance: Fraction, keeping: Keeping, draws: Draws) -> Integers:
    """Returns, sorted, the kept ones among the cells that are not listed."""
    return unlisted(counts, inclusion_probability(variance, keeping), draws)


def empty_values(size: int, variance: Fraction, keeping: Keeping, draws: Draws) -> Integers:
    """Returns ``size`` values distributed as the noise of an empty cell, given that it is kept."""
    _refuse_sampling(keeping)
    if keeping.keeps_all:
        return draws.gaussian(variance, size)
    return draws.gaussian_beyond(variance, keeping.least, keeping.sides, size)


def _refuse_sampling(keeping: Keeping) -> None:
    """A sample of what a filter kept is post-processing: it needs no short cut of its own."""
    if keeping.samples:
        raise UsageError(
            "Gaussian noise is filtered first and sampled afterwards: ask for the empty cells of "
            "the cut alone."
        )
