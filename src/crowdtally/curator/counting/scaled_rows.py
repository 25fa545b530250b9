"""The users' rows, or a part of each, scaled to a bound and added up by item.

Contract: a row is divided by its own sum, over exactly the items that are counted. So every user
adds at most ``bound``·g units in all, whatever she has anywhere else, and nothing of another user's
depends on her: the totals have that L1 bound, for every database; where all her amounts are 1, the
square of their L2 bound is ``bound``·g². Where rows are scaled to a norm instead, each by its own
over exactly these items, ``bound``·g is the L2 bound. The proof is in ``auto.md``.
"""

from __future__ import annotations

from fractions import Fraction
from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdtally.core.counts import Counts
from crowdtally.curator.bounding.dpsense import GRID, weighted
from crowdtally.curator.bounding.l2_rows import l2_weighted
from crowdtally.curator.counting.cells import Cells, cells_of
from crowdtally.curator.counting.visits import Visits
from crowdtally.inference.rows import Norm
from crowdtally.records.engine import Rows, held_sum, sum_of

NONE: NDArray[Any] = np.empty(0, dtype=np.int64)
"""No items."""
MOST = 2**62
"""What totals of groups are held at: no number of users makes them wrap round."""
UNIT = Fraction(1, GRID)
"""What a unit of a scaled row means as a count."""


def scaled_totals(
    visits: Visits, bound: int, size: int, *, without: NDArray[Any] = NONE, norm: Norm = "l1"
) -> Counts:
    """Totals of all ``size`` items but those ``without``, which count nothing: (item, units).

    Args:
        visits: the users' rows.
        bound: what each row without them is scaled to, at most.
        size: how many items there are.
        without: the few items that leave every row.
        norm: whether rows are scaled to a sum or to a Euclidean norm.
    """
    rows = visits.items
    if len(without):
        rows = rows.filter(~rows.item.isin(without.tolist()))
    found = _totals(visits, rows, bound, norm)
    l1, squared = bounds_of(bound, size, norm, ones=visits.ones)
    return Counts(size, *found, l1, UNIT, squared=squared)


def scaled_inside(visits: Visits, bound: int, chosen: NDArray[Any], *, norm: Norm = "l1") -> Counts:
    """Totals of the chosen items alone, in their order, each row scaled again inside them."""
    listed = visits.engine.load(f"chosen_{visits.key}", {"chosen": chosen})
    rows = visits.items.inner_join(listed, visits.items.item == listed.chosen)
    found, values = _totals(visits, rows, bound, norm)
    l1, squared = bounds_of(bound, len(chosen), norm, ones=visits.ones)
    places = np.searchsorted(chosen, found)
    return Counts(len(chosen), places, values, l1, UNIT, squared=squared)


def bounds_of(bound: int, size: int, norm: Norm, *, ones: bool) -> tuple[int, int]:
    """What one user can change in totals of ``size`` items: in L1, and the square of it in L2.

    A row of norm g·θ has a sum of at most g·θ·√size. A row of ones that is scaled to a sum of g·θ
    has R·g² ≤ θ·g² where its R ones fit, else R·⌊g·θ/R⌋² < θ·g².

    >>> bounds_of(3, 20, "l1", ones=True) == (3 * GRID, 3 * GRID**2)
    True
    >>> bounds_of(3, 20, "l2", ones=True) == (15 * GRID, 9 * GRID**2)
    True
    """
    if norm == "l2":
        return GRID * bound * (isqrt(size - 1) + 1), (GRID * bound) ** 2
    return GRID * bound, GRID**2 * bound ** (1 if ones else 2)


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
    # Added up: what was known of the row's L2 norm is lost.
    return Counts(number, np.arange(number), values, totals.l1_bound, totals.unit)


def _totals(visits: Visits, rows: Rows, bound: int, norm: Norm) -> Cells:
    """(user, item, amount) → by item, the sum of ⌊g·bound·x/R⌋, or of g·x where R ≤ bound.

    Or of rows scaled to a norm.
    """
    amounts = rows.select("user", "amount", cell=rows.item)
    if norm == "l2":
        weights = l2_weighted(visits.engine, amounts, bound)
        found = weights.group_by("cell").agg(total=held_sum(weights.weight))
    else:
        found = scaled_by_cell(amounts, bound)
    return cells_of(visits.engine.columns(found), "total", visits.domain)


def scaled_by_cell(rows: Rows, bound: int) -> Rows:
    """(user, cell, amount), each cell of a user once → (cell, total) of rows scaled to the bound.

    A row is divided by its sum over exactly these rows.
    """
    sums = rows.group_by("user").agg(row_sum=sum_of(rows.amount))
    weights = weighted(rows.inner_join(sums, "user"), bound)
    return weights.group_by("cell").agg(total=held_sum(weights.weight))
