"""The users' rows, or a part of each, scaled to a bound and added up by item.

Contract: a row is divided by its own sum, over exactly the items that are counted. So every user
adds at most ``bound``·g units in all, whatever she has anywhere else, and nothing of another user's
depends on her: the totals have that L1 bound, for every database. The proof is in ``auto.md``.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdtally.curator.bounding.dpsense import GRID, weighted
from crowdtally.curator.counting.cells import Cells, cells_of
from crowdtally.curator.counting.visits import Visits
from crowdtally.curator.engine.relations import Rows, held_sum, sum_of
from crowdtally.values.counts import Counts

NONE: NDArray[Any] = np.empty(0, dtype=np.int64)
"""No items."""
MOST = 2**62
"""What totals of groups are held at: no number of users makes them wrap round."""
UNIT = Fraction(1, GRID)
"""What a unit of a scaled row means as a count."""


def scaled_totals(visits: Visits, bound: int, size: int, *, without: NDArray[Any] = NONE) -> Counts:
    """Totals of all ``size`` items but those ``without``, which count nothing: (item, units).

    Args:
        visits: the users' rows.
        bound: what each row without them is scaled to, at most.
        size: how many items there are.
        without: the few items that leave every row.
    """
    rows = visits.items
    if len(without):
        rows = rows.filter(~rows.item.isin(without.tolist()))
    return Counts(size, *_totals(visits, rows, bound), GRID * bound, UNIT)


def scaled_inside(visits: Visits, bound: int, chosen: NDArray[Any]) -> Counts:
    """Totals of the chosen items alone, in their order, each row scaled again inside them."""
    listed = visits.engine.load(f"chosen_{visits.key}", {"chosen": chosen})
    rows = visits.items.inner_join(listed, visits.items.item == listed.chosen)
    found, values = _totals(visits, rows, bound)
    return Counts(len(chosen), np.searchsorted(chosen, found), values, GRID * bound, UNIT)


def scaled_groups(
    visits: Visits, bound: int, groups: NDArray[Any], number: int, *, without: NDArray[Any]
) -> Counts:
    """Totals of groups of items; every item that is not ``without`` is in one of them.

    A row is divided by its sum over all groups, and its weights are added up by group.
    """
    totals = scaled_totals(visits, bound, len(groups), without=without)
    of = groups[totals.cells]
    if (of < 0).any():
        raise ValueError("an item that is counted is in no group")
    addable = totals.addable()
    values = np.zeros(number, dtype=addable.dtype)
    np.add.at(values, of, addable)
    values = np.minimum(values, MOST).astype(np.int64)  # moves no user's share by more
    return Counts(number, np.arange(number), values, totals.l1_bound, totals.unit)


def _totals(visits: Visits, rows: Rows, bound: int) -> Cells:
    """(user, item, amount) → by item, the sum of ⌊g·bound·x/R⌋, or of g·x where R ≤ bound."""
    found = scaled_by_cell(rows.select("user", "amount", cell=rows.item), bound)
    return cells_of(visits.engine.columns(found), "total", visits.domain)


def scaled_by_cell(rows: Rows, bound: int) -> Rows:
    """(user, cell, amount), each cell of a user once → (cell, total) of rows scaled to the bound.

    A row is divided by its sum over exactly these rows.
    """
    sums = rows.group_by("user").agg(row_sum=sum_of(rows.amount))
    weights = weighted(rows.inner_join(sums, "user"), bound)
    return weights.group_by("cell").agg(total=held_sum(weights.weight))
