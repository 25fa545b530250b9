"""The users' rows as ``auto`` counts them: (user, item, context, amount), computed once.

Contract: which rows a user has here is a function of the sampling key and of her own records. Where
a user's contexts are one property of hers, all her rows have one context. Where repeats do not
count, she has at most one row at an item, of amount 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crowdtally.core.domain import Domain
from crowdtally.curator.counting.reading import dropped_in
from crowdtally.records.engine import (
    Column,
    Dropped,
    Engine,
    Rows,
    constant,
    countable,
    grouped,
    in_64_bits,
    smaller,
    sum_of,
)
from crowdtally.records.matching import HASH_BITS
from crowdtally.records.prepare import Prepared

LARGEST_AMOUNT = 2**26
"""The most that one user's records at one item count: scaled, they stay within 64 bits."""


@dataclass(frozen=True, eq=False)
class Visits:
    """The rows, held by the engine."""

    engine: Engine
    """What holds them."""
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
