"""Dense publishing: every cell of the public table, its count plus noise.

Contract: for counts of L1 bound L a price of ε satisfies ε-differential privacy for the unit that
the bound is about, and for counts of L2 bound Δ a price of ρ satisfies ρ-zCDP. Output law:
independently for each cell, count + X with Pr[X = k] ∝ e^(−|k|·ε/L), or ∝ e^(−k²·ρ/Δ²). The proof
note is ``dense.md``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from crowdtally.core.counts import Counts, Keeping, Sides
from crowdtally.core.numbers import exact_sum, within_64_bits
from crowdtally.core.privacy import Price
from crowdtally.curator.pricing import cost_facts, noise_of
from crowdtally.curator.publishing.publishing import Charged, Noisy
from crowdtally.laws.base import CellNoise
from crowdtally.noise.draws import Draws


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

    def keeping(self, cells: int, law: CellNoise, *, tree: bool) -> Keeping:
        """Nothing is dropped."""
        return Keeping()

    def draw(self, charged: Charged, draws: Draws) -> Noisy:
        """The whole table."""
        return dense(charged.counts, charged.price, draws)


def dense(counts: Counts, price: Price, draws: Draws) -> Noisy:
    """Every cell with the noise that the price asks for, zeros included."""
    law = noise_of(counts, price)
    # Held within 64 bits after the sum, which is post-processing, so it costs nothing.
    noisy = within_64_bits(exact_sum(counts.dense(), law.draw(draws, counts.size)))
    return Noisy(noisy, None, {**cost_facts(counts, price), "publishing": "dense"})
