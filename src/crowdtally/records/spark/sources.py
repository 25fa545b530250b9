"""Sources as Spark DataFrames, and the names and texts of Spark's types."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from contextlib import redirect_stdout
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import ibis.expr.datatypes as dt

from crowdtally.core.registry import quoted as duckdb_quoted
from crowdtally.errors import InputError
from crowdtally.records import csv
from crowdtally.records.columns import EXACT, SourceColumn, own_of
from crowdtally.records.duckdb import DuckDBEngine
from crowdtally.records.locate import Located
from crowdtally.records.spark.session import Joined
from crowdtally.records.spark.sql import quoted
from crowdtally.records.types import Dialect, Stored, view_of

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
# Not "string collate …": a collation makes different texts equal, so a record would match several
# values of a list.
_OTHER_TEXT = re.compile(r"(var)?char\(\d+\)")
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")


def duckdb_name(kind: str) -> str:
    """DuckDB's name of a Spark type.

    >>> duckdb_name("int"), duckdb_name("varchar(7)"), duckdb_name("decimal(9,2)")
    ('INTEGER', 'VARCHAR', 'DECIMAL(9,2)')
    """
    if _OTHER_TEXT.fullmatch(kind):
        return "VARCHAR"
    return _NAMES[kind][0] if kind in _NAMES else kind.upper()


def ibis_type(kind: str) -> dt.DataType:
    """The Ibis type of a Spark type; its family is enough, since Spark knows its own columns."""
    if kind in _NAMES:
        return dt.dtype(_NAMES[kind][1])
    decimal = _DECIMAL.fullmatch(kind)
    if decimal:
        return dt.Decimal(int(decimal[1]), int(decimal[2]))
    return dt.string if _OTHER_TEXT.fullmatch(kind) else dt.unknown


def kinds(frame: Any) -> dict[str, str]:
    """Columns of a Spark DataFrame and Spark's names of their types."""
    return {field.name: field.dataType.simpleString().lower() for field in frame.schema.fields}


def canonical_text(value: str, kind: str) -> str | None:
    """As ``columns.canonical_text``, in Spark's SQL and of a Spark type.

    >>> canonical_text("x", "int"), canonical_text("x", "array<int>")
    ('CAST(x AS STRING)', None)
    """
    if kind in ("float", "double"):
        value = value if kind == "double" else f"CAST({value} AS DOUBLE)"
        number = f"CAST({value} AS BIGINT)"
        whole = f"CAST(if({value} = {number}, {number}, NULL) AS STRING)"
        # NaN exceeds everything, and is not below 2^53; from there on no float is a fraction.
        return (
            f"CASE WHEN abs({value}) < {EXACT} THEN coalesce({whole}, CAST({value} AS STRING)) END"
        )
    decimal = _DECIMAL.fullmatch(kind)
    if not (decimal or kind in _NAMES or _OTHER_TEXT.fullmatch(kind)):
        return None
    text = f"CAST({value} AS STRING)"
    texts = {
        "string": value,
        # An instant has one text, as in DuckDB: its local time would depend on the zone.
        "timestamp": f"concat({text}, '+00')",
        "timestamp_ntz": f"regexp_replace({text}, ' 00:00:00$', '')",  # of a date, the date
        "binary": f"hex({value})",
    }
    fraction = decimal and decimal[2] != "0"
    return f"rtrim('.', rtrim('0', {text}))" if fraction else texts.get(kind, text)


def _full_match(text: str, form: str) -> str:
    """By a look ahead instead of ``$``, which lets a last line break pass."""
    return f"{text} RLIKE '^({form})(?![^~]|~)'"


SPARK = Dialect(
    _full_match,
    lambda value, kind, _: canonical_text(value, kind),
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
    # A session may use the name "timestamp" for a time without a zone.
    lambda kind: "timestamp_ltz" if kind == "timestamp" else kind,
)
"""Spark's SQL of declared types; in a session whose zone is UTC."""


def refuse_same_names(columns: Iterable[str], label: str) -> None:
    """Refuse names that differ in case alone: to Spark they are one."""
    seen: dict[str, str] = {}
    for column in columns:
        other = seen.setdefault(column.lower(), column)
        if other is not column:
            raise InputError(
                f"{label} has columns {other!r} and {column!r}, which Spark cannot tell apart: "
                "rename one of them."
            )


_SHIPPED = {
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


LARGEST_SENT = 256 * 2**20
"""Bytes up to which a file of this machine is sent to a cluster that may not see it."""
_NOT_REPEATABLE = re.compile(
    r"\b(rand|randn|random|uuid|shuffle|randstr|uniform|monotonically_increasing_id|"
    r"spark_partition_id|input_file_name)\(|\bSample \[|\bGlobalLimit\b|\bSample [\d.]+"
)


def opened(
    joined: Joined, located: Located, keys: Collection[str], types: Mapping[str, str], zone: str
) -> tuple[Any, dict[str, SourceColumn]]:
    """The source as a Spark DataFrame with the columns of ``view_of``; nothing is read yet.

    ``zone`` is the one in which a DuckDB view makes days of times.
    """
    session = joined.session
    if located.kind == "spark-table":
        name = str(located.table)
        if "`" not in name:
            name = ".".join(map(quoted, name.split(".")))
        # A view's types may come from its rows.
        stored = session.catalog.getTable(name).tableType in ("MANAGED", "EXTERNAL")
        return viewed(session.table(name), keys, types, declared=stored)
    # A small CSV is read here as well, by DuckDB, which names the line that is at fault.
    seen = joined.is_local and located.kind == "parquet"
    if located.kind in ("parquet", "csv") and (seen or _too_large_to_send(located)):
        return viewed(_read(session, located), keys, types, declared=True)
    return _shipped(session, located, keys, types, zone)


def viewed(
    frame: Any, keys: Collection[str], types: Mapping[str, str], *, declared: bool
) -> tuple[Any, dict[str, SourceColumn]]:
    """A DataFrame's columns as ``view_of`` shows them; ``declared`` if its types are stored."""
    columns: dict[str, SourceColumn] = {}
    shown: dict[str, str] = {}
    for name, kind in kinds(frame).items():
        stored = Stored(name, quoted(name), kind, "declared" if declared else "inferred")
        sql, columns[name] = view_of(stored, types.get(name), key=name in keys, dialect=SPARK)
        shown |= sql
    return frame.selectExpr(*(f"{sql} AS {quoted(name)}" for name, sql in shown.items())), columns


def refuse_unrepeatable(frame: Any) -> None:
    """Refuse a DataFrame that may differ each time a part of it is computed.

    A cluster computes a lost part again. A user's records would then come in two versions, and the
    bound on what she contributes would hold for each, not for both.
    """
    _, _, rest = plan_of(frame).partition("== Analyzed Logical Plan ==")
    match = _NOT_REPEATABLE.search(rest.partition("== Optimized Logical Plan ==")[0])
    if match:
        what = (match[1] or match[0].split()[0].strip()).lower()
        raise InputError(
            f"the DataFrame is computed with {what}, so its rows may differ each time a part of it "
            "is computed: write it to a table or file, and release that."
        )


def plan_of(frame: Any) -> str:
    """All stages of a DataFrame's plan; Spark can only print them."""
    with redirect_stdout(StringIO()) as text:
        frame.explain(mode="extended")
    return text.getvalue()


def _too_large_to_send(located: Located) -> bool:
    if any("://" in path for path in located.paths):
        return True
    return sum(Path(path).stat().st_size for path in located.paths) > LARGEST_SENT


def _read(session: Any, located: Located) -> Any:
    paths = [_uri(path) for path in located.paths]
    reader = session.read.option("__globPaths__", str("://" in located.paths[0]).lower())
    if located.kind == "parquet":
        return reader.option("mergeSchema", "true").parquet(*paths)
    return _records(reader.text(paths), located)


def _uri(path: str) -> str:
    if "://" in path:
        return path
    name = Path(path).name
    if name.startswith(("_", ".")):
        raise InputError(
            f"Spark passes over files whose names begin with '_' or '.': rename {name!r}."
        )
    return f"file://{Path(path).resolve()}"  # not percent-encoded: Hadoop takes names as they are


def _records(lines: Any, located: Located) -> Any:
    """CSV by its header, one record on each line, all columns as text.

    A quote that is not closed on its line is refused: it would take other users' records into one
    field.
    """
    if "://" in located.paths[0]:
        first = lines.limit(1).toArrow().column(0).to_pylist()
        header = str(first[0]).removeprefix("\ufeff") if first else ""
        delimiter, columns = csv.header_of(header, str(located.label))
    else:
        delimiter, columns = csv.common_header(located.paths)
    schema = ", ".join(f"{quoted(column)} STRING" for column in columns)
    options = {
        "sep": delimiter, "quote": '"', "escape": '"', "mode": "FAILFAST",
        "unescapedQuoteHandling": "RAISE_ERROR", "maxCharsPerColumn": "-1",
    }  # fmt: skip
    listed = ", ".join(f"{_text(name)}, {_text(value)}" for name, value in options.items())
    parsed = f"from_csv(line, {_text(schema)}, map({listed}))"
    is_header = " AND ".join(f"record.{quoted(c)} <=> {_text(c)}" for c in columns)
    whole = "is_valid_utf8(line) AND (length(line) - length(replace(line, '\"', ''))) % 2 = 0"
    return (
        lines.selectExpr("trim(LEADING '\ufeff' FROM value) AS line")
        .where("line <> ''")
        .selectExpr(f"if({whole}, {parsed}, raise_error('MALFORMED_CSV')) AS record")
        .where(f"NOT ({is_header})")
        .selectExpr(*(f"nullif(record.{quoted(c)}, '') AS {quoted(c)}" for c in columns))
    )


def _text(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _shipped(
    session: Any, located: Located, keys: Collection[str], types: Mapping[str, str], zone: str
) -> tuple[Any, dict[str, SourceColumn]]:
    """A source of this machine, read by DuckDB, in types that Spark takes."""
    with DuckDBEngine() as engine:
        engine.in_zone(zone)
        columns = engine.open(located, "held", keys, types)
        casts = []
        for column, kind in engine.schema("held").items():
            name = duckdb_quoted(column)
            target = "VARCHAR" if kind.startswith("ENUM") else _SHIPPED.get(kind)
            casts.append(f"TRY_CAST({name} AS {target}) AS {name}" if target else name)
        frame = session.createDataFrame(engine.arrow(f"SELECT {', '.join(casts)} FROM held"))
    held = {name: duckdb_name(kind) for name, kind in kinds(frame).items()}
    return frame, {
        name: replace(column, type=held[name], own=held.get(own_of(name)))
        for name, column in columns.items()
    }
