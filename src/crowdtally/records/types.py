"""The columns of a view over a source: stored, declared by the curator, or canonical text.

A declared type is read from each value's canonical text, one row at a time. So 7, 7.0 and '7' are
the same int64 whatever the type of the source's column, and a value that does not fit is null:
nothing is rounded, and no other row matters. Engines read more spellings, and each its own (DuckDB
makes 8 of '7.5', Spark reads '7d'), so the spelling is checked first. Integers of 2^53 and beyond
are no float64: in a column of floats they may have been others.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from crowdtally.errors import InputError
from crowdtally.records.columns import (
    EXACT,
    Knowledge,
    SourceColumn,
    canonical_text,
    own_of,
    text_of,
)
from crowdtally.records.csv import text as literal

TYPES = {
    "int64": "BIGINT",
    "float64": "DOUBLE",
    "text": "VARCHAR",
    "bool": "BOOLEAN",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
    "timestamptz": "TIMESTAMP WITH TIME ZONE",
}
"""The names of types that can be declared, and DuckDB's."""

_SUGGESTED = (
    (r"U?(TINY|SMALL|BIG)?INT|U?INTEGER", "int64"),
    (r"DOUBLE|FLOAT|DECIMAL.*", "float64"),
    (r"BOOLEAN", "bool"),
    (r"DATE", "date"),
    (r"TIMESTAMP(_S|_MS|_NS)?", "timestamp"),
    (r"TIMESTAMP WITH TIME ZONE", "timestamptz"),
)
_WHOLE = "[+-]?[0-9]+"
_POINT = "[+-]?[0-9]+[.]0*"
_NUMBER = "[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?"
_DAY = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_MIDNIGHT = f"{_DAY}([ T]00:00(:00([.]0*)?)?)?"
_MINUTE = "([01][0-9]|2[0-3]):[0-5][0-9]"
_SECOND = ":[0-5][0-9]([.][0-9]{1,9})?"
_LOCAL = f"{_DAY}([ T]{_MINUTE}({_SECOND})?)?"
_INSTANT = f"{_DAY}[ T]{_MINUTE}{_SECOND}(Z|[+-](0[0-9]|1[0-4])(:[0-5][0-9])?)"


@dataclass(frozen=True)
class Dialect:
    """What differs between the engines' SQL."""

    matches: Callable[[str, str], str]
    """SQL for whether a text is of a form, from its first to its last character."""
    canonical: Callable[[str, str, Knowledge], str | None]
    """SQL for the canonical text of a value, by the engine's name of its type."""
    names: Mapping[str, str]
    """The engine's names of the types that can be declared."""
    duckdb_name: Callable[[str], str] = str
    cast_name: Callable[[str], str] = str


DUCKDB = Dialect(
    lambda text, form: f"regexp_full_match({text}, {literal(form)})", canonical_text, TYPES
)


@dataclass(frozen=True)
class Stored:
    """A column as the source has it."""

    name: str
    value: str
    """SQL for its values."""
    type: str
    """Their type, by the engine's name."""
    knowledge: Knowledge


def view_of(
    column: Stored, wanted: str | None, *, key: bool, dialect: Dialect = DUCKDB
) -> tuple[dict[str, str], SourceColumn]:
    """SQL for the view's columns of one stored column, by name, and what is known of it.

    ``wanted`` is the type that the curator declares, if any; a ``key`` has its text beside it.
    """
    value, kind, how = column.value, column.type, column.knowledge
    text = dialect.canonical(value, kind, how)
    if wanted is not None and not (how == "declared" and kind == dialect.names[wanted]):
        if text is None:
            raise InputError(
                f"column {column.name!r} holds lists or other values without a text, so that its "
                f"type cannot be declared: remove --type {column.name}={wanted}."
            )
        value, kind, how = typed(text, wanted, dialect), dialect.names[wanted], "declared"
        text = dialect.canonical(value, kind, how)
    if how == "declared" or text is None or text == value:
        shown = {column.name: value}
        known = SourceColumn(dialect.duckdb_name(kind), how == "declared")
    else:
        shown = {column.name: text, own_of(column.name): value}
        known = SourceColumn("VARCHAR", False, dialect.duckdb_name(kind))
    if key and text is not None:
        shown[text_of(column.name)] = text
    return shown, known


def typed(text: str, type_name: str, dialect: Dialect = DUCKDB) -> str:
    """SQL for a value of a declared type from its canonical text; null where it does not fit.

    >>> typed("x", "text")
    'x'
    """
    if type_name == "text":
        return text
    return _READERS[type_name](f"trim({text})", dialect)


def suggested(columns: Mapping[str, SourceColumn]) -> dict[str, str]:
    """The source's own types of columns that expressions read as text.

    >>> suggested({"age": SourceColumn("VARCHAR", False, "BIGINT"), "day": SourceColumn("DATE")})
    {'age': 'int64'}
    """
    return {
        name: kind
        for name, column in columns.items()
        for form, kind in _SUGGESTED
        if column.own is not None and re.fullmatch(form, column.own)
    }


def _cast(text: str, type_name: str, dialect: Dialect) -> str:
    return f"TRY_CAST({text} AS {dialect.cast_name(dialect.names[type_name])})"


def _int64(text: str, dialect: Dialect) -> str:
    number = _cast(text, "int64", dialect)
    # A number with a point was a float; one of 2^53 and beyond has no text in a column of floats.
    whole = _cast(f"split_part({text}, '.', 1)", "int64", dialect)
    exact = f"{whole} BETWEEN {1 - EXACT} AND {EXACT - 1}"
    return (
        f"CASE WHEN {dialect.matches(text, _WHOLE)} THEN {number} "
        f"WHEN {dialect.matches(text, _POINT)} THEN CASE WHEN {exact} THEN {whole} END END"
    )


def _float64(text: str, dialect: Dialect) -> str:
    number = _cast(text, "float64", dialect)
    # -0.0 is 0: in a column of integers it has no sign.
    within = f"CASE WHEN {number} = 0 THEN 0e0 WHEN abs({number}) < {EXACT} THEN {number} END"
    return f"CASE WHEN {dialect.matches(text, _NUMBER)} THEN {within} END"


def _bool(text: str, _: Dialect) -> str:
    return (
        f"CASE WHEN lower({text}) IN ('true', 't', '1') THEN true "
        f"WHEN lower({text}) IN ('false', 'f', '0') THEN false END"
    )


def _dated(form: str, type_name: str, length: int | None = None) -> Callable[[str, Dialect], str]:
    """A reader of dates and times, in the years 1 to 9999, which both engines know."""

    def read(text: str, dialect: Dialect) -> str:
        known = f"{dialect.matches(text, form)} AND left({text}, 4) <> '0000'"
        taken = text if length is None else f"left({text}, {length})"
        return f"CASE WHEN {known} THEN {_cast(taken, type_name, dialect)} END"

    return read


_READERS: dict[str, Callable[[str, Dialect], str]] = {
    "int64": _int64,
    "float64": _float64,
    "bool": _bool,
    "date": _dated(_MIDNIGHT, "date", 10),
    "timestamp": _dated(_LOCAL, "timestamp"),
    "timestamptz": _dated(_INSTANT, "timestamptz"),
}
