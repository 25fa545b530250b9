"""Rows of a PostgreSQL database, exactly, in a stream: the server writes them as text.

The server's catalogue declares the columns' types. Text is the one form in which it writes every
value exactly; each is then cast by itself, and one that has no counterpart here (the year 5000 BC)
is null.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import duckdb

from crowdtally.core.registry import quoted
from crowdtally.curator.engine.ahead import ahead, at_once
from crowdtally.curator.engine.csv_files import exact_text
from crowdtally.curator.engine.postgres_blocks import Column, blocks, pages_of
from crowdtally.curator.engine.tables import no_such_table, parts_of, spelled
from crowdtally.errors import CrowdtallyError, InputError

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
    url: str,
    label: str,
    table: str,
    into: duckdb.DuckDBPyConnection,
    name: str,
    spool: Path,
    *,
    rows: bool = True,
) -> None:
    """Copy a table or view into the new table ``name``; ``spool`` is a file to use on the way.

    Without ``rows``, its columns alone.
    """
    with _connected(url, label) as connection:
        connection.execute(_SETTINGS)
        found = _resolve(connection, label, table)
        query = f"SELECT * FROM {found}" + ("" if rows else " LIMIT 0")
        pages = pages_of(connection, found) if rows else None
        if pages is None:
            copy_query(connection, query, into, name, spool)
            return
        columns = _columns(connection, query)
        with at_once(into), closing(ahead(blocks(connection, found, pages, columns))) as fetched:
            _create(into, name, columns)
            for block in fetched:
                spool.write_bytes(block)
                _insert(into, name, columns, spool)


def copy_query(
    connection: Any, query: str, into: duckdb.DuckDBPyConnection, name: str, spool: Path
) -> None:
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


def _create(into: duckdb.DuckDBPyConnection, name: str, columns: Mapping[str, Column]) -> None:
    declared = ", ".join(f"{quoted(column)} {known.kind}" for column, known in columns.items())
    into.execute(f"CREATE TABLE {name} ({declared})")


def _insert(
    into: duckdb.DuckDBPyConnection, name: str, columns: Mapping[str, Column], spool: Path
) -> None:
    """Add the rows of the file, which is then removed."""
    values = ", ".join(_from_text(quoted(column), known.kind) for column, known in columns.items())
    into.execute(f"INSERT INTO {name} SELECT {values} FROM {exact_text(spool, list(columns))}")
    spool.unlink()


def duckdb_type(declared: str) -> str:
    """The type in which a column is read; what has no counterpart is text.

    >>> [duckdb_type(text) for text in ("integer", "numeric(9,2)", "numeric", "character(3)")]
    ['BIGINT', 'DECIMAL(9,2)', 'VARCHAR', 'VARCHAR']
    """
    numeric = _NUMERIC.fullmatch(declared)
    if numeric and int(numeric[1]) <= _LARGEST_DECIMAL and int(numeric[2]) <= int(numeric[1]):
        return f"DECIMAL({numeric[1]},{numeric[2]})"
    return _TYPES.get(declared, "VARCHAR")


def _columns(connection: Any, query: str) -> Mapping[str, Column]:
    """A query's columns and the types in which they are read: the server says, not the rows."""
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
    known = [(table,)] if len(parts) > 2 else [parts, (table,), small]
    for named in known:
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
