"""A database as rows that any kind of source can hold, and what those rows mean, in plain Python.

The meaning has one idea: a value is its canonical text, whatever type its column has. A record is
counted where the texts of its values are those of the public lists.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import Any

from kit.kinds import Kind, Rows, Schema, Type

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
