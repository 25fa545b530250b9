"""Spark's types under DuckDB's names, by which the declaration is checked, and under Ibis's."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import ibis.expr.datatypes as dt

from crowdtally.curator.engine.canonical import EXACT, Knowledge
from crowdtally.curator.engine.typed import Dialect
from crowdtally.errors import InputError

_NAMES = {
    "tinyint": ("TINYINT", "int8"),
    "smallint": ("SMALLINT", "int16"),
    "int": ("INTEGER", "int32"),
    "bigint": ("BIGINT", "int64"),
    "float": ("FLOAT", "float32"),
    "double": ("DOUBLE", "float64"),
    "string": ("VARCHAR", "string"),
    "boolean": ("BOOLEAN", "boolean"),
    "date": ("DATE", "date"),
    "timestamp": ("TIMESTAMP WITH TIME ZONE", "timestamp"),
    "timestamp_ntz": ("TIMESTAMP", "timestamp"),
    "binary": ("BLOB", "binary"),
    "void": ("VARCHAR", "string"),  # of nulls alone
    # What Spark makes of unsigned and of 128-bit integers.
    "decimal(20,0)": ("UBIGINT", "decimal(20, 0)"),
    "decimal(38,0)": ("HUGEINT", "decimal(38, 0)"),
}
# Not "string collate …": there different texts are equal, and a record would match several values
# of a list.
_OTHER_TEXT = re.compile(r"(var)?char\(\d+\)")
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")


def duckdb_name(kind: str) -> str:
    """The name by which DuckDB calls a Spark type.

    >>> duckdb_name("int"), duckdb_name("varchar(7)"), duckdb_name("decimal(9,2)")
    ('INTEGER', 'VARCHAR', 'DECIMAL(9,2)')
    """
    if _OTHER_TEXT.fullmatch(kind):
        return "VARCHAR"
    return _NAMES[kind][0] if kind in _NAMES else kind.upper()


def ibis_type(kind: str) -> dt.DataType:
    """The Ibis type of a Spark type; only its family matters, since Spark knows its own columns."""
    if kind in _NAMES:
        return dt.dtype(_NAMES[kind][1])
    decimal = _DECIMAL.fullmatch(kind)
    if decimal:
        return dt.Decimal(int(decimal[1]), int(decimal[2]))
    return dt.string if _OTHER_TEXT.fullmatch(kind) else dt.unknown


def kinds(frame: Any) -> dict[str, str]:
    """Columns of a Spark DataFrame and Spark's own words for their types."""
    return {field.name: field.dataType.simpleString().lower() for field in frame.schema.fields}


def canonical_text(value: str, kind: str) -> str | None:
    """Spark's SQL for a value as text that depends on the value, not on its column's type.

    None for lists, maps and the like.

    >>> canonical_text("x", "int"), canonical_text("x", "array<int>")
    ('CAST(x AS STRING)', None)
    """
    if kind in ("float", "double"):
        value = value if kind == "double" else f"CAST({value} AS DOUBLE)"
        number = f"CAST({value} AS BIGINT)"
        text = f"CAST(if({value} = {number}, {number}, NULL) AS STRING)"
        # NaN exceeds everything, and is not below 2^53; from there on no float is a fraction.
        return (
            f"CASE WHEN abs({value}) < {EXACT} THEN coalesce({text}, CAST({value} AS STRING)) END"
        )
    if kind == "string":
        return value
    if kind == "timestamp":
        # Of an instant, as of DuckDB's: read again in another zone it must stay the same one.
        return f"concat(CAST({value} AS STRING), '+00')"
    if kind == "timestamp_ntz":
        return f"regexp_replace(CAST({value} AS STRING), ' 00:00:00$', '')"  # of a date, the date
    if kind == "binary":
        return f"hex({value})"
    if _DECIMAL.fullmatch(kind) and not kind.endswith(",0)"):
        return f"rtrim('.', rtrim('0', CAST({value} AS STRING)))"
    known = kind in _NAMES or _OTHER_TEXT.fullmatch(kind) or _DECIMAL.fullmatch(kind)
    return f"CAST({value} AS STRING)" if known else None


def _full_match(text: str, form: str) -> str:
    """By a look ahead instead of ``$``, which lets a last line break pass."""
    return f"{text} RLIKE '^({form})(?![^~]|~)'"


def _canonical(value: str, kind: str, _: Knowledge) -> str | None:
    return canonical_text(value, kind)


def _cast_name(kind: str) -> str:
    """What a session calls a timestamp may be one without a zone."""
    return "timestamp_ltz" if kind == "timestamp" else kind


SPARK = Dialect(
    _full_match,
    _canonical,
    {
        "int64": "bigint",
        "float64": "double",
        "text": "string",
        "bool": "boolean",
        "date": "date",
        "timestamp": "timestamp_ntz",
        "timestamptz": "timestamp",
    },
    duckdb_name,
    _cast_name,
)
"""Spark's SQL of declared types; in a session whose zone is UTC."""


def refuse_same_names(columns: Iterable[str], label: str) -> None:
    """Spark does not tell upper from lower case in column names; two such columns are a mistake."""
    seen: dict[str, str] = {}
    for column in columns:
        other = seen.setdefault(column.lower(), column)
        if other is not column:
            raise InputError(
                f"{label} has columns {other!r} and {column!r}, which Spark cannot tell apart: "
                "rename one of them."
            )


_SHIPPED: Mapping[str, str] = {
    "UTINYINT": "SMALLINT",
    "USMALLINT": "INTEGER",
    "UINTEGER": "BIGINT",
    "UBIGINT": "DECIMAL(20, 0)",
    "HUGEINT": "DECIMAL(38, 0)",
    "UHUGEINT": "VARCHAR",
    "UUID": "VARCHAR",
    "TIME": "VARCHAR",
    "TIMESTAMP_S": "TIMESTAMP",
    "TIMESTAMP_MS": "TIMESTAMP",
    "TIMESTAMP_NS": "TIMESTAMP",
}


def shipped_as(duckdb_type: str) -> str | None:
    """The type to cast a DuckDB column to before Spark can take it; None where it can at once."""
    return "VARCHAR" if duckdb_type.startswith("ENUM") else _SHIPPED.get(duckdb_type)
