"""DPSense's choice of θ (Day & Li 2015, Algorithm 1, without its factor ½).

Contract. Relation: all records of one user added or removed. Score q(θ) = (1/N)·Σ_u min(RC_u, θ) −
noise(θ), which is θ/ε_p for Laplace noise, and public for any; one user moves all scores the same
way, each by at most Δ = θ_max/N. Output law: θ of {1..θ_max} with Pr ∝ exp(ε_c·q(θ)/Δ), which is
ε_c-differentially private. The proof is in ``dpsense.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate

import numpy as np

from crowdtally.core.privacy import Epsilon, Price
from crowdtally.curator.choosing.candidates import check_theta
from crowdtally.curator.choosing.noise_cost import NoiseCost
from crowdtally.curator.choosing.rows import RowSums
from crowdtally.noise.draws import Draws


@dataclass(frozen=True)
class DPSenseChoice:
    """Every public parameter of the choice.

    >>> from crowdtally.noise.draws import SystemDraws
    >>> choice = DPSenseChoice(
    ...     cells=100, most=20, epsilon=Epsilon.of(10**6), published=Epsilon.of(1)
    ... )
    >>> choice.pick(RowSums(np.array([3, 20]), np.array([500, 10])), SystemDraws())
    3
    """

    cells: int
    """N: the number of columns, each of which will get noise."""
    most: int
    """θ_max: the largest candidate."""
    epsilon: Epsilon
    """ε_c: what the choice costs."""
    published: Price
    """With what the counts will be published once θ is known: ε_p, or ρ."""
    cap: int = 1
    """r: the most that a user counts in one column; θ_max may go up to r·N."""
    rooted: bool = False
    """Whether one user changes the published counts by √θ in L2, not by θ."""

    def __post_init__(self) -> None:
        check_theta(self.most, self.cells, self.cap, self.most)

    @property
    def candidates(self) -> range:
        """Every θ, whatever the largest row: what no row reaches is a candidate too."""
        return range(1, self.most + 1)

    def scores(self, rows: RowSums) -> list[int]:
        """N·a·q(θ) for each candidate, a units per count: a·Σ_u min(RC_u, θ) − N·(a times noise).

        One user adds a·min(RC_u, θ) to the score of θ: between 0 and a·θ_max.
        """
        cost = self._cost
        # min(RC, θ) counts the t < θ that RC exceeds, so the kept totals are running sums. They
        # are Python's integers: a has as many digits as the curator typed.
        kept = accumulate(rows.above(np.arange(self.most)).tolist())
        return [
            cost.unit * total - self.cells * cost.at(theta)
            for theta, total in zip(self.candidates, kept, strict=True)
        ]

    @property
    def rate(self) -> Fraction:
        """ε_c/Δ for scores in the units of :meth:`scores`: ε_c/(a·θ_max). No ½: see the proof."""
        return self.epsilon.value / (self._cost.unit * self.most)

    @property
    def _cost(self) -> NoiseCost:
        return NoiseCost(self.published, self.rooted)

    def pick(self, rows: RowSums, draws: Draws) -> int:
        """Returns θ distributed as Pr ∝ exp(ε_c·q(θ)/Δ) over all candidates."""
        return self.candidates[draws.choose(self.scores(rows), self.rate)]
