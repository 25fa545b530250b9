"""What noise costs a table at a bound: the mean of its absolute value in one cell.

Laplace noise of scale θ/ε is θ/ε away from 0 in the mean; Gaussian noise for counts that one user
changes by at most Δ in L2 is Δ/√(πρ) away, with Δ = θ, or √θ where a user counts once in a cell
(rounded: what a score says is public beside the counts, and decides how good a choice is, never
what it costs).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import pi, sqrt

from crowdtally.core.privacy import Epsilon, Price

_FINE = 1 << 20


@dataclass(frozen=True)
class NoiseCost:
    """In whole units, of which a count has :attr:`unit`.

    >>> NoiseCost(Epsilon.of("3/2")).at(10), NoiseCost(Epsilon.of("3/2")).unit
    (20, 3)
    """

    price: Price
    """What the table is published for."""
    rooted: bool = False
    """Whether one user changes it by √θ in L2."""

    @property
    def unit(self) -> int:
        """Units of a count: a where ε = a/b, so that Laplace noise is not even rounded."""
        return self.price.value.numerator if isinstance(self.price, Epsilon) else _FINE

    def at(self, theta: int) -> int:
        """Of one cell at the bound θ."""
        if isinstance(self.price, Epsilon):
            return self.price.value.denominator * theta
        return self._gaussian(sqrt(theta) if self.rooted else theta)

    def step(self, theta: int) -> int:
        """What it grows by where θ grows by 1."""
        if isinstance(self.price, Epsilon):
            return self.price.value.denominator
        return self._gaussian(1 / (2 * sqrt(theta)) if self.rooted else 1)

    def _gaussian(self, distance: float) -> int:
        return round(_FINE * distance / sqrt(pi * float(self.price.value)))
