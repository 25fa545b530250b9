"""Rows of a PostgreSQL database, exactly, in a stream: the server writes them as text (COPY).

The server's catalogue declares the columns' types. Text is the one form in which it writes every
value exactly; each is then cast by itself, and one that has no counterpart here (the year 5000 BC)
is null.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb

from crowdtally.curator.engine.csv_files import exact_text
from crowdtally.errors import CrowdtallyError, InputError, did_you_mean
from crowdtally.values.sql import quoted

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
        found = _resolve(connection, label, table)
        some = "" if rows else " LIMIT 0"
        copy_query(connection, f"SELECT * FROM {found}{some}", into, name, spool)


def copy_query(
    connection: Any, query: str, into: duckdb.DuckDBPyConnection, name: str, spool: Path
) -> None:
    """Copy the rows of a query into the new table ``name``."""
    connection.execute(_SETTINGS)
    kinds = _kinds(connection, query)
    with (
        spool.open("wb") as file,
        connection.cursor() as cursor,
        cursor.copy(f"COPY ({query}) TO STDOUT (FORMAT csv)") as rows,
    ):
        for block in rows:
            file.write(block)
    values = ", ".join(
        f"{_from_text(quoted(column), kind)} AS {quoted(column)}" for column, kind in kinds.items()
    )
    into.execute(f"CREATE TABLE {name} AS SELECT {values} FROM {exact_text(spool, list(kinds))}")
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


def _kinds(connection: Any, query: str) -> Mapping[str, str]:
    """A query's columns and the types in which they are read: the server says, not the rows."""
    described = connection.execute(f"SELECT * FROM ({query}) AS described LIMIT 0").description
    oids = [column.type_code for column in described]
    rows = connection.execute(
        "SELECT format_type(oid, NULL) FROM unnest(%s::oid[]) WITH ORDINALITY AS asked(oid, place) "
        "ORDER BY place",
        [oids],
    ).fetchall()
    kinds = {}
    for column, (declared,) in zip(described, rows, strict=True):
        if declared == "numeric" and column.precision:
            declared = f"numeric({column.precision},{column.scale or 0})"
        kinds[str(column.name)] = duckdb_type(str(declared))
    return kinds


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
    """The table's full name in SQL; among several schemas the search path decides."""
    named = ".".join(quoted(part) for part in table.split("."))
    for spelled in (named, quoted(table), table.lower()):
        row = connection.execute(
            "SELECT to_regclass(%s)::oid::regclass::text", [spelled]
        ).fetchone()
        if row and row[0] is not None:
            return str(row[0])
    names = connection.execute(
        "SELECT DISTINCT CASE WHEN schemaname = 'public' THEN name "
        "ELSE schemaname || '.' || name END FROM ("
        "SELECT schemaname, tablename AS name FROM pg_tables UNION "
        "SELECT schemaname, viewname FROM pg_views UNION "
        "SELECT schemaname, matviewname FROM pg_matviews) AS known "
        "WHERE schemaname NOT IN ('pg_catalog', 'information_schema') ORDER BY 1"
    ).fetchall()
    listed = did_you_mean(table, [str(name) for (name,) in names])
    raise InputError(f"{label} has no table {table!r}. {listed}")
