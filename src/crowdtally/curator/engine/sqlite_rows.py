"""Rows of a SQLite database, exactly, in a stream.

SQLite's columns have declared types that bind nobody: any row may hold a value of another kind. So
the declared type alone decides how a column is read, each value is brought to it by itself, and one
that does not fit is null. A column without a declared type is text. No number becomes a float on
the way.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from urllib.parse import quote

import duckdb

from crowdtally.core.registry import quoted
from crowdtally.curator.engine.ahead import ahead, at_once
from crowdtally.curator.engine.sqlite_blocks import Block, blocks, numbered, text_block
from crowdtally.curator.engine.sqlite_text import as_text, declared_type, decoded
from crowdtally.curator.engine.tables import meant, no_such_table, spelled
from crowdtally.errors import InputError

_ROWS = 100_000
_SCHEMA = "main"


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
        numbers = numbered(connection, found, kinds) if rows else None
        if numbers is None:
            some = "" if rows else " LIMIT 0"
            copy_query(connection, f"SELECT * FROM {quoted(found)}{some}", kinds, into, name)
        else:
            with closing(ahead(blocks(connection, numbers))) as fetched:
                _insert(fetched, kinds, into, name)


def copy_query(
    connection: sqlite3.Connection,
    query: str,
    kinds: Mapping[str, str],
    into: duckdb.DuckDBPyConnection,
    name: str,
) -> None:
    """Copy the rows of a query, whose columns have these types, into the new table ``name``."""
    with _decoding(connection):
        _insert(_row_by_row(connection, query, kinds), kinds, into, name)


def tables_of(path: str) -> list[str]:
    """The tables and views of a database file."""
    with _opened(path) as connection:
        return spelled(_names(connection), _SCHEMA)


def _insert(
    rows: Iterator[Block], kinds: Mapping[str, str], into: duckdb.DuckDBPyConnection, name: str
) -> None:
    columns = ", ".join(f"{quoted(column)} {kind}" for column, kind in kinds.items())
    with at_once(into):
        into.execute(f"CREATE TABLE {name} ({columns})")
        for block in rows:
            into.register("incoming", dict(block.arrays))
            into.execute(f"INSERT INTO {name} SELECT {block.values} FROM incoming")
            into.unregister("incoming")


def _row_by_row(
    connection: sqlite3.Connection, query: str, kinds: Mapping[str, str]
) -> Iterator[Block]:
    texts = ", ".join(as_text(quoted(column), kind) for column, kind in kinds.items())
    with closing(connection.execute(f"SELECT {texts} FROM ({query})")) as cursor:
        while rows := cursor.fetchmany(_ROWS):
            yield text_block(rows, kinds)


@contextmanager
def _opened(path: str) -> Iterator[sqlite3.Connection]:
    """The database, read-only; its failures in our words, which quote no value."""
    address = f"file:{quote(path)}?mode=ro"
    try:
        # One thread at a time uses it: one that reads ahead, and this one before and after.
        with closing(sqlite3.connect(address, uri=True, check_same_thread=False)) as connection:
            yield connection
    except sqlite3.Error as error:
        raise InputError(
            f"{path!r} cannot be read as a SQLite database ({type(error).__name__}): it is "
            "damaged, locked or something else; make it again or restore a good copy."
        ) from error


@contextmanager
def _decoding(connection: sqlite3.Connection) -> Iterator[None]:
    """Within, bytes that are no text are null, or one value would stop the release."""
    before, connection.text_factory = connection.text_factory, decoded
    try:
        yield
    finally:
        connection.text_factory = before


def _names(connection: sqlite3.Connection) -> list[tuple[str, str]]:
    query = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE ?"
    return [(_SCHEMA, str(row[0])) for row in connection.execute(query, ["sqlite_%"])]


def _resolve(connection: sqlite3.Connection, path: str, table: str) -> str:
    """The table's name as the database spells it."""
    names = _names(connection)
    found = meant(table, names, _SCHEMA)
    if found is None:
        raise no_such_table(repr(path), table, spelled(names, _SCHEMA))
    return found[1]
