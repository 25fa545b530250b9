"""The tables of a release: everything public about each, made once, read by everybody.

``plan`` shows a table, the checks before the charge look at it, the charge states its bound, the
questions publish by it and ``release.json`` describes it. So no two of them can disagree.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Self

import numpy as np

from crowdtally.core.counts import Counts, Keeping, Memberships
from crowdtally.core.hierarchy import Dyadic
from crowdtally.core.integers import exact_product, exact_sum, within_64_bits
from crowdtally.core.layout import Layout
from crowdtally.core.numbers import show
from crowdtally.core.privacy import Epsilon, Price
from crowdtally.curator.pricing import noise_of, noise_part, pure
from crowdtally.curator.summaries.base import Charged, Dense, Publishing
from crowdtally.curator.summaries.sparse import expected_size
from crowdtally.curator.transforms.base import Transform, Untransformed
from crowdtally.errors import CrowdtallyError
from crowdtally.format import NoisyTable
from crowdtally.laws.base import NoiseLaw
from crowdtally.laws.interval import IntervalNoise
from crowdtally.ledger import Part
from crowdtally.noise.draws import Draws


@dataclass(frozen=True, eq=False)
class Table:
    """One table, before any record is read."""

    name: str
    """Its file has this name too."""
    part: str
    cells: Layout
    """The cells that are counted."""
    price: Price
    bound: int
    """What one user can change in its counts, in L1, in units; see :attr:`settled`."""
    unit: Fraction = Fraction(1)
    transform: Transform = Untransformed()  # noqa: RUF009 - frozen and without fields
    publishing: Publishing = Dense()  # noqa: RUF009
    settled: bool = True
    """Whether bound and unit are known; else they are the most that a private choice may take."""
    squared: int | None = None
    """The square of what one user can change in its counts in L2; None where L1 says no less."""

    def priced(self, price: Price) -> Self:
        return replace(self, price=price)

    @property
    def epsilon(self) -> Epsilon:
        return pure(self.price)

    @cached_property
    def layout(self) -> Layout:
        """What is published: cells, nodes, coefficients or buckets."""
        return self.transform.layout(self.cells)

    @property
    def l1_bound(self) -> int:
        """What one user can change in what is published, in units."""
        return self.bound * self.transform.factor(self.cells)

    @property
    def l2_squared(self) -> int:
        """The square of what one user can change in L2 in what is published, in units squared.

        A transform adds a user's cells up, so that what is known of their L2 norm is lost.
        """
        if self.squared is not None and isinstance(self.transform, Untransformed):
            return self.squared
        return self.bound**2 * self.transform.l2_factor(self.cells)

    @property
    def law(self) -> NoiseLaw:
        return noise_of(self, self.price)

    @cached_property
    def tree(self) -> Dyadic | None:
        """The tree whose nodes are published, if it has an ancestor rule."""
        return self.transform.tree(self.cells)

    @cached_property
    def keeping(self) -> Keeping:
        law = noise_of(self, self.price)
        return self.publishing.keeping(self.layout.size, law, tree=self.tree is not None)

    @property
    def expected_empty(self) -> float:
        """How many cells are published on average if nobody is in any."""
        return expected_size(self.layout.size, noise_of(self, self.price), self.keeping)

    def settle(self, bound: int, unit: Fraction, squared: int | None = None) -> Self:
        """The same table once its bound was chosen; never beyond what was charged for."""
        if self.settled or bound > self.bound or unit > self.unit:
            raise self._broken(f"a bound of {bound}·{show(unit)}")
        return replace(self, bound=bound, unit=unit, squared=squared, settled=True)

    def charge(self) -> Part:
        """What the ledger is told about it."""
        return self._charge

    @cached_property
    def _charge(self) -> Part:  # a rehearsal pays it thousands of times
        return noise_part(self.part, self, self.price, settled=self.settled)

    def publish(self, counts: Counts | Memberships, draws: Draws) -> NoisyTable:
        """The table with its noise. Exact counts that it was not charged for are refused."""
        if not isinstance(counts, Counts):
            raise self._broken("the users of cells")
        made = self.transform.apply(counts, self.cells)
        charged = (self.l1_bound, self.l2_squared, self.unit, self.layout.size)
        found = (made.l1_bound, made.l2_squared, made.unit, made.size)
        if not self.settled or found != charged:
            raise self._broken(f"{made.size} cells of bound {made.l1_bound}·{show(made.unit)}")
        noisy = self.publishing.draw(Charged(made, self.price, self.keeping, self.tree), draws)
        facts = {"transform": self.transform.facts(), **noisy.facts}
        return NoisyTable(self.name, self.layout, noisy.values, self.law, facts, cells=noisy.cells)

    def _broken(self, received: str) -> CrowdtallyError:
        return CrowdtallyError(
            f"the table {self.name!r} was charged for {self.layout.size} cells of "
            f"{self._counted()}, and was handed {received}: this is a fault of the program, and "
            "nothing is released."
        )

    def _counted(self) -> str:
        return f"bound {self.l1_bound}·{show(self.unit)}"


@dataclass(frozen=True, eq=False)
class Measured(Table):
    """A table of distinct users with interval noise.

    Contract: for :class:`~crowdtally.core.counts.Memberships` the result satisfies ε-differential
    privacy for the unit that the users are, however many cells a user is in. Output law: count + z
    − (Σ of the phantoms' z)/(D+1), where Pr[z] ∝ e^(−ε(max z⁺ + max z⁻)) over the K cells and D
    phantoms of one draw. With blocks, each user must be in the cells of one block only, and every
    block has a draw of its own. The proof note is ``measured.md``.
    """

    bound: int = field(default=1, init=False)
    """What one user changes every cell by at most, and the norm of the noise with it."""
    phantoms: int = field(default=0, kw_only=True)
    """D: cells of true count 0 that are drawn beside the others, and show the common shift."""
    blocks: int = field(default=1, kw_only=True)
    """h: how many groups of users there are, of which each user is in one: those of one context.
    Cell c of what is counted is of group c % h. 1 where a user may be in any cells."""

    def __post_init__(self) -> None:
        if self.layout.size % self.blocks:
            raise self._broken(f"{self.blocks} blocks that do not divide them")

    @cached_property
    def law(self) -> IntervalNoise:
        size = self.layout.size // self.blocks
        return IntervalNoise(self.epsilon.value, size, self.phantoms, blocks=self.blocks)

    @cached_property
    def _charge(self) -> Part:
        parameters = {"range_bound": 1, "cells": self.layout.size, "phantoms": self.phantoms}
        if self.blocks > 1:
            parameters["blocks"] = self.blocks
        return Part(self.part, self.epsilon, self.law.kind, parameters)

    def publish(self, counted: Counts | Memberships, draws: Draws) -> NoisyTable:
        if not isinstance(counted, Memberships):
            raise self._broken(f"counts that are not of distinct users ({type(counted).__name__})")
        if counted.size != self.layout.size:
            raise self._broken(f"{counted.size} cells")
        # In units of 1/(D+1). Held within 64 bits after the sum, which is post-processing.
        units = exact_product(counted.values, self.phantoms + 1)
        noisy = within_64_bits(exact_sum(units, self.law.draw(draws, counted.size)))
        facts = {
            "transform": self.transform.facts(),
            "epsilon": show(self.epsilon.value),
            "sensitivity": self.l1_bound,
            "publishing": self.publishing.name,
        }
        return NoisyTable(self.name, self.layout, noisy, self.law, facts)

    def _counted(self) -> str:
        return "distinct users"


AnyTable = Table


@dataclass(frozen=True, eq=False)
class MembersTable(Table):
    """A table of distinct users with Gaussian noise, where it is paid for in ρ.

    Contract: one user changes every cell by 0 or 1, in as many cells as she is in; with blocks, in
    the cells of one block only. So she changes K cells at most, K those of one block, by at most √K
    in L2, and discrete Gaussian noise of variance K/(2ρ) on each cell is ρ-zCDP. Nobody is bounded.
    """

    def publish(self, counts: Counts | Memberships, draws: Draws) -> NoisyTable:
        if not isinstance(counts, Memberships):
            raise self._broken("counts that are not of distinct users")
        cells = np.arange(counts.size)
        users = Counts(counts.size, cells, counts.values, self.bound, squared=self.squared)
        return super().publish(users, draws)


def members_table(
    name: str, part: str, layout: Layout, price: Price, phantoms: int, blocks: int = 1
) -> Measured | MembersTable:
    """The table of distinct users for a price: interval noise for ε, Gaussian noise for ρ."""
    if isinstance(price, Epsilon):
        return Measured(name, part, layout, price, phantoms=phantoms, blocks=blocks)
    most = layout.size // blocks
    return MembersTable(name, part, layout, price, most, squared=most)
