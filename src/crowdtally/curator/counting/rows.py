"""Rows held once for several questions."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdtally.core.counts import Counts, Memberships
from crowdtally.core.domain import Domain
from crowdtally.curator.bounding.scaling import GRID, l2_weighted, weighted
from crowdtally.curator.counting.bounded import Cells, cells_of, dropped_in
from crowdtally.errors import CrowdtallyError
from crowdtally.inference.rows import Norm
from crowdtally.records.engine import (
    Column,
    Dropped,
    Engine,
    Rows,
    constant,
    countable,
    grouped,
    held_sum,
    in_64_bits,
    smaller,
    sum_of,
)
from crowdtally.records.matching import HASH_BITS
from crowdtally.records.prepare import Prepared

# The users' rows as ``auto`` counts them: (user, item, context, amount), computed once.
#
# Contract: which rows a user has here is a function of the sampling key and of her own records.
# Where a user's contexts are one property of hers, all her rows have one context. Where repeats
# do not count, she has at most one row at an item, of amount 1.

LARGEST_AMOUNT = 2**26
"""The most that one user's records at one item count: scaled, they stay within 64 bits."""


@dataclass(frozen=True, eq=False)
class Visits:
    """The rows, held by the engine."""

    engine: Engine
    rows: Rows
    """(user, item, context, amount): (user, item, context) is there once."""
    items: Rows
    """(user, item, amount): (user, item) is there once; the same table without contexts."""
    dropped: Dropped
    """The records that are in no row."""
    key: int
    """The sampling key, which names what is made of the rows."""
    domain: Domain
    """The public lists that items and contexts are numbered by."""
    one_context: bool = False
    """Whether all rows of a user have one context: only then are contexts groups of users."""
    ones: bool = False
    """Whether every amount is 1: repeats do not count."""

    def sizes(self, bins: int) -> NDArray[np.int64]:
        """How many users have a row sum of 2^k … 2^(k+1) − 1, for k below ``bins`` − 1, or more."""
        sums = self.items.group_by("user").agg(total=sum_of(self.items.amount))
        found = self.engine.arrays(sums.group_by("total").agg(users=sums.count()))
        places = [min(int(total).bit_length(), bins) - 1 for total in found["total"].tolist()]
        counted = np.zeros(bins, dtype=np.int64)
        np.add.at(counted, places, found["users"])
        return counted


def make_visits(
    engine: Engine, prepared: Prepared, *, key: int, per_user: bool, repeats: bool
) -> Visits:
    """Compute the rows.

    Args:
        engine: what runs it.
        prepared: all records.
        key: decides which record survives, and which of several contexts a user has.
        per_user: whether the contexts are a property of the user, of which she has one value.
        repeats: whether several records at one item count as several.
    """
    width = prepared.domain.contexts_size
    same = engine.materialise(grouped(prepared.rows), f"same_{key}")  # (user, cell) once each
    rows = _with_context(countable(same), width)
    if width > 1 and per_user:
        rows = _one_context(engine, rows, key, width)
        rows = rows.group_by("user", "item", "context").agg(amount=sum_of(rows.amount))
    elif width > 1 and not repeats:
        rows = _survivors(engine, rows, key, width)
    rows = rows.select("user", "item", "context", amount=_capped(rows) if repeats else constant(1))
    if width > 1 and (per_user or not repeats):  # else they are those that are held already
        rows = engine.materialise(rows, f"visits_{key}")
    items = rows
    if width > 1 and repeats and not per_user:
        items = rows.group_by("user", "item").agg(amount=sum_of(rows.amount))
        items = engine.materialise(items.mutate(amount=_capped(items)), f"item_visits_{key}")
    return Visits(
        engine, rows, items, dropped_in(engine, same), key, prepared.domain,
        one_context=per_user, ones=not repeats,
    )  # fmt: skip


def _capped(rows: Rows) -> Column:
    return smaller(rows.amount.cast("int64"), LARGEST_AMOUNT)


def _with_context(same: Rows, width: int) -> Rows:
    count = same.rows
    if "quantity" in same.columns:  # capped before it is narrowed: no sum is too large for that
        count = in_64_bits(smaller(same.quantity, LARGEST_AMOUNT))
    if width == 1:
        return same.select("user", item=same.cell, context=constant(0), amount=count)
    item, context = (same.cell // width).cast("int64"), (same.cell % width).cast("int64")
    return same.select("user", item=item, context=context, amount=count)


def _least(engine: Engine, rows: Rows, key: int, width: int, told: list[Column]) -> Column:
    """The context of the least hash among a group's rows: packed, so that it breaks ties itself."""
    low = 2 ** (width - 1).bit_length() - 1
    order = engine.hash(key, told) & (2**HASH_BITS - 1 - low)
    return ((order | rows.context).min() & low).cast("int64")


def _one_context(engine: Engine, rows: Rows, key: int, width: int) -> Rows:
    """Every row of a user in the one of her contexts whose hash is least.

    Of her own distinct joint values alone, whatever is frequent among others, and of all of them:
    were repeats left out before, she would be in as many groups as she has values.
    """
    chosen = rows.group_by("user").agg(
        own=_least(engine, rows, key, width, [rows.user, rows.context])
    )
    joined = rows.inner_join(chosen, "user")
    return joined.select("user", "item", context=joined.own, amount=joined.amount)


def _survivors(engine: Engine, rows: Rows, key: int, width: int) -> Rows:
    """Of a user's records of one item the one whose hash is least, in its own context."""
    told = [rows.user, rows.item, rows.context]
    return rows.group_by("user", "item").agg(
        context=_least(engine, rows, key, width, told), amount=sum_of(rows.amount)
    )


# The users' rows, or a part of each, scaled to a bound and added up by item.
#
# Contract: a row is divided by its own sum, over exactly the items that are counted. So every
# user adds at most ``bound``·g units in all, whatever she has anywhere else, and nothing of
# another user's depends on her: the totals have that L1 bound, for every database; where all her
# amounts are 1, the square of their L2 bound is ``bound``·g². Where rows are scaled to a norm
# instead, each by its own over exactly these items, ``bound``·g is the L2 bound. The proof is in
# ``auto.md``.

NONE: NDArray[Any] = np.empty(0, dtype=np.int64)
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
    return Counts(len(chosen), np.searchsorted(chosen, found), values, l1, UNIT, squared=squared)


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


# Users' rows → exact counts of contexts and of chosen items in context.
#
# Contract of the scaled ones: each user's row, exactly the row that is divided, is scaled to a
# sum of at most θ on a grid of g units, so one user changes the table by at most g·θ units in L1.
# Contract of :func:`users_by_block`: one user changes cells of one context only, each by 1.

Ints = NDArray[np.int64]


def context_totals(visits: Visits, contexts: int, bound: int) -> Counts:
    """What each context has: rows over contexts, each scaled to at most ``bound``."""
    rows = visits.rows
    amount = smaller(sum_of(rows.amount), LARGEST_AMOUNT)
    each = rows.group_by("user", "context").agg(amount=amount)
    return _scaled(visits, each.select("user", "amount", cell=each.context), contexts, bound)


def rows_of_chosen(visits: Visits, places: Ints, contexts: int) -> Counts:
    """Chosen items × contexts: each user's row over these cells alone, scaled to at most 1."""
    chosen = _chosen(visits, places)
    cells = chosen.select("user", "amount", cell=_cell(chosen, contexts))
    return _scaled(visits, cells, len(places) * contexts, 1)


def users_by_block(visits: Visits, places: Ints, contexts: int) -> Memberships:
    """Chosen items × contexts: the users of each context that have the item."""
    refuse_several(visits)
    chosen = _chosen(visits, places)
    # (user, item, context) is there once, so rows are distinct users.
    cells = chosen.select(cell=_cell(chosen, contexts))
    found = visits.engine.arrays(cells.group_by("cell").agg(users=cells.count()))
    return Memberships.of(len(places) * contexts, found["cell"], found["users"])


def refuse_several(visits: Visits) -> None:
    """Stop where contexts are no groups of users: what is paid once would be spent h times."""
    if not visits.one_context:
        raise CrowdtallyError(
            "a user may be in several contexts here, and was to be counted as if in one: this is a "
            "fault of the program, and nothing is released."
        )


def _chosen(visits: Visits, places: Ints) -> Rows:
    """The users' rows at the chosen items, with the place of each among them."""
    listed = np.asarray(places, dtype=np.int64)
    numbered = {"item": listed, "place": np.arange(len(listed), dtype=np.int64)}
    return visits.rows.inner_join(visits.engine.load("chosen_items", numbered), "item")


def _cell(chosen: Rows, contexts: int) -> Column:
    return (chosen.place * contexts + chosen.context).cast("int64")


def _scaled(visits: Visits, cells: Rows, size: int, bound: int) -> Counts:
    """(user, cell, amount), each cell of a user once → the sums of the scaled rows."""
    engine = visits.engine
    held = engine.materialise(cells, f"to_scale_{visits.key}")
    found = engine.arrays(scaled_by_cell(held, bound))
    order = np.argsort(found["cell"])
    return Counts(size, found["cell"][order], found["total"][order], GRID * bound, UNIT)


# Distinct users of items: the one kind of count that interval noise may be added to.
#
# Contract: a user counts once in a cell whatever she has there, and nobody else's cells depend on
# her. By context, all her rows are in one context, so she is in the cells of one context alone.


def members(visits: Visits, chosen: NDArray[Any]) -> Memberships:
    """The distinct users of each of the chosen items, which are ascending, in their order."""
    rows = visits.items.filter(visits.items.item.isin(chosen.tolist()))
    found, users = _users(visits, rows.select("user", cell=rows.item))
    return Memberships.of(len(chosen), np.searchsorted(chosen, found), users)


def all_members(visits: Visits, size: int) -> Memberships:
    """The distinct users of every item."""
    rows = visits.items
    return Memberships.of(size, *_users(visits, rows.select("user", cell=rows.item)))


def all_members_by_context(visits: Visits, size: int, contexts: int) -> Memberships:
    """The distinct users of every item in each context, the context fastest."""
    refuse_several(visits)
    rows = visits.rows
    cell = (rows.item * contexts + rows.context).cast("int64")
    return Memberships.of(size * contexts, *_users(visits, rows.select("user", cell=cell)))


def _users(visits: Visits, rows: Rows) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    found = visits.engine.arrays(rows.group_by("cell").agg(users=rows.user.nunique()))
    return found["cell"], found["users"]
