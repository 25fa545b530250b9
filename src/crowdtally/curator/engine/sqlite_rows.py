"""Rows of a SQLite database, exactly, in a stream.

SQLite's columns have declared types that bind nobody: any row may hold a value of another kind. So
the declared type alone decides how a column is read, each value is brought to it by itself, in SQL,
and one that does not fit is null. A column without a declared type is text. Values travel as text:
no number becomes a float on the way.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from typing import Any
from urllib.parse import quote

import duckdb
import numpy as np

from crowdtally.errors import InputError, did_you_mean
from crowdtally.values.sql import quoted

_BLOCK = 100_000
_WHOLE = 2**53


def copy_table(
    path: str, table: str, into: duckdb.DuckDBPyConnection, name: str, *, rows: bool = True
) -> None:
    """Copy a table or view of the database file ``path`` into the new table ``name``.

    Without ``rows``, its columns alone.
    """
    with _opened(path) as connection:
        found = _resolve(connection, path, table)
        described = connection.execute(f"PRAGMA table_xinfo({quoted(found)})").fetchall()
        kinds = {str(row[1]): declared_type(str(row[2])) for row in described if row[6] != 1}
        some = "" if rows else " LIMIT 0"
        copy_query(connection, f"SELECT * FROM {quoted(found)}{some}", kinds, into, name)


def copy_query(
    connection: sqlite3.Connection,
    query: str,
    kinds: Mapping[str, str],
    into: duckdb.DuckDBPyConnection,
    name: str,
) -> None:
    """Copy the rows of a query, whose columns have these types, into the new table ``name``."""
    columns = ", ".join(f"{quoted(column)} {kind}" for column, kind in kinds.items())
    into.execute(f"CREATE TABLE {name} ({columns})")
    texts = ", ".join(_as_text(quoted(column), kind) for column, kind in kinds.items())
    values = ", ".join(_from_text(f"c{n}", kind) for n, kind in enumerate(kinds.values()))
    with (
        _decoding(connection),
        closing(connection.execute(f"SELECT {texts} FROM ({query})")) as cursor,
    ):
        while rows := cursor.fetchmany(_BLOCK):
            into.register("incoming", _block(rows))
            into.execute(f"INSERT INTO {name} SELECT {values} FROM incoming")
            into.unregister("incoming")


def declared_type(declared: str) -> str:
    """The type in which a column is read, by its declaration alone.

    >>> [declared_type(text) for text in ("BIGINT", "varchar(9)", "", "DATETIME", "NUMERIC")]
    ['BIGINT', 'VARCHAR', 'VARCHAR', 'TIMESTAMP', 'VARCHAR']
    """
    upper = declared.upper()
    for words, kind in (
        (("INT",), "BIGINT"),
        (("CHAR", "CLOB", "TEXT"), "VARCHAR"),
        (("BLOB",), "BLOB"),
        (("REAL", "FLOA", "DOUB"), "DOUBLE"),
        (("BOOL",), "BOOLEAN"),
        (("DATETIME", "TIMESTAMP"), "TIMESTAMP"),
    ):
        if any(word in upper for word in words):
            return kind
    return "DATE" if upper == "DATE" else "VARCHAR"


def _as_text(column: str, kind: str) -> str:
    """SQLite's SQL for a value as text, null where it is not of the kind."""
    whole = f"CAST(CAST({column} AS INTEGER) AS TEXT)"
    digits = f"printf('%!.17g', {column})"
    plain = f"CASE WHEN abs({column}) < {_WHOLE} AND {column} = CAST({column} AS INTEGER) "
    readings = {
        "BIGINT": {"integer": whole},
        "DOUBLE": {"integer": whole, "real": digits},
        "BOOLEAN": {"integer": whole, "text": column},
        "BLOB": {"blob": f"hex({column})"},
        "VARCHAR": {
            "text": column,
            "integer": whole,
            "real": f"{plain} THEN {whole} ELSE {digits} END",
        },
    }
    cases = readings.get(kind, {"text": column})
    words = " ".join(f"WHEN '{stored}' THEN {sql}" for stored, sql in cases.items())
    return f"CASE typeof({column}) {words} END"


def _from_text(column: str, kind: str) -> str:
    """DuckDB's SQL for the value again."""
    if kind == "VARCHAR":
        return column
    return f"from_hex({column})" if kind == "BLOB" else f"TRY_CAST({column} AS {kind})"


def _block(rows: list[tuple[Any, ...]]) -> dict[str, Any]:
    columns = {}
    for number, values in enumerate(zip(*rows, strict=True)):
        column = np.empty(len(rows), dtype=object)
        column[:] = values
        columns[f"c{number}"] = column
    return columns


@contextmanager
def _opened(path: str) -> Iterator[sqlite3.Connection]:
    """The database, read-only; its failures in our words, which quote no value."""
    try:
        with closing(sqlite3.connect(f"file:{quote(path)}?mode=ro", uri=True)) as connection:
            yield connection
    except sqlite3.Error as error:
        raise InputError(
            f"{path!r} cannot be read as a SQLite database ({type(error).__name__}): it is "
            "damaged, locked or something else; make it again or restore a good copy."
        ) from error


@contextmanager
def _decoding(connection: sqlite3.Connection) -> Iterator[None]:
    """Within, bytes that are no text are null, or one value would stop the release."""
    before, connection.text_factory = connection.text_factory, _decoded
    try:
        yield
    finally:
        connection.text_factory = before


def _decoded(raw: bytes) -> str | None:
    """Text, or null."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return None


def _resolve(connection: sqlite3.Connection, path: str, table: str) -> str:
    """The table's name as the database spells it."""
    query = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE ?"
    names = [str(row[0]) for row in connection.execute(query, ["sqlite_%"])]
    wanted = {table.lower(), table.lower().removeprefix("main.")}
    found = [name for name in names if name.lower() in wanted]
    if not found:
        raise InputError(f"{path!r} has no table {table!r}. {did_you_mean(table, names)}")
    return found[0]
