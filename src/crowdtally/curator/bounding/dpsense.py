"""DPSense: every row counts, scaled down where it is too long (Day & Li 2015).

A user's row is the cells she has, each once (or up to a public cap; with a quantity, what her
records of the cell count together, up to the cap). Where its sum RC exceeds θ the
row is scaled by θ/RC, on an integer grid of g units per count: a cell with x ≤ cap weighs g·x if
RC ≤ θ, else ⌊g·θ·x / RC⌋, by integer division, before anything is summed.

Contract: one user changes the table by at most g·θ units in L1, and with a cap of 1 by at most g·√θ
in L2, for every database. The proof note is ``dpsense.md``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

from crowdtally.core.counts import What
from crowdtally.core.numbers import whole_number
from crowdtally.curator.bounding.rule import given_limit
from crowdtally.curator.choosing.dpsense_s import given_scalings
from crowdtally.records.engine import Engine, Rows, countable, either, smaller

GRID = 2**20
"""g: units per count; rounding loses less than 2^−20 per user and cell."""
_LARGEST_CAP = 2**10


@dataclass(frozen=True)
class DPSense:
    """Scale each user's row to a sum of at most θ."""

    name: ClassVar[str] = "dpsense"
    takes: ClassVar[frozenset[str]] = frozenset({"max_records", "choose", "cap", "norm"})
    choices: ClassVar[tuple[str, ...]] = ("rank", "dpsense")
    keeps_records: ClassVar[bool] = False

    theta: int
    """θ: the largest row sum that is left alone. Public, or privately chosen."""
    cap: int = 1
    """The most that one user counts in one cell; 1 counts distinct users."""
    scaling: Fraction = Fraction(1)
    """s: what DPSense-S multiplies the published counts by. Public, or privately chosen."""

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Self:
        """From ``max_records`` and ``cap``."""
        return cls(given_limit(options), _given_cap(options))

    @property
    def limit(self) -> int:
        """θ."""
        return self.theta

    @property
    def l1_bound(self) -> int:
        """What one user can change, in units."""
        return GRID * self.theta

    def l2_squared(self, what: What) -> int:
        """At most g²θ where a cell has the same weight as every other of its row, else g²θ².

        A row of RC cells ≤ θ has RC·g² ≤ g²θ; a longer one has RC·⌊gθ/RC⌋² ≤ g²θ²/RC < g²θ.
        """
        return GRID**2 * self.theta if self.cap == 1 else self.l1_bound**2

    @property
    def unit(self) -> Fraction:
        """A unit is 1/g of a count, times s."""
        return self.scaling / GRID

    def facts(self) -> dict[str, Any]:
        """The cap; bound and scaling are said elsewhere."""
        return {"cap": self.cap}

    def weights(self, engine: Engine, same: Rows) -> Rows:
        """(user, cell, rows) of equal records put together → (cell, weight) in units."""
        return weighted(with_row_sums(same, self.cap), self.theta)


@dataclass(frozen=True)
class DPSenseS(DPSense):
    """The same with counts published times s, which makes up for what scaling down lost."""

    name: ClassVar[str] = "dpsense-s"
    takes: ClassVar[frozenset[str]] = frozenset({"max_records", "choose", "cap", "scalings"})
    choices: ClassVar[tuple[str, ...]] = ("dpsense",)

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Self:
        """With the one scaling, or the largest to choose from: noise is no larger than its."""
        scalings = given_scalings(options["scalings"], one=options["choose"] is None)
        return cls(given_limit(options), _given_cap(options), scalings[-1])


def _given_cap(options: Mapping[str, Any]) -> int:
    cap = options["cap"]
    return 1 if cap is None else whole_number(cap, "--cap", 1, _LARGEST_CAP)


def capped(same: Rows, cap: int) -> Rows:
    """(user, cell, rows[, quantity]) → the same with ``amount``, the count, at most ``cap``."""
    count = same.quantity if "quantity" in same.columns else same.rows
    return same.mutate(amount=smaller(count, cap))


def with_row_sums(same: Rows, cap: int) -> Rows:
    """(user, cell, rows) → (user, cell, amount, row_sum): each cell once, nobody's none."""
    amounts = capped(countable(same), cap).select("user", "cell", "amount")
    sums = amounts.group_by("user").agg(row_sum=amounts.amount.sum().cast("int64"))
    return amounts.inner_join(sums, "user")


def weighted(amounts: Rows, theta: int) -> Rows:
    """(cell, amount, row_sum) → (cell, weight) in integer units."""
    scaled = (amounts.amount * (GRID * theta) // amounts.row_sum).cast("int64")
    whole = (amounts.amount * GRID).cast("int64")
    weight = either(amounts.row_sum <= theta, whole, scaled)
    return amounts.select("cell", weight=weight)
