"""Dense publishing: every cell of the public table, its count plus discrete Laplace noise.

Contract: for counts of L1 bound L the result satisfies ε-differential privacy for the unit that
the bound is about. Output law: independently for each cell, count + X with
Pr[X = k] ∝ e^(−|k|·ε/L). The proof note is ``dense.md``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from crowdtally.curator.publishing.publishing import Charged, Noisy
from crowdtally.laws.laplace import DiscreteLaplace
from crowdtally.noise.draws import Draws
from crowdtally.values.counts import Counts
from crowdtally.values.epsilon import Epsilon
from crowdtally.values.integers import exact_sum, within_64_bits
from crowdtally.values.keeping import Keeping, Sides
from crowdtally.values.rational import show


@dataclass(frozen=True)
class Dense:
    """Every cell."""

    name: ClassVar[str] = "dense"
    takes: ClassVar[frozenset[str]] = frozenset()
    leaves_out: ClassVar[bool] = False
    largest: ClassVar[int] = 500_000_000

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Dense:
        """It has no options."""
        return cls()

    @property
    def sides(self) -> Sides:
        """Both."""
        return "two"

    @property
    def size(self) -> int | None:
        """Nothing was asked for."""
        return None

    @property
    def wanted(self) -> int | None:
        """All."""
        return None

    def keeping(self, cells: int, law: DiscreteLaplace, *, tree: bool) -> Keeping:
        """Nothing is dropped."""
        return Keeping()

    def draw(self, charged: Charged, draws: Draws) -> Noisy:
        """The whole table."""
        return dense(charged.counts, charged.epsilon, draws)


def dense(counts: Counts, epsilon: Epsilon, draws: Draws) -> Noisy:
    """Every cell with noise of scale L/ε, zeros included."""
    law = DiscreteLaplace(counts.l1_bound / epsilon.value, counts.unit)
    # Held within 64 bits after the sum, which is post-processing, so it costs nothing.
    noisy = within_64_bits(exact_sum(counts.dense(), law.draw(draws, counts.size)))
    facts: dict[str, Any] = {
        "epsilon": show(epsilon.value),
        "sensitivity": counts.l1_bound,
        "publishing": "dense",
    }
    return Noisy(noisy, None, facts)
