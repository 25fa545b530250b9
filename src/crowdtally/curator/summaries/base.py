"""What every way to publish answers, and what it publishes; dense publishing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal, Protocol

from numpy.typing import NDArray

from crowdtally.core.counts import Counts, Keeping, Sides
from crowdtally.core.hierarchy import Dyadic
from crowdtally.core.integers import Integers, exact_sum, within_64_bits
from crowdtally.core.numbers import show
from crowdtally.core.privacy import Price
from crowdtally.core.values import value
from crowdtally.curator.pricing import cost_facts, noise_of
from crowdtally.laws.base import CellNoise
from crowdtally.noise.draws import Draws

LARGEST_SUMMARY = 200_000_000


@dataclass(frozen=True, eq=False)
class Charged:
    """Exact counts, and the public parameters that were charged for."""

    counts: Counts
    price: Price
    keeping: Keeping
    tree: Dyadic | None = None
    """The tree of the counted nodes, if a dropped node drops those below it."""


@dataclass(frozen=True, eq=False)
class Noisy:
    """Noisy counts, safe to show to anyone."""

    values: NDArray[Any]
    """In units, in the order of the cells."""
    cells: NDArray[Any] | None
    """Numbers of the cells, ascending; None for all."""
    facts: Mapping[str, Any]


class Publishing(Protocol):
    """A public rule that says which noisy counts are published.

    Contract: for counts whose bounds are true, :meth:`draw` costs the unit that they are about no
    more than the price: ε, or ρ of zCDP. Everything else here follows from public numbers.
    """

    name: ClassVar[str]
    """What ``release.json`` calls it."""
    leaves_out: ClassVar[bool]
    """Whether only some cells are published."""
    largest: ClassVar[int]
    """Published cells beyond which a request is refused: about 20 GB while they are written."""

    @property
    def sides(self) -> Sides:
        """Whether large negative noisy counts are kept too."""

    @property
    def size(self) -> int | None:
        """S: how many cells were asked for, about; None where nothing was."""

    @property
    def wanted(self) -> int | None:
        """S: the most cells that are published, where that is fixed."""

    def keeping(self, cells: int, law: CellNoise, *, tree: bool) -> Keeping:
        """The rule by which cells are kept, in units.

        Of the nodes of a ``tree`` those below a dropped one go too, before any are sampled.
        """

    def draw(self, charged: Charged, draws: Draws) -> Noisy:
        """The published noisy counts."""


# Dense publishing: every cell of the public table, its count plus noise.
#
# Contract: for counts of L1 bound L a price of ε satisfies ε-differential privacy for the unit
# that the bound is about, and for counts of L2 bound Δ a price of ρ satisfies ρ-zCDP. Output law:
# independently for each cell, count + X with Pr[X = k] ∝ e^(−|k|·ε/L), or ∝ e^(−k²·ρ/Δ²). The
# proof note is ``dense.md``.


@value
@dataclass(frozen=True)
class Dense:
    """Every cell."""

    name: ClassVar[str] = "dense"
    leaves_out: ClassVar[bool] = False
    largest: ClassVar[int] = 500_000_000
    sides: ClassVar[Sides] = "two"
    size: ClassVar[None] = None
    wanted: ClassVar[None] = None

    def keeping(self, cells: int, law: CellNoise, *, tree: bool) -> Keeping:
        return Keeping()

    def draw(self, charged: Charged, draws: Draws) -> Noisy:
        return dense(charged.counts, charged.price, draws)


def dense(counts: Counts, price: Price, draws: Draws) -> Noisy:
    """Every cell with noise, zeros included."""
    law = noise_of(counts, price)
    # Held within 64 bits after the sum, which is post-processing, so it costs nothing.
    noisy = within_64_bits(exact_sum(counts.dense(), law.draw(draws, counts.size)))
    return Noisy(noisy, None, {**cost_facts(counts, price), "publishing": "dense"})


SampleName = Literal[
    "dense", "filter", "threshold", "filter-threshold", "priority", "filter-priority"
]


@dataclass(frozen=True, eq=False)
class Summary:
    """A sparse noisy table, safe to show to anyone."""

    publishing: SampleName
    cells: Integers
    """Numbers of the published cells, ascending and distinct."""
    values: Integers
    """As drawn: what a reader makes of them depends on ``threshold``."""
    size: int
    """N: cells of the public domain."""
    cost: Mapping[str, Any]
    keeping: Keeping
    threshold: Fraction | None = None
    """The least that a reader counts a kept cell for: τ, or τ_S of a priority sample."""
    wanted: int | None = None
    short: bool = False
    """Whether a priority sample had no more than S cells, and published all of them."""
    consistency: Literal["none", "ancestors"] = "none"
    """Whether nodes below a dropped node were dropped too."""

    def facts(self) -> dict[str, Any]:
        return {
            "publishing": self.publishing,
            **self.cost,
            "domain_cells": self.size,
            "published_cells": len(self.cells),
            "sides": self.keeping.sides,
            "cut": self.keeping.cut,
            "sampling_threshold": _shown(self.keeping.threshold),
            "estimating_threshold": _shown(self.threshold),
            "size": self.wanted,
            "short": self.short,
            "consistency": self.consistency,
        }

    def noisy(self) -> Noisy:
        return Noisy(self.values, self.cells, self.facts())


def _shown(number: Fraction | None) -> str | None:
    return None if number is None else show(number)
