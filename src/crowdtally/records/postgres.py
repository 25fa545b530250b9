"""Rows of a PostgreSQL database, exactly: the server writes them as text.

The server's catalogue declares the columns' types. Text is the one form in which it writes every
value exactly; each is then cast by itself, and one that DuckDB cannot hold (the year 5000 BC) is
null.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from duckdb import DuckDBPyConnection as DuckDB

from crowdtally.core.registry import quoted
from crowdtally.errors import CrowdtallyError, InputError
from crowdtally.records.copying import ahead, at_once
from crowdtally.records.csv import exact_text
from crowdtally.records.names import no_such_table, parts_of, spelled

# An ordinary table is read in blocks of pages, each one text from the server. COPY sends a message
# for each row, and receiving a million of them takes longer than anything the server does. So the
# server joins the lines of many rows itself. A value is written by its type's output function, as
# COPY writes it; text stands in quotes, and a null is nothing.

_PAGES = 1024
_MOST_AT_ONCE = 40  # columns; a function of PostgreSQL takes at most 100 arguments
_RANGES_SINCE = 140_000
"""The server's first version that goes to a range of pages without reading all others."""
_TEXT = ("text", "character varying")


@dataclass(frozen=True)
class Column:
    """The type of a column."""

    declared: str
    """As the server writes it."""
    kind: str
    """In which DuckDB reads it."""


def pages_of(connection: Any, table: str) -> int | None:
    """How many pages a table has; None for a view, and for one that is stored in several places.

    Long values are stored separately, and their lines could exceed what one text may hold.
    """
    if connection.info.server_version < _RANGES_SINCE:
        return None
    row = connection.execute(
        "SELECT pg_relation_size(oid) / current_setting('block_size')::bigint FROM pg_class "
        "WHERE oid = %s::regclass AND relkind = 'r' AND NOT relhassubclass "
        "AND coalesce(pg_relation_size(nullif(reltoastrelid, 0)), 0) = 0",
        [table],
    ).fetchone()
    return None if row is None else int(row[0])


def blocks(
    connection: Any, table: str, pages: int, columns: Mapping[str, Column]
) -> Generator[bytes, None, None]:
    """The table's rows as CSV, as one transaction sees them; empty texts are quoted, nulls not."""
    query = f"SELECT string_agg({_line(columns)}, E'\\n') FROM {table}"
    for first in range(0, pages, _PAGES):
        yield from _lines(connection, query, first, first + _PAGES)


def _lines(connection: Any, query: str, first: int, end: int) -> Generator[bytes, None, None]:
    """The lines of some pages, in one text; in two or more where one cannot hold them.

    Values in pages are compressed, perhaps a hundredfold, and one user's long texts may not stop
    the release.
    """
    from psycopg.errors import ProgramLimitExceeded

    try:
        with connection.transaction():
            answer = connection.execute(
                f"{query} WHERE ctid >= '({first},0)' AND ctid < '({end},0)'"
            )
    except ProgramLimitExceeded:
        if end - first == 1:
            raise
        half = (first + end) // 2
        yield from _lines(connection, query, first, half)
        yield from _lines(connection, query, half, end)
        return
    text = answer.pgresult.get_value(0, 0)  # as it was sent, in UTF-8
    if text is not None:
        yield bytes(text) + b"\n"  # else a last line of one null would be no line


def _line(columns: Mapping[str, Column]) -> str:
    """SQL for a row as a line of CSV."""
    fields = [_field(quoted(name), column) for name, column in columns.items()]
    some = [fields[at : at + _MOST_AT_ONCE] for at in range(0, len(fields), _MOST_AT_ONCE)]
    return " || ',' || ".join(f"""concat({", ',', ".join(part)})""" for part in some)


def _field(name: str, column: Column) -> str:
    """SQL for one value; ``concat`` writes it as COPY does, and makes nothing of a null."""
    if column.kind != "VARCHAR":
        return name
    if column.declared in _TEXT:
        return f"""'"' || replace({name}, '"', '""') || '"'"""
    text = f"""'"' || replace(concat({name}), '"', '""') || '"'"""
    return f"CASE WHEN {name} IS DISTINCT FROM NULL THEN {text} END"


_TYPES = {
    "smallint": "BIGINT", "integer": "BIGINT", "bigint": "BIGINT", "boolean": "BOOLEAN",
    "real": "DOUBLE", "double precision": "DOUBLE", "uuid": "UUID", "date": "DATE",
    "timestamp without time zone": "TIMESTAMP", "timestamp with time zone": "TIMESTAMPTZ",
    "bytea": "BLOB",
}  # fmt: skip
_NUMERIC = re.compile(r"numeric\((\d+),(\d+)\)")
_LARGEST_DECIMAL = 38
# The texts that the server writes must not depend on its settings.
_SETTINGS = (
    "SET TimeZone = 'UTC'; SET DateStyle = 'ISO, YMD'; SET bytea_output = 'hex'; "
    "SET extra_float_digits = 3; SET client_encoding = 'UTF8'"
)


def copy_table(
    url: str, label: str, table: str, into: DuckDB, name: str, spool: Path, *, rows: bool = True
) -> None:
    """Copy a table or view, or its columns alone, into the new table ``name`` by way of a file."""
    with _connected(url, label) as connection:
        connection.execute(_SETTINGS)
        source = _resolve(connection, label, table)
        query = f"SELECT * FROM {source}" + ("" if rows else " LIMIT 0")
        pages = pages_of(connection, source) if rows else None
        if pages is None:
            copy_query(connection, query, into, name, spool)
            return
        columns = _columns(connection, query)
        with at_once(into), closing(ahead(blocks(connection, source, pages, columns))) as fetched:
            _create(into, name, columns)
            for block in fetched:
                spool.write_bytes(block)
                _insert(into, name, columns, spool)


def copy_query(connection: Any, query: str, into: DuckDB, name: str, spool: Path) -> None:
    """Copy the rows of a query into the new table ``name``."""
    connection.execute(_SETTINGS)
    columns = _columns(connection, query)
    _create(into, name, columns)
    with (
        spool.open("wb") as file,
        connection.cursor() as cursor,
        cursor.copy(f"COPY ({query}) TO STDOUT (FORMAT csv)") as rows,
    ):
        for row in rows:
            file.write(row)
    _insert(into, name, columns, spool)


def _create(into: DuckDB, name: str, columns: Mapping[str, Column]) -> None:
    declared = ", ".join(f"{quoted(column)} {known.kind}" for column, known in columns.items())
    into.execute(f"CREATE TABLE {name} ({declared})")


def _insert(into: DuckDB, name: str, columns: Mapping[str, Column], spool: Path) -> None:
    """Add the rows of the file, which is then removed."""
    values = ", ".join(_from_text(quoted(column), known.kind) for column, known in columns.items())
    into.execute(f"INSERT INTO {name} SELECT {values} FROM {exact_text(spool, list(columns))}")
    spool.unlink()


def duckdb_type(declared: str) -> str:
    """DuckDB's type for a column; text where there is none.

    >>> [duckdb_type(text) for text in ("integer", "numeric(9,2)", "numeric", "character(3)")]
    ['BIGINT', 'DECIMAL(9,2)', 'VARCHAR', 'VARCHAR']
    """
    numeric = _NUMERIC.fullmatch(declared)
    if numeric and int(numeric[1]) <= _LARGEST_DECIMAL and int(numeric[2]) <= int(numeric[1]):
        return f"DECIMAL({numeric[1]},{numeric[2]})"
    return _TYPES.get(declared, "VARCHAR")


def _columns(connection: Any, query: str) -> Mapping[str, Column]:
    """A query's columns, and their types by the server's catalogue, not by the rows."""
    described = connection.execute(f"SELECT * FROM ({query}) AS described LIMIT 0").description
    oids = [column.type_code for column in described]
    rows = connection.execute(
        "SELECT format_type(oid, NULL) FROM unnest(%s::oid[]) WITH ORDINALITY AS asked(oid, place) "
        "ORDER BY place",
        [oids],
    ).fetchall()
    columns = {}
    for column, (declared,) in zip(described, rows, strict=True):
        if declared == "numeric" and column.precision:
            declared = f"numeric({column.precision},{column.scale or 0})"
        columns[str(column.name)] = Column(str(declared), duckdb_type(str(declared)))
    return columns


def _from_text(column: str, kind: str) -> str:
    if kind == "VARCHAR":
        return column
    return f"from_hex(substr({column}, 3))" if kind == "BLOB" else f"TRY_CAST({column} AS {kind})"


@contextmanager
def _connected(url: str, label: str) -> Iterator[Any]:
    """A read-only connection in one transaction; its failures in our words."""
    try:
        import psycopg
    except ImportError:
        raise CrowdtallyError(
            "reading a PostgreSQL database needs a package that is not installed: "
            "pip install 'crowdtally[postgres]'."
        ) from None
    try:
        with psycopg.connect(url) as connection:
            connection.read_only = True
            connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            yield connection
    except psycopg.OperationalError as error:
        raise InputError(
            f"{label} cannot be reached, or the server broke off ({type(error).__name__}): check "
            "the address, the user and the password, and that the server runs."
        ) from error
    except psycopg.Error as error:
        raise InputError(
            f"{label} cannot be read ({type(error).__name__}): check the table's name and the "
            "user's right to read it."
        ) from error


def _resolve(connection: Any, label: str, table: str) -> str:
    """The table's full name in SQL; without a schema the server's search path decides."""
    parts = parts_of(table)
    small = tuple(part.lower() for part in parts)
    for named in [(table,)] if len(parts) > 2 else [parts, (table,), small]:
        row = connection.execute(
            "SELECT to_regclass(%s)::oid::regclass::text", [".".join(map(quoted, named))]
        ).fetchone()
        if row and row[0] is not None:
            return str(row[0])
    tables = connection.execute(
        "SELECT nspname, relname FROM pg_class JOIN pg_namespace AS n ON relnamespace = n.oid "
        "WHERE relkind IN ('r', 'p', 'v', 'm', 'f') AND nspname <> 'information_schema' "
        "AND nspname !~ '^pg_'"
    ).fetchall()
    raise no_such_table(label, table, spelled(tables, "public"))
