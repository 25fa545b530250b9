"""The columns of an answer: names and kinds follow from its rows' dataclass, not from values."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

Kind = Literal["text", "integer", "float", "boolean"]

LABELS = ("label", "category")
"""Columns that a row has from a catalogue, where one was given: beside its item."""
ITEM = "item"
"""The column that a catalogue is joined by."""
_KINDS: dict[Any, Kind] = {str: "text", int: "integer", float: "float", bool: "boolean"}


@dataclass(frozen=True)
class Column:
    """One column of an answer."""

    name: str
    """Its name: that of the row's field."""
    kind: Kind
    """What its values are, where they are not missing."""
    optional: bool
    """Whether a value can be missing: None in Python, null in JSON, empty in CSV and XLSX."""
    either: bool = False
    """Whether it is text or integers, as the release's item list is: ``kind`` says which."""


def columns_of(
    row: type, labelled: tuple[str, ...] = (), item_kind: str | None = None
) -> tuple[Column, ...]:
    """The columns of rows of this dataclass; labels stand beside the item.

    Args:
        row: the dataclass.
        labelled: which of ``LABELS`` there are.
        item_kind: what items are, ``text`` or ``integer``.
    """
    declared = {column.name: column for column in _declared(row)}
    beside = [declared.pop(name) for name in LABELS if name in declared]
    found = [_of_items(column, item_kind) for column in declared.values()]
    place = next((n for n, column in enumerate(found, 1) if column.name == ITEM), len(found))
    return (*found[:place], *(one for one in beside if one.name in labelled), *found[place:])


def _of_items(column: Column, item_kind: str | None) -> Column:
    if not column.either or item_kind != "integer":
        return column
    return Column(column.name, "integer", column.optional, either=True)


@cache
def _declared(row: type) -> tuple[Column, ...]:
    hints = get_type_hints(row)
    return tuple(_column(field.name, hints[field.name]) for field in fields(row))


def _column(name: str, hint: Any) -> Column:
    members = set(get_args(hint)) if get_origin(hint) in (Union, UnionType) else {hint}
    optional = NoneType in members
    members.discard(NoneType)
    if members == {str, int}:
        return Column(name, "text", optional, either=True)
    if len(members) != 1 or not members <= _KINDS.keys():
        raise TypeError(f"{name!r} is a {hint}: a column is text, a number or true and false")
    (member,) = members
    return Column(name, _KINDS[member], optional)
