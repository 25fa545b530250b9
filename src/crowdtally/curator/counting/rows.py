"""Users' whole rows: read once, then scaled and added up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdtally.core.counts import Counts, Memberships
from crowdtally.core.integers import group_equal
from crowdtally.curator import row_questions as kinds
from crowdtally.curator.bounding.scaling import GRID
from crowdtally.curator.counting.bounded import Cells, cells_of, dropped_in
from crowdtally.errors import CrowdtallyError
from crowdtally.inference.rows import BINS, bin_of
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

# Contract: which records a row has is a function of the sampling key and of the user's own
# records. Records and lengths come from one snapshot, so a row is divided by the sum of exactly
# the records that are counted: a source that changes meanwhile makes nobody count for more.

LARGEST_AMOUNT = 2**26
"""The most that one record counts, by its quantity: scaled, it stays within 64 bits."""
MOST = 2**62
"""Sums of cells are clipped to it; one user changes a clipped sum by no more than before."""


@dataclass(frozen=True, eq=False)
class Held:
    engine: Engine
    records: Rows
    """(user, cell, amount); where repeats do not count, (user, item) is there once, with 1."""
    lengths: Rows
    """(user, length): the sum of her amounts."""
    users: Mapping[int, int]
    dropped: Dropped
    prepared: Prepared
    rows: kinds.UserRows
    key: int
    """The sampling key; it names the tables that are made of the rows."""

    @property
    def width(self) -> int:
        return self.prepared.domain.contexts_size


def hold_rows(engine: Engine, prepared: Prepared, rows: kinds.UserRows, key: int) -> Held:
    """Read all records once.

    ``key`` decides which record survives, and which of several contexts a user has.
    """
    width = prepared.domain.contexts_size
    every, number = prepared.rows, constant(1)
    if rows.repeats:
        every = every.select(*(one for one in every.columns if one not in ("id", "weight")))
    else:
        every = grouped(every)  # (user, cell) once each: of equal records one would survive
    every = engine.materialise(every, f"rows_{key}")
    records = countable(every)
    if rows.repeats and "quantity" in every.columns:  # capped before it is narrowed
        number = in_64_bits(smaller(records.quantity, LARGEST_AMOUNT))
    records = records.select("user", "cell", amount=number)
    if width > 1 and rows.per_user:
        records = _in_one_context(engine, records, key, width)
    if not rows.repeats:
        records = _survivors(engine, records, key, width)
    if width > 1 and (rows.per_user or not rows.repeats):
        records = engine.materialise(records, f"kept_{key}")
    lengths = engine.materialise(_lengths(records), f"lengths_{key}")
    users = _by_length(engine, lengths)
    return Held(engine, records, lengths, users, dropped_in(engine, every), prepared, rows, key)


def _by_length(engine: Engine, lengths: Rows) -> dict[int, int]:
    found = engine.arrays(lengths.group_by("length").agg(users=lengths.count()))
    return dict(zip(found["length"].tolist(), found["users"].tolist(), strict=True))


def _lengths(records: Rows) -> Rows:
    return records.group_by("user").agg(length=sum_of(records.amount))


def _least(engine: Engine, key: int, told: Sequence[Column], value: Column, width: int) -> Column:
    """The value below ``width`` of least hash in a group: packed, so that it breaks ties itself."""
    low = 2 ** (width - 1).bit_length() - 1
    order = engine.hash(key, told) & (2**HASH_BITS - 1 - low)
    return ((order | value).min() & low).cast("int64")


def _in_one_context(engine: Engine, records: Rows, key: int, width: int) -> Rows:
    """Every record of a user in the one of her contexts whose hash is least.

    All her contexts count, however frequent each is: were repeats dropped before, she would be in
    as many contexts as she has values.
    """
    context = (records.cell % width).cast("int64")
    told = [records.user, context]
    chosen = records.group_by("user").agg(own=_least(engine, key, told, context, width))
    joined = records.inner_join(chosen, "user")
    cell = (joined.cell - joined.cell % width + joined.own).cast("int64")
    return joined.select("user", cell=cell, amount=joined.amount)


def _survivors(engine: Engine, records: Rows, key: int, width: int) -> Rows:
    """Of a user's records of one item the one whose hash is least, in its own context."""
    if width == 1:
        return records  # each is there once
    item, context = (records.cell // width).cast("int64"), (records.cell % width).cast("int64")
    each = records.mutate(item=item, context=context)
    told = [each.user, each.item, each.context]
    kept = each.group_by("user", "item").agg(own=_least(engine, key, told, each.context, width))
    cell = (kept.item * width + kept.own).cast("int64")
    return kept.select("user", cell=cell, amount=constant(1))


def counted(held: Held, measures: Sequence[kinds.Measure], sizes: Sequence[int]) -> list[Any]:
    """What each measure counts, for tables of so many cells; all scaled ones from one join."""
    scaled = [one for one in measures if isinstance(one, kinds.Scaled)]
    sums = _sums(held, scaled) if scaled else {}
    return [_counted(held, *one, sums) for one in zip(measures, sizes, strict=True)]


def _counted(
    held: Held, measure: kinds.Measure, size: int, sums: Mapping[kinds.Scaled, Cells]
) -> Counts | Memberships:
    match measure:
        case kinds.Lengths():
            users = np.zeros(BINS, dtype=np.int64)
            for length, number in held.users.items():
                users[bin_of(length)] += number
            cells = np.arange(BINS), users
        case kinds.Whole(most):
            total = sum(min(length, most) * number for length, number in held.users.items())
            cells = np.arange(1), np.array([min(total, MOST)], dtype=np.int64)
        case kinds.Scaled():
            cells = sums[measure]
        case kinds.Inside():
            cells = _inside(held, measure)
        case kinds.UsersInside():
            return _users_inside(held, measure, size)
    l1, squared, unit = measure.bound(held.rows, size)
    return Counts(size, *cells, l1, unit, squared=squared)


def _sums(held: Held, measures: Sequence[kinds.Scaled]) -> dict[kinds.Scaled, Cells]:
    """Each measure's cells and their sums, from one pass over the records with their lengths.

    Sums of cells are added up to items and contexts here: a user's share of them is added up
    exactly as her records would be.
    """
    records, width = held.records, held.width
    if width > 1 and all(one.over == "items" for one in measures):
        records, width = records.mutate(cell=(records.cell // width).cast("int64")), 1
    classes = list(dict.fromkeys(map(_class, measures)))
    weights = _weights(held, held.lengths, held.users, classes, "all")
    sums = dict(zip(classes, _weighed(held, records, weights, len(classes)), strict=True))
    return {one: _over(sums[_class(one)], one.over, width) for one in measures}


def _over(cells: Cells, over: str, width: int) -> Cells:
    """Sums of items in ``width`` contexts as those of items, of contexts, or as they are."""
    if over == "items" and width > 1:
        return _folded(cells, cells[0] // width)
    return _folded(cells, cells[0] % width) if over == "contexts" else cells


def _class(one: kinds.Scaled) -> kinds.Scaled:
    """What decides a record's weight: all but what it is added up to."""
    return replace(one, over="items")


def weight(length: int, one: kinds.Scaled) -> int:
    """What each record of a row weighs, in units; 0 outside the class.

    >>> weight(3, kinds.Scaled(3)) == GRID, weight(3, kinds.Scaled(1)) == GRID // 3
    (True, True)
    >>> weight(400, kinds.Scaled(100, by_norm=True)) == GRID // 2
    True
    """
    if length <= one.above or (one.only_to is not None and length > one.only_to):
        return 0
    if length <= one.to:
        return GRID
    return isqrt(GRID**2 * one.to // length) if one.by_norm else GRID * one.to // length


def _weights(
    held: Held, lengths: Rows, users: Mapping[int, int], measures: Sequence[kinds.Scaled], name: str
) -> Rows:
    """(user, weight_0, …): what a record of each user weighs for each measure.

    It follows from the length of her row alone, so Python's whole numbers make it once for each
    length; SQL has neither an exact root nor time to divide for each record.
    """
    known = list(users)
    columns = {
        f"weight_{place}": np.array([weight(length, one) for length in known], dtype=np.int64)
        for place, one in enumerate(measures)
    }
    columns["length"] = np.array(known, dtype=np.int64)
    table = held.engine.load(f"weights_{held.key}_{name}", columns)
    return lengths.inner_join(table, "length").drop("length")


def _weighed(held: Held, records: Rows, weights: Rows, measures: int) -> list[Cells]:
    """The sum of weights in each cell, for each measure."""
    joined, names = records.inner_join(weights, "user"), [f"weight_{n}" for n in range(measures)]
    each = joined.select("cell", **{name: joined.amount * joined[name] for name in names})
    sums = each.group_by("cell").agg(**{name: held_sum(each[name]) for name in names})
    columns = held.engine.columns(sums)
    return [cells_of(columns, name, held.prepared.domain) for name in names]


def _folded(cells: Cells, numbers: NDArray[Any]) -> Cells:
    together, values = group_equal(numbers), cells[1]
    if int(values.max(initial=0)) * len(values) >= MOST:
        values = values.astype(object)  # Python integers: sums of cells may pass 64 bits
    sums = np.minimum(together.sums(values), MOST)
    return together.numbers, sums.astype(np.int64)


def _inside(held: Held, measure: kinds.Inside) -> Cells:
    """Rows cut to the places, each divided by what was cut out of it."""
    engine, named = held.engine, f"{held.key}_{len(measure.places)}"
    cut = engine.materialise(_cut(held, measure.places), f"cut_{named}")
    lengths = engine.materialise(_lengths(cut), f"cut_lengths_{named}")
    users = _by_length(engine, lengths)
    weights = _weights(held, lengths, users, [kinds.Scaled(measure.to)], "cut")
    (cells,) = _weighed(held, cut, weights, 1)
    return cells


def _users_inside(held: Held, measure: kinds.UsersInside, size: int) -> Memberships:
    """The users of each place: (user, item) is in the records once, so they are its records."""
    if held.rows.repeats:
        raise CrowdtallyError(
            "users would be counted who may be in a cell several times. This is a bug in "
            "Crowdtally. Nothing was released."
        )
    cut = _cut(held, measure.places)
    found = held.engine.arrays(cut.group_by("cell").agg(users=cut.count()))
    return Memberships.of(size, found["cell"], found["users"])


def _cut(held: Held, places: Sequence[int]) -> Rows:
    """The records of some items; their cells are the items' places among them."""
    listed = np.asarray(places, dtype=np.int64)
    number = {"item": listed, "place": np.arange(len(listed), dtype=np.int64)}
    chosen = held.engine.load(f"chosen_{held.key}_{len(places)}", number)
    each = held.records.mutate(item=(held.records.cell // held.width).cast("int64"))
    joined = each.inner_join(chosen, "item")
    return joined.select("user", "amount", cell=joined.place.cast("int64"))
