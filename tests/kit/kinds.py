"""The kinds of source: each writes the same rows in its own way.

A column has a type that a schema could declare. A kind with a stored schema declares it; the other
kinds are given plain Python values, and guess a type from what they find.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, Literal

import pytest

Type = Literal["integer", "text", "code", "mixed", "number", "timestamp", "decimal"]
"""``code``: text in a dictionary, a categorical or an ENUM, where the kind has one. ``mixed``:
integers, and text among them; a schema would say text. ``number``: integers, and floats among them;
no schema declares such an id."""
Schema = Mapping[str, Type]
Rows = Sequence[tuple[Any, ...]]


@dataclass(frozen=True, repr=False)
class Place:
    """Where sources are written; they live as long as it does."""

    folder: Path
    """A folder of its own."""
    database: Callable[[], str]
    """The URL of a PostgreSQL database, made when it is first asked for."""
    session: Callable[[], Any]
    """A Spark session, started likewise."""
    held: list[Any] = field(default_factory=list)
    """Connections that a source reads through."""
    numbers: Iterator[int] = field(default_factory=count)

    def name(self) -> str:
        """A name that no other source has."""
        return f"source_{next(self.numbers)}"


@dataclass(frozen=True)
class Kind:
    """A kind of source, and what its rows become on their way into it."""

    write: Callable[[Place, Schema, Rows], Any]
    """Writes the rows and returns what ``ct.read`` takes."""
    stored: bool
    """Whether a schema declares the types, so that no row can change them."""
    types: frozenset[str] = frozenset({"integer", "text", "code", "mixed"})
    """The column types it can hold."""
    mixed: Literal["text", "integer"] = "text"
    """What a stored schema declares for a mixed column."""
    empty_is_null: bool = False
    """Whether empty text is not told from a missing value."""
    whole_below: int | None = None
    """Whole numbers from here on are dropped, where the kind may turn them into floats."""
    fractions: bool = False
    """Whether a number with a fraction can be a user: where the column is declared as text."""
    on_spark: bool = False
    """Whether Spark reads it."""
    alike: bool = False
    """Whether another kind is read by nearly the same code: what is tried is then mostly `long`."""

    def holds(self, schema: Schema) -> bool:
        """Whether it can hold columns of these types."""
        return set(schema.values()) <= self.types


def marks(kind: Kind, title: str = "", core: Sequence[str] = (), seldom: Sequence[str] = ()) -> Any:
    """The marks of a test: `long` where another kind, or another case, shows nearly the same."""
    quick = title in core if kind.alike else title not in seldom
    return () if quick else pytest.mark.long


def columns_of(schema: Schema, rows: Rows) -> dict[str, list[Any]]:
    """The rows by column."""
    return {name: [row[place] for row in rows] for place, name in enumerate(schema)}


def spelled(value: Any) -> str | None:
    """A value as a text column holds it."""
    return None if value is None else str(value)
