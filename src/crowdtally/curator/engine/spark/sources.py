"""Opening each kind of source in Spark."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from contextlib import redirect_stdout
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

from crowdtally.core.registry import quoted as duckdb_quoted
from crowdtally.curator.engine import csv_files
from crowdtally.curator.engine.canonical import SourceColumn, own_of
from crowdtally.curator.engine.duckdb import DuckDBEngine
from crowdtally.curator.engine.sources import Located
from crowdtally.curator.engine.spark.sql import quoted
from crowdtally.curator.engine.spark.types import SPARK, duckdb_name, kinds, shipped_as
from crowdtally.curator.engine.typed import Stored, view_of
from crowdtally.errors import InputError

LARGEST_SENT = 256 * 2**20
"""Bytes up to which a file of this machine is sent to a cluster that may not see it."""
_NOT_REPEATABLE = re.compile(
    r"\b(rand|randn|random|uuid|shuffle|randstr|uniform|monotonically_increasing_id|"
    r"spark_partition_id|input_file_name)\(|\bSample \[|\bGlobalLimit\b|\bSample [\d.]+"
)


def opened(
    session: Any,
    located: Located,
    is_local: bool,
    keys: Collection[str],
    types: Mapping[str, str],
    zone: str,
) -> tuple[Any, dict[str, SourceColumn]]:
    """The source as a Spark DataFrame, as ``view_of`` says; nothing is read by the cluster yet.

    ``zone`` is the one in which a DuckDB view makes days of times.
    """
    if located.kind == "spark-table":
        name = _table_name(str(located.table))
        return viewed(session.table(name), keys, types, declared=_is_stored(session, name))
    # A small CSV is read here as well, by DuckDB, which names the line that is at fault.
    seen = is_local and located.kind == "parquet"
    if located.kind in ("parquet", "csv") and (seen or _too_large_to_send(located)):
        return viewed(_read(session, located), keys, types, declared=True)
    return _shipped(session, located, keys, types, zone)


def viewed(
    frame: Any, keys: Collection[str], types: Mapping[str, str], *, declared: bool
) -> tuple[Any, dict[str, SourceColumn]]:
    """A DataFrame's columns as ``view_of`` shows them; ``declared``: its types are stored ones."""
    columns: dict[str, SourceColumn] = {}
    shown: dict[str, str] = {}
    for name, kind in kinds(frame).items():
        stored = Stored(name, quoted(name), kind, "declared" if declared else "inferred")
        sql, columns[name] = view_of(stored, types.get(name), key=name in keys, dialect=SPARK)
        shown |= sql
    return frame.selectExpr(*(f"{sql} AS {quoted(name)}" for name, sql in shown.items())), columns


def _is_stored(session: Any, name: str) -> bool:
    """Whether the catalogue has a table of that name: a view's types may come from its rows."""
    return session.catalog.getTable(name).tableType in ("MANAGED", "EXTERNAL")


def refuse_unrepeatable(frame: Any) -> None:
    """Refuse a DataFrame that may differ each time a part of it is computed.

    A cluster computes parts again when it loses them. A user's records would then come in two
    versions, and the bound on what she contributes would hold for each, not for both.
    """
    found = _NOT_REPEATABLE.search(_analysed(frame))
    if found:
        what = (found[1] or found[0].split()[0].strip()).lower()
        raise InputError(
            f"the DataFrame is computed with {what}, so its rows may differ each time a part of it "
            "is computed: write it to a table or file, and release that."
        )


def plan_of(frame: Any) -> str:
    """All stages of a DataFrame's plan, which Spark can only print."""
    with redirect_stdout(StringIO()) as text:
        frame.explain(mode="extended")
    return text.getvalue()


def _analysed(frame: Any) -> str:
    _, _, rest = plan_of(frame).partition("== Analyzed Logical Plan ==")
    return rest.partition("== Optimized Logical Plan ==")[0]


def _table_name(text: str) -> str:
    return text if "`" in text else ".".join(quoted(part) for part in text.split("."))


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
    """CSV, a record a line, all columns as text, by the header: nothing is guessed.

    A quote that is not closed on its line is refused. It would make other lines, other users'
    records, part of one field.
    """
    if "://" in located.paths[0]:
        first = lines.limit(1).toArrow().column(0).to_pylist()
        header = str(first[0]).removeprefix("\ufeff") if first else ""
        delimiter, columns = csv_files.header_of(header, str(located.label))
    else:
        delimiter, columns = csv_files.common_header(located.paths)
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
    """What this machine holds, read by DuckDB, in types that Spark takes."""
    with DuckDBEngine() as engine:
        engine.in_zone(zone)
        columns = engine.open(located, "held", keys, types)
        casts = []
        for column, kind in engine.schema("held").items():
            name, target = duckdb_quoted(column), shipped_as(kind)
            casts.append(f"TRY_CAST({name} AS {target}) AS {name}" if target else name)
        frame = session.createDataFrame(engine.arrow(f"SELECT {', '.join(casts)} FROM held"))
    held = {name: duckdb_name(kind) for name, kind in kinds(frame).items()}
    return frame, {
        name: replace(column, type=held[name], own=held.get(own_of(name)))
        for name, column in columns.items()
    }
