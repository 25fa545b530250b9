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
from crowdtally.curator.counting import cells_of
from crowdtally.curator.engine.engine import Engine
from crowdtally.curator.engine.relations import Rows, either, smaller
from crowdtally.values.counts import Counts
from crowdtally.values.domain import Domain


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

    def count(self, engine: Engine, rows: Rows, size: int, domain: Domain) -> Counts:
        """(user, cell) → the scaled counts of the table."""
        table = weighted(rows_with_sums(rows, self.cap), self.theta)  # (cell, weight)
        counted = table.group_by("cell").agg(total=table.weight.sum().cast("int64"))
        cells, values = cells_of(engine.columns(counted), "total", domain)
        return Counts(size, cells, values, self.l1_bound, self.scaling / GRID)


def rows_with_sums(rows: Rows, cap: int) -> Rows:
    """(user, cell) → (user, cell, amount, row_sum): each cell once, with its capped count."""
    same = rows.group_by("user", "cell").agg(times=rows.count())
    amounts = same.select("user", "cell", amount=smaller(same.times, cap))
    sums = amounts.group_by("user").agg(row_sum=amounts.amount.sum().cast("int64"))
    return amounts.inner_join(sums, "user")


def weighted(amounts: Rows, theta: int) -> Rows:
    """(cell, amount, row_sum) → (cell, weight) in integer units."""
    scaled = (amounts.amount * (GRID * theta) // amounts.row_sum).cast("int64")
    whole = (amounts.amount * GRID).cast("int64")
    weight = either(amounts.row_sum <= theta, whole, scaled)
    return amounts.select("cell", weight=weight)
