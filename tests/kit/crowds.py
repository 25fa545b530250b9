"""Databases as rows that any kind of source can hold, and what they mean in plain Python."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import Any

import numpy as np
import pyarrow as pa

import crowdtally as ct
from kit.kinds import Kind, Rows, Schema, Type

# ---- A database as rows that any kind of source can hold, and what those rows mean, in plain
#      Python
#
# The meaning has one idea: a value is its canonical text, whatever type its column has. A record
# is counted where the texts of its values are those of the public lists.


_PLAIN = re.compile(r"0|-?[1-9][0-9]*")
_FRACTION = re.compile(r"-?[0-9]+\.[0-9]*[1-9][0-9]*")
_EXACT = 2**53
"""Below this every whole number is a float of its own."""
Texts = dict[str, str | None]
"""A record's values by column."""
Cell = tuple[str, ...]
"""The texts of an item and of its contexts."""
Histories = dict[str, Counter[Cell]]
"""How many records of which cell each user has."""


@dataclass(frozen=True)
class Lookup:
    """A table to join, its key in the first column."""

    schema: Schema
    rows: Rows
    on: str | None = None
    """The records' key column, where it has another name."""

    @property
    def key(self) -> str:
        return next(iter(self.schema))

    @property
    def keys(self) -> tuple[str, str]:
        """The records' key column and the table's."""
        return self.on or self.key, self.key


@dataclass(frozen=True)
class Database:
    """Records (user, item, …), tables to join with them, and the public lists."""

    schema: Schema
    """Columns and types; the first is the user, the second the item."""
    rows: Rows
    items: Sequence[Any]
    """The public items: all integers or all text."""
    contexts: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    """Each context's public values."""
    record_id: str | None = None
    lookups: tuple[Lookup, ...] = ()
    roles: Mapping[str, Any] = field(default_factory=dict)
    """What else is declared, such as a condition: arguments of ``ct.read``."""
    meaning: Callable[[Texts], Texts | None] | None = None
    """What the roles make of a record's values; None where it is no record."""

    @property
    def user(self) -> str:
        return next(iter(self.schema))

    @property
    def item(self) -> str:
        return list(self.schema)[1]

    def plus(self, rows: Rows, *looked_up: Rows) -> Database:
        """The same with more records, and more rows in the tables to join."""
        added = looked_up or [()] * len(self.lookups)
        lookups = tuple(
            replace(lookup, rows=[*lookup.rows, *more])
            for lookup, more in zip(self.lookups, added, strict=True)
        )
        return replace(self, rows=[*self.rows, *rows], lookups=lookups)


def canonical(kind: Kind, declared: Type, value: Any) -> str | None:
    """The text that a value stands for in a source of this kind; None where it is dropped."""
    if value is None or (value == "" and kind.empty_is_null):
        return None
    if isinstance(value, float):
        return _number(value)
    if declared == "mixed" and kind.stored and kind.mixed == "integer" and isinstance(value, str):
        return None
    text = str(value)
    if kind.whole_below and _PLAIN.fullmatch(text) and abs(int(text)) >= kind.whole_below:
        return None
    return text


def _number(value: float) -> str | None:
    """A float is the whole number that it equals, where it can equal no other.

    >>> _number(7.0), _number(-0.0), _number(0.5), _number(float("nan")), _number(2.0**53)
    ('7', '0', '0.5', None, None)
    """
    if abs(value) < _EXACT and value.is_integer():
        return str(int(value))
    return None if value.is_integer() or not isfinite(value) else str(value)


def user_of(kind: Kind, declared: Type, value: Any) -> str | None:
    """The user that a value stands for: where no type is declared, none with a fraction."""
    text = canonical(kind, declared, value)
    if text is None or kind.stored or kind.fractions:
        return text
    return None if _FRACTION.fullmatch(text) else text


def histories(kind: Kind, database: Database) -> Histories:
    """Each user's records that can be counted, by cell."""
    listed = [set(map(str, values)) for values in (database.items, *database.contexts.values())]
    found: Histories = defaultdict(Counter)
    for row in database.rows:
        texts = _joined(kind, database, _texts(kind, database.schema, row))
        if texts is not None and database.meaning is not None:
            texts = database.meaning(texts)
        user = user_of(kind, database.schema[database.user], row[0])
        if texts is None or user is None:
            continue
        cell = tuple(texts[name] for name in (database.item, *database.contexts))
        if all(text in values for text, values in zip(cell, listed, strict=True)):
            found[user][cell] += 1  # type: ignore[index]
    return dict(found)


def _texts(kind: Kind, schema: Schema, row: tuple[Any, ...]) -> dict[str, str | None]:
    pairs = zip(schema.items(), row, strict=True)
    return {name: canonical(kind, declared, value) for (name, declared), value in pairs}


def _joined(
    kind: Kind, database: Database, texts: dict[str, str | None]
) -> dict[str, str | None] | None:
    """The record with the columns of its partners; None where it lacks one."""
    for lookup in database.lookups:
        known = [_texts(kind, lookup.schema, row) for row in lookup.rows]
        wanted = texts[lookup.keys[0]]
        partners = [one for one in known if wanted is not None and one[lookup.key] == wanted]
        if not partners:
            return None
        texts = {**partners[0], **texts}
    return texts


def records(own: Histories) -> Counter[Cell]:
    """How many records each cell has."""
    total: Counter[Cell] = Counter()
    for cells in own.values():
        total.update(cells)
    return total


def users(own: Histories, width: int | None = None) -> Counter[Cell]:
    """How many users each cell has, or each of the first ``width`` parts of one."""
    return Counter(cell for cells in own.values() for cell in {cell[:width] for cell in cells})


# ---- Databases of people with several ids and records of several counts, and what they mean ------


ITEMS, CONTEXTS, MOST = 4, 3, 5
DOMAIN = ct.Domain(range(ITEMS), {"context": range(CONTEXTS)}, item="item")

Id = tuple[Any, ...]
"""The parts of an id."""
Visit = tuple[Id, Any, Any, Any]
"""The id, the item, the context and the quantity of a record."""
HistoriesPeople = dict[str, Counter[tuple[int, int]]]
"""For each person, how many records of which cell and quantity."""


@dataclass(frozen=True)
class People:
    """Records, and perhaps a table of which ids are one person's."""

    visits: Sequence[Visit]
    names: tuple[str, ...] = ("shop", "customer")
    """The columns of the id."""
    kinds: Mapping[str, pa.DataType] = field(default_factory=dict)
    """Types of columns that are not to be text (ids) or integers (the others)."""
    same: Sequence[tuple[Id, Any]] | None = None
    """Which id is whose, as rows of a table."""
    same_kinds: Mapping[str, pa.DataType] = field(default_factory=dict)
    """The same for that table."""

    def table(self) -> pa.Table:
        """The records."""
        columns: dict[str, Any] = {
            name: pa.array([v[0][place] for v in self.visits], self.kinds.get(name, pa.string()))
            for place, name in enumerate(self.names)
        }
        for place, name in enumerate(("item", "context", "quantity"), start=1):
            kind = self.kinds.get(name, pa.int64())
            columns[name] = pa.array([v[place] for v in self.visits], kind)
        return pa.table(columns)

    def same_table(self) -> pa.Table:
        """The table of ids and persons."""
        assert self.same is not None
        columns: dict[str, Any] = {
            name: pa.array([i[place] for i, _ in self.same], self.same_kinds.get(name, pa.string()))
            for place, name in enumerate(self.names)
        }
        kind = self.same_kinds.get("person", pa.string())
        return pa.table(columns | {"person": pa.array([p for _, p in self.same], kind)})

    def records(self, *, quantity: int | None = None) -> ct.Records:
        """The declaration."""
        return ct.read(
            self.table(), user=list(self.names), item="item", contexts=["context"],
            same_person=None if self.same is None else self.same_table(),
            quantity=None if quantity is None else "quantity", max_quantity=quantity,
        )  # fmt: skip

    def person(self, one: Id) -> str | None:
        """Whose records these are, by plain Python.

        None where a part of the id is missing, or where the table gives the id several persons.
        """
        if any(part is None for part in one):
            return None
        parts = tuple(map(str, one))
        persons = {
            str(person)
            for known, person in self.same or ()
            if person is not None and tuple(map(_text, known)) == parts
        }
        if persons:
            return persons.pop() if len(persons) == 1 else None
        return parts[0] if len(parts) == 1 else repr(parts)

    def histories(self, most: int | None = None) -> HistoriesPeople:
        """Each person's records that count, by cell and quantity, which is 1 without one."""
        found: HistoriesPeople = defaultdict(Counter)
        for one, item, context, quantity in self.visits:
            person = self.person(one)
            times = 1 if most is None else quantity
            listed = item in range(ITEMS) and context in range(CONTEXTS)
            if person is None or not listed or times is None or times < 1:
                continue
            found[person][item * CONTEXTS + context, min(times, most or 1)] += 1
        return found

    def without(self, person: str) -> People:
        """The neighbour: neither the person's records nor the rows that name that person."""
        visits = [visit for visit in self.visits if self.person(visit[0]) != person]
        same = self.same and [row for row in self.same if self.person(row[0]) != person]
        return People(visits, self.names, self.kinds, same, self.same_kinds)


def _text(part: Any) -> str | None:
    return None if part is None else str(part)


def tallied(own: HistoriesPeople) -> Counter[int]:
    """What each cell counts where nobody is cut."""
    found: Counter[int] = Counter()
    for records in own.values():
        for (cell, times), number in records.items():
            found[cell] += times * number
    return found


def drawn(seed: int, visits: int, ids: Sequence[Id]) -> list[Visit]:
    """Records of these ids at random, some of nobody, outside the lists or of no quantity."""
    rng = np.random.default_rng(seed)
    quantities = [1, 1, 2, 3, MOST, MOST + 1, 2**40, 0, -2, None]
    return [
        (
            ids[rng.integers(len(ids))],
            int(rng.integers(ITEMS + 1)) if rng.random() < 0.95 else None,
            int(rng.integers(CONTEXTS + 1)),
            quantities[rng.integers(len(quantities))],
        )
        for _ in range(visits)
    ]
