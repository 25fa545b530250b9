"""Many small databases in one table, to count the rows of all of them at once.

Each has items, contexts and users of its own, and comes twice: with its first user and without her.
What the two differ by is what she can change. ``reference`` counts the same in plain Python.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Context, Decimal
from functools import cache
from itertools import combinations_with_replacement, product
from math import floor
from typing import Any

import numpy as np
import pyarrow as pa

from crowdtally.core.counts import Counts, Memberships
from crowdtally.core.domain import Domain
from crowdtally.curator.bounding.scaling import GRID
from crowdtally.curator.counting.rows import Held, hold_rows
from crowdtally.curator.request.declare import declare
from crowdtally.curator.row_questions import (
    Inside,
    Lengths,
    Measure,
    Scaled,
    UserRows,
    UsersInside,
    Whole,
)
from crowdtally.records.prepare import prepare

ITEMS, CONTEXTS = 3, 2
KEY = 4_711
NOWHERE = 9
"""An item, or a context, that no list has."""
MOST = 10**6
"""The most that a quantity counts."""

History = tuple[tuple[int, int], ...]
"""One user's records: item and context of each."""
Database = tuple[History, ...]
Row = Counter[tuple[int, int, int]]
"""How many records a row has of each (item, context, amount)."""

OTHERS: tuple[Database, ...] = (
    (),
    (((2, 0), (2, 0), (0, 0)),),
    (((2, 0), (2, 0)), ((0, 1), (1, 1), (2, 1), (2, 1), (2, 1))),
)
"""Each user in one context: her ids differ from block to block, so a hash may choose another."""


@cache
def first_users(*, every: bool = True) -> tuple[History, ...]:
    """Every short history; long rows of equal records, of unequal parts, of what is not listed."""
    cells = list(product(range(ITEMS), range(CONTEXTS)))
    short = [
        own for number in (1, 2, 3) for own in combinations_with_replacement(cells, number)
    ]  # fmt: skip
    long: list[History] = [
        ((1, 0),) * 9,
        ((1, 1),) * 70,
        ((0, 0),) * 20_000,
        ((0, 0),) * 40 + ((2, 1),),
        tuple(cell for cell in cells for _ in range(7)),
        ((0, 1), (0, 0), (1, 1), (2, 0), (2, 1)),
        ((0, 0), (1, 0)) * 12 + ((2, 1),) + ((NOWHERE, 0),) * 30,
        ((0, 0), (1, 1)) + ((0, NOWHERE),) * 5 + ((NOWHERE, NOWHERE),) * 5,
        ((0, 1),) + ((NOWHERE, 1),) * 8,
        ((NOWHERE, 0),) * 3,
    ]
    return (*(short if every else short[::9]), *long)


@dataclass(frozen=True)
class Blocks:
    """The databases, each with its number; even ones have their first user."""

    databases: tuple[Database, ...]
    quantities: bool = False
    """Whether equal records are one record that says how many it is."""

    @classmethod
    def of(cls, *, every: bool = True, quantities: bool = False) -> Blocks:
        others = OTHERS if every else OTHERS[2:]
        made = [
            users
            for first in first_users(every=every)
            for beside in others
            for users in ((first, *beside), ((), *beside))
        ]
        return cls(tuple(made), quantities)

    @property
    def domain(self) -> Domain:
        number = len(self.databases)
        return Domain(range(ITEMS * number), {"context": range(CONTEXTS * number)})

    @property
    def size(self) -> int:
        return ITEMS * len(self.databases)

    def places(self, items: tuple[int, ...]) -> tuple[int, ...]:
        """These items of every database."""
        return tuple(ITEMS * b + item for b in range(len(self.databases)) for item in items)

    def records(self) -> pa.Table:
        unlisted = 10**6
        rows = [
            (
                f"{block}:{user}",
                ITEMS * block + item if item < ITEMS else unlisted,
                CONTEXTS * block + context if context < CONTEXTS else unlisted,
                times,
            )
            for block, users in enumerate(self.databases)
            for user, history in enumerate(users)
            for (item, context), times in sorted(Counter(history).items())
        ]
        columns = dict(
            zip(("user", "item", "context", "times"), zip(*rows, strict=True), strict=True)
        )
        table = pa.table({name: list(values) for name, values in columns.items()})
        if self.quantities:
            return table
        return table.take(np.repeat(np.arange(len(rows)), columns["times"])).drop(["times"])

    @contextmanager
    def held(self, start: Callable[[], Any], rows: UserRows, key: int = KEY) -> Iterator[Held]:
        """All databases' rows, held by an engine."""
        said = {"quantity": "times", "max_quantity": MOST} if self.quantities else {}
        records = declare(self.records(), user="user", item="item", contexts=["context"], **said)
        with start() as engine:
            yield hold_rows(engine, prepare(engine, records, self.domain), rows, key)

    def kept(self, held: Held) -> list[dict[int, Row]]:
        """By database and user: her row as the engine holds it."""
        found: list[dict[int, Row]] = [defaultdict(Counter) for _ in self.databases]
        columns = held.engine.columns(held.records)
        for user, cell, amount in zip(
            columns["user"].tolist(), columns["cell"].tolist(), columns["amount"].tolist(),
            strict=True,
        ):  # fmt: skip
            block, number = map(int, user.split(":"))
            item, context = divmod(cell, held.width)
            own = (item - ITEMS * block, context - CONTEXTS * block, amount)
            found[block][number][own] += 1
        return found

    def by_database(self, counted: Counts | Memberships, measure: Measure) -> list[dict[Any, int]]:
        """A table's cells of each database, zeros left out, as ``reference`` numbers them."""
        found: list[dict[Any, int]] = [{} for _ in self.databases]
        width = CONTEXTS * len(self.databases)
        if isinstance(counted, Memberships):
            cells = np.flatnonzero(counted.values)
            values = counted.values[cells]
        else:
            cells, values = counted.cells, counted.values
        split = getattr(measure, "over", "items") == "cells"
        listed = getattr(measure, "places", None)
        for cell, value in zip(cells.tolist(), values.tolist(), strict=True):
            if getattr(measure, "over", "items") == "contexts":
                block, place = divmod(cell, CONTEXTS)
                found[block][place] = value
                continue
            item, context = divmod(cell, width) if split else (cell, 0)
            block, place = divmod(item if listed is None else listed[item], ITEMS)
            found[block][(place, context - CONTEXTS * block) if split else place] = value
        return found


def is_hers(row: Row, history: History, rows: UserRows) -> bool:
    """Whether a held row is one that the rules allow: which, a hash of her own records decides."""
    hers = Counter((i, c) for i, c in history if i < ITEMS and c < CONTEXTS)
    met = {(item, context) for item, context, _ in row}
    contexts = {context for _, context in met}
    wanted, found = _by_item(hers), Counter[int]()
    for (item, _, amount), times in row.items():
        found[item] += amount * times
    if not rows.repeats:
        wanted = Counter(dict.fromkeys(wanted, 1))
    if found != wanted or not contexts <= {context for _, context in hers}:
        return False
    if rows.per_user:
        return len(contexts) <= 1
    if not rows.repeats:
        return met <= hers.keys() and len(met) == len(wanted)
    return hers == Counter({(i, c): sum(n * a for (j, d, a), n in row.items() if (i, c) == (j, d))
                            for i, c in met})  # fmt: skip


def _by_item(cells: Counter[tuple[int, int]]) -> Counter[int]:
    found = Counter[int]()
    for (item, _), times in cells.items():
        found[item] += times
    return found


def length_of(row: Row) -> int:
    """R: the sum of a row."""
    return sum(amount * times for (_, _, amount), times in row.items())


def reference(measure: Measure, row: Row) -> Counter[Any]:
    """What one row adds to the table of a measure, cell by cell; records are weighed one by one."""
    length, found = length_of(row), Counter[Any]()
    match measure:
        case Lengths():
            bins = [*range(1, 9), *(2**k for k in range(4, 15))]
            found[min(sum(length > high for high in bins), 18)] += bool(length)
        case Whole():
            found[0] += min(length, measure.most)
        case Scaled():
            if measure.above < length <= (measure.only_to or length):
                for (item, context, amount), times in row.items():
                    names = {"items": item, "cells": (item, context), "contexts": context}
                    weight = _weight(amount, length, measure.to)
                    if measure.by_norm:
                        weight = _root(length, measure.to)
                    found[names[measure.over]] += times * weight
        case Inside() | UsersInside():
            cut = Counter({one: times for one, times in row.items() if one[0] in measure.places})
            for (item, _, amount), times in cut.items():
                if isinstance(measure, UsersInside):
                    found[item] = 1
                else:
                    found[item] += times * _weight(amount, length_of(cut), measure.to)
    return +found


def _root(length: int, to: int) -> int:
    """The largest whole weight of which so many squares sum to g²·to at most."""
    return min(GRID, floor(Decimal(GRID**2 * to // length).sqrt(Context(prec=60))))


def _weight(amount: int, length: int, to: int) -> int:
    return amount * (GRID if length <= to else GRID * to // length)
