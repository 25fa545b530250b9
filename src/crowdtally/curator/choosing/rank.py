"""The rank rule: the bound that the right number of users exceed.

Contract. Relation: all records of one user added or removed. Score −|#{u: RC_u > θ} − N·C/ε_p|, of
sensitivity 1, both ways; for Gaussian noise 1/ε_p is another public number, what the mean absolute
noise grows by where θ grows by 1. Output law: θ of the public candidates with Pr ∝
exp(ε_c·score/2), which is ε_c-differentially private. The proof is in ``rank.md``.

It chooses θ for DPSense, and l for SRA and HPA: there RC_u is the number of
user u's records, or of distinct cells where users are counted. C is 1 without a quantity.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from crowdtally.core.numbers import whole_number
from crowdtally.core.privacy import Epsilon, Price
from crowdtally.curator.choosing.candidates import MOST_CANDIDATES
from crowdtally.curator.choosing.noise_cost import NoiseCost
from crowdtally.curator.choosing.rows import RowSums
from crowdtally.errors import UsageError
from crowdtally.noise.draws import Draws


@dataclass(frozen=True)
class RankChoice:
    """Every public parameter of the choice.

    >>> from crowdtally.curator.choosing.candidates import log_spaced
    >>> from crowdtally.noise.draws import SystemDraws
    >>> choice = RankChoice(100, log_spaced(1000), Epsilon.of(10**6), Epsilon.of(1))
    >>> choice.pick(RowSums(np.array([3, 20]), np.array([500, 100])), SystemDraws()) in range(3, 20)
    True
    """

    cells: int
    """N: the number of cells, each of which will get noise."""
    candidates: tuple[int, ...]
    """The public bounds to choose from, as :func:`log_spaced` makes them."""
    epsilon: Epsilon
    """ε_c: what the choice costs."""
    published: Price
    """With what the counts will be published once the bound is known: ε_p, or ρ."""
    times: int = 1
    """C: noise has scale θ·C/ε_p where a record counts up to C times. Public."""
    rooted: bool = False
    """Whether one user changes the published counts by √θ in L2, not by θ."""

    def __post_init__(self) -> None:
        if self.cells < 1:  # of any size: it only shifts the scores
            raise UsageError(f"the number of cells must be at least 1: received {self.cells!r}.")
        for candidate in self.candidates:
            whole_number(candidate, "a bound to choose from", 1, 2**62)
        if not 1 <= len(set(self.candidates)) == len(self.candidates) <= MOST_CANDIDATES:
            raise UsageError(
                f"the bounds to choose from must be distinct, and between 1 and {MOST_CANDIDATES} "
                f"of them: received {len(self.candidates)}."
            )

    def scores(self, rows: RowSums) -> list[int]:
        """−|a·#{u: RC_u > θ} − N·C·(a times the step of the noise)|: a times the score."""
        cost = NoiseCost(self.published, self.rooted)
        above = rows.above(np.array(self.candidates, dtype=np.int64)).tolist()
        return [
            -abs(cost.unit * users - cost.step(theta) * self.cells * self.times)
            for theta, users in zip(self.candidates, above, strict=True)
        ]

    @property
    def rate(self) -> Fraction:
        """ε_c/2 for scores in the units of :meth:`scores`: ε_c/(2a)."""
        return self.epsilon.value / (2 * NoiseCost(self.published, self.rooted).unit)

    def pick(self, rows: RowSums, draws: Draws) -> int:
        """Returns a candidate distributed as Pr ∝ exp(ε_c·score/2) over all of them."""
        return self.candidates[draws.choose(self.scores(rows), self.rate)]
