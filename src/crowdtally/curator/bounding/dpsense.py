"""DPSense: every row counts, scaled down where it is too long (Day & Li 2015).

A user's row is the cells she has, each once (or up to a public cap). Where its sum RC exceeds θ the
row is scaled by θ/RC, on an integer grid of g units per count: a cell with x ≤ cap weighs g·x if
RC ≤ θ, else ⌊g·θ·x / RC⌋, by integer division, before anything is summed.

Contract: one user changes the table by at most g·θ units in L1, for every database. The proof
note is ``dpsense.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from crowdtally.curator.bounding.scales import GRID
from crowdtally.curator.counting.cells import cells_of
from crowdtally.curator.counting.reading import Read, dropped_in
from crowdtally.curator.engine.census import countable, grouped
from crowdtally.curator.engine.engine import Engine
from crowdtally.curator.engine.prepare import Prepared
from crowdtally.curator.engine.relations import Rows, either, smaller
from crowdtally.values.counts import Counts


@dataclass(frozen=True)
class DPSense:
    """Scale each user's row to a sum of at most θ."""

    theta: int
    """θ: the largest row sum that is left alone. Public, or privately chosen."""
    cap: int = 1
    """The most that one user counts in one cell; 1 counts distinct users."""
    scaling: Fraction = Fraction(1)
    """s: what DPSense-S multiplies the published counts by. Public, or privately chosen."""

    @property
    def l1_bound(self) -> int:
        """What one user can change, in units of 1/g."""
        return GRID * self.theta

    def count(
        self, engine: Engine, prepared: Prepared, size: int, *, width: int = 1
    ) -> Read[Counts]:
        """(user, cell) → the scaled counts of a table of so many cells.

        Args:
            engine: what runs it.
            prepared: all records.
            size: how many cells the table has.
            width: how many cells of the domain make one of the table: those of an item, or 1.
        """
        same = engine.materialise(grouped(prepared.rows_by(width)), "same")
        table = weighted(with_row_sums(same, self.cap), self.theta)  # (cell, weight)
        found = table.group_by("cell").agg(total=table.weight.sum().cast("int64"))
        cells, values = cells_of(engine.columns(found), "total", prepared.domain)
        counts = Counts(size, cells, values, self.l1_bound, self.scaling / GRID)
        return Read(counts, dropped_in(engine, same))


def capped(same: Rows, cap: int) -> Rows:
    """(user, cell, rows) → the same with ``amount``, the count that is at most ``cap``."""
    return same.mutate(amount=smaller(same.rows, cap))


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
