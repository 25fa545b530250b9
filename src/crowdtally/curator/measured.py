"""A table of distinct users with interval noise: everything public about it, made once.

Contract: for :class:`~crowdtally.core.counts.Memberships` the result satisfies
ε-differential privacy for the unit that the users are, however many cells a user is in. Output law:
count + z − (Σ of the phantoms' z)/(D+1), where Pr[z] ∝ e^(−ε(max z⁺ + max z⁻)) over the K cells and
D phantoms of one draw. With blocks, each user must be in the cells of one block only, and every
block has a draw of its own. The proof note is ``measured.md``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from crowdtally.core.counts import Keeping, Memberships
from crowdtally.core.layout import Layout
from crowdtally.core.numbers import exact_product, exact_sum, show, within_64_bits
from crowdtally.core.privacy import Epsilon, Price
from crowdtally.curator.pricing import pure
from crowdtally.curator.publishing.dense import Dense
from crowdtally.curator.publishing.publishing import Publishing
from crowdtally.curator.table import Table
from crowdtally.curator.transforms.none import Untransformed
from crowdtally.curator.transforms.transform import Transform
from crowdtally.errors import CrowdtallyError
from crowdtally.format import NoisyTable
from crowdtally.laws.interval import IntervalNoise
from crowdtally.ledger import Part
from crowdtally.noise.draws import Draws


@dataclass(frozen=True, eq=False)
class Measured:
    """One table of distinct users, before any record is read."""

    name: str
    """Its name, which is its file's."""
    part: str
    """The part of the split that pays for it."""
    layout: Layout
    """The public cells that are counted and published, all of them."""
    price: Epsilon
    """What it costs."""
    phantoms: int = 0
    """D: cells of true count 0 that are drawn beside the others, and show the common shift."""
    blocks: int = 1
    """h: how many groups of users there are, of which each user is in one: those of one context.
    Cell c of what is counted is of group c % h. 1 where a user may be in any cells."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What else its entry in ``release.json`` says."""

    transform: Transform = field(default=Untransformed(), init=False)
    """Cells are published as they are."""
    publishing: Publishing = field(default=Dense(), init=False)
    """Every cell is published."""

    def __post_init__(self) -> None:
        if self.layout.size % self.blocks:
            raise self._broken(f"{self.blocks} blocks that do not divide them")

    def priced(self, price: Price) -> Measured:
        """The same table for another price."""
        return replace(self, price=pure(price))

    @property
    def epsilon(self) -> Epsilon:
        """What it costs."""
        return self.price

    @property
    def cells(self) -> Layout:
        """The cells that are counted: those that are published."""
        return self.layout

    @property
    def settled(self) -> bool:
        """Nothing about it is chosen."""
        return True

    @property
    def l1_bound(self) -> int:
        """What one user changes every cell by at most, and the norm of the noise with it."""
        return 1

    @property
    def unit(self) -> Fraction:
        """What one counted user means as a count."""
        return Fraction(1)

    @cached_property
    def law(self) -> IntervalNoise:
        """The law of its noise."""
        return IntervalNoise(
            self.price.value, self.layout.size // self.blocks, self.phantoms, blocks=self.blocks
        )

    @property
    def keeping(self) -> Keeping:
        """All cells."""
        return Keeping()

    @property
    def expected_empty(self) -> float:
        """How many cells are published if nobody is in any: all."""
        return float(self.layout.size)

    def charge(self) -> Part:
        """What the ledger is told about it."""
        parameters = {"range_bound": 1, "cells": self.layout.size, "phantoms": self.phantoms}
        return Part(self.part, self.price, self.law.kind, parameters | self._blocks())

    def _blocks(self) -> dict[str, int]:
        return {"blocks": self.blocks} if self.blocks > 1 else {}

    def publish(self, counted: Memberships, draws: Draws) -> NoisyTable:
        """The table with its noise; it stops where the counts are not those it was charged for.

        Args:
            counted: the distinct users of every cell.
            draws: where the noise comes from.
        """
        if not isinstance(counted, Memberships):
            raise self._broken(f"counts that are not of distinct users ({type(counted).__name__})")
        if counted.size != self.layout.size:
            raise self._broken(f"{counted.size} cells")
        # In units of 1/(D+1). Held within 64 bits after the sum, which is post-processing.
        units = exact_product(counted.values, self.phantoms + 1)
        noisy = within_64_bits(exact_sum(units, self.law.draw(draws, counted.size)))
        facts = {
            "transform": self.transform.facts(),
            "epsilon": show(self.price.value),
            "sensitivity": self.l1_bound,
            "publishing": self.publishing.name,
            **self.facts,
        }
        return NoisyTable(self.name, self.layout, noisy, self.law, facts)

    def _broken(self, received: str) -> CrowdtallyError:
        return CrowdtallyError(
            f"the table {self.name!r} was charged for {self.layout.size} cells of distinct users, "
            f"and was handed {received}: this is a fault of the program, and nothing is released."
        )


AnyTable = Table | Measured
"""A table of a request, whatever noise it has."""
