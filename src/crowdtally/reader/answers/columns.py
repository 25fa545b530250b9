"""The columns of answers, their JSON schema, and labels of items."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from crowdtally.core.display import some
from crowdtally.errors import InputError

Kind = Literal["text", "integer", "float", "boolean"]

LABELS = ("label", "category")
"""Columns that a row has from a catalogue, where one was given: beside its item."""
ITEM = "item"
"""The column that a catalogue is joined by."""
_KINDS: dict[Any, Kind] = {str: "text", int: "integer", float: "float", bool: "boolean"}


@dataclass(frozen=True)
class Column:
    name: str
    kind: Kind
    """What its values are, where they are not missing."""
    optional: bool
    """Whether a value can be missing: None in Python, null in JSON, empty in CSV and XLSX."""
    either: bool = False
    """Whether it is text or integers, as the release's item list is: ``kind`` says which."""


def columns_of(
    row: type, labelled: tuple[str, ...] = (), item_kind: str | None = None
) -> tuple[Column, ...]:
    """The columns of rows of this dataclass; labels stand beside the item."""
    declared = {column.name: column for column in _declared(row)}
    beside = [declared.pop(name) for name in LABELS if name in declared]
    found = [
        replace(column, kind="integer") if column.either and item_kind == "integer" else column
        for column in declared.values()
    ]
    place = next((n for n, column in enumerate(found, 1) if column.name == ITEM), len(found))
    return (*found[:place], *(one for one in beside if one.name in labelled), *found[place:])


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


DIALECT = "https://json-schema.org/draft/2020-12/schema"
_TYPES = {"text": "string", "integer": "integer", "float": "number", "boolean": "boolean"}


def schema_of(row: type, *, many: bool) -> dict[str, Any]:
    """The schema of a list of such rows, or of one; labels are optional."""
    columns = columns_of(row, LABELS)
    one = {
        "type": "object",
        "properties": {column.name: {"type": type_of(column)} for column in columns},
        "required": [column.name for column in columns if column.name not in LABELS],
        "additionalProperties": False,
    }
    return {"$schema": DIALECT} | ({"type": "array", "items": one} if many else one)


def type_of(column: Column) -> str | list[str]:
    """The JSON type of a column's values, or which there may be."""
    found = ["string", "integer"] if column.either else [_TYPES[column.kind]]
    found += ["null"] if column.optional else []
    return found if len(found) > 1 else found[0]


_FEW = 3


@dataclass(frozen=True, eq=False)
class Labels:
    """What a public catalogue says about items."""

    labels: Mapping[Any, str | None]
    """The label of each item; None where the catalogue has none."""
    categories: Mapping[Any, str | None] | None = None
    """The category of each, where the catalogue has categories."""
    source: str = "the dictionary of labels"
    """Where they come from, for messages."""

    @classmethod
    def of(cls, labels: Mapping[Any, str | None]) -> Labels:
        """From a dictionary of labels.

        Raises:
            InputError: a label is not text that a file could hold.
        """
        made = {one: None if of is None else str(of) for one, of in labels.items()}
        bad = [one for one, of in made.items() if of is not None and not _is_unicode(of)]
        if bad:
            raise InputError(
                f"{cls.source} has labels that are not text in Unicode, of {some_items(bad)}."
            )
        return cls(made)

    @property
    def columns(self) -> tuple[str, ...]:
        return LABELS if self.categories is not None else LABELS[:1]

    def beside(self, item: Any) -> dict[str, str | None]:
        categories = {} if self.categories is None else self.categories
        return {"label": self.labels[item], "category": categories.get(item)}

    def refuse_missing(self, items: Iterable[Any]) -> None:
        missing = [item for item in items if item not in self.labels]
        if not missing:
            return
        raise InputError(
            f"{self.source} misses {some_items(missing)}. Add a row for each; a label may be left "
            "empty."
        )


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        return False
    return True


def some_items(items: Sequence[Any]) -> str:
    """How many items, and a few of them: the release lists them for everybody.

    >>> some_items(["a"]), some_items(range(5))
    ("1 item of the release ('a')", '5 items of the release (0, 1, 2 … and 2 more)')
    """
    what = "1 item" if len(items) == 1 else f"{len(items):,} items"
    return f"{what} of the release ({some(items[:_FEW], len(items))})"
