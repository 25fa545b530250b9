"""A table of a release: everything public about it, made once, read by everybody.

``plan`` shows it, the checks before the charge look at it, the charge states its bound, the steps
publish by it and ``release.json`` describes it. So no two of them can disagree.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

from crowdtally.core.counts import Counts, Keeping
from crowdtally.core.hierarchy import Dyadic
from crowdtally.core.layout import Layout
from crowdtally.core.numbers import show
from crowdtally.core.privacy import Epsilon, Price
from crowdtally.curator.pricing import noise_of, noise_part, pure
from crowdtally.curator.publishing.dense import Dense
from crowdtally.curator.publishing.publishing import Charged, Publishing
from crowdtally.curator.publishing.sizes import expected_size
from crowdtally.curator.transforms.none import Untransformed
from crowdtally.curator.transforms.transform import Transform
from crowdtally.errors import CrowdtallyError
from crowdtally.format import NoisyTable
from crowdtally.laws.base import CellNoise
from crowdtally.ledger import Part
from crowdtally.noise.draws import Draws


@dataclass(frozen=True, eq=False)
class Table:
    """One table, before any record is read."""

    name: str
    """Its name, which is its file's."""
    part: str
    """The part of the split that pays for it."""
    cells: Layout
    """The public cells that are counted."""
    price: Price
    """What it costs."""
    bound: int
    """What one user can change in its counts, in L1, in units; see :attr:`settled`."""
    unit: Fraction = Fraction(1)
    """What one unit means as a count."""
    transform: Transform = Untransformed()  # noqa: RUF009 - frozen and without fields
    """What is published instead of cells."""
    publishing: Publishing = Dense()  # noqa: RUF009
    """Which noisy counts are published."""
    settled: bool = True
    """Whether bound and unit are known; else they are the most that a private choice may take."""
    squared: int | None = None
    """The square of what one user can change in its counts in L2; None where L1 says no less."""

    def priced(self, price: Price) -> Table:
        """The same table for another price."""
        return replace(self, price=price)

    @property
    def epsilon(self) -> Epsilon:
        """What it costs, where that is pure ε."""
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
    def law(self) -> CellNoise:
        """The law of its noise."""
        return noise_of(self, self.price)

    @cached_property
    def tree(self) -> Dyadic | None:
        """The tree whose nodes are published, if it has an ancestor rule."""
        return self.transform.tree(self.cells)

    @cached_property
    def keeping(self) -> Keeping:
        """The public rule by which cells are kept."""
        return self.publishing.keeping(self.layout.size, self.law, tree=self.tree is not None)

    @property
    def expected_empty(self) -> float:
        """How many cells are published on average if nobody is in any."""
        return expected_size(self.layout.size, self.law, self.keeping)

    def settle(self, bound: int, unit: Fraction, squared: int | None = None) -> Table:
        """The same table once its bound was chosen; never beyond what was charged for."""
        if self.settled or bound > self.bound or unit > self.unit:
            raise self._broken(f"a bound of {bound}·{show(unit)}")
        return replace(self, bound=bound, unit=unit, squared=squared, settled=True)

    def charge(self) -> Part:
        """What the ledger is told about it."""
        return noise_part(self.part, self, self.price, settled=self.settled)

    def publish(self, counts: Counts, draws: Draws) -> NoisyTable:
        """The table with its noise; it stops where the counts are not those it was charged for.

        Args:
            counts: exact counts of :attr:`cells`.
            draws: where the noise comes from.
        """
        made = self.transform.apply(counts, self.cells)
        self._check(made)
        charged = Charged(made, self.price, self.keeping, self.tree)
        noisy = self.publishing.draw(charged, draws)
        facts = {"transform": self.transform.facts(), **noisy.facts}
        return NoisyTable(self.name, self.layout, noisy.values, self.law, facts, cells=noisy.cells)

    def _check(self, made: Counts) -> None:
        charged = (self.l1_bound, self.l2_squared, self.unit, self.layout.size)
        found = (made.l1_bound, made.l2_squared, made.unit, made.size)
        if not self.settled or found != charged:
            raise self._broken(f"{made.size} cells of bound {made.l1_bound}·{show(made.unit)}")

    def _broken(self, received: str) -> CrowdtallyError:
        return CrowdtallyError(
            f"the table {self.name!r} was charged for {self.layout.size} cells of bound "
            f"{self.l1_bound}·{show(self.unit)}, and was handed {received}: this is a fault of the "
            "program, and nothing is released."
        )
