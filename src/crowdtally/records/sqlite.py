"""SQLite rows exactly."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any, NoReturn
from urllib.parse import quote

import duckdb
import numpy as np
from numpy.typing import NDArray

from crowdtally.core.registry import quoted
from crowdtally.errors import InputError
from crowdtally.records.copying import ahead, at_once
from crowdtally.records.names import meant, no_such_table, spelled

_WHOLE = 2**53


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


def as_text(column: str, kind: str) -> str:
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


def from_text(column: str, kind: str) -> str:
    """DuckDB's SQL for the value again."""
    if kind == "VARCHAR":
        return column
    return f"from_hex({column})" if kind == "BLOB" else f"TRY_CAST({column} AS {kind})"


def decoded(raw: bytes) -> str | None:
    """Text, or null: bytes that are no text must not stop the release."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return None


# Rows of an ordinary SQLite table in blocks: SQLite writes each column as one JSON array.
#
# A row at a time, most of the time goes into making Python objects. JSON keeps what SQLite tells
# apart: an integer (``7``), a text (``"7"``) and a null; each value is brought to its column's
# declared type by itself, as in :mod:`sqlite_rows`. What JSON does not hold exactly (a real
# number, bytes, text that is not UTF-8 or holds a zero) makes the whole block be read row by row
# instead: that takes longer and gives the same values.

_ROWS = 50_000
_FIRST, _LAST = -(2**63), 2**63 - 1
_INTEGERS = b"0123456789,-"
_READS_BYTES = sqlite3.sqlite_version_info >= (3, 45)
"""Since then SQLite takes bytes that look like its binary JSON for what they would say."""
# The others pass through JSON as text.
_AS_STORED = {"BIGINT": (int,), "VARCHAR": (str, int), "DATE": (str,), "TIMESTAMP": (str,)}


class _NotExactError(ValueError):
    """JSON has not kept the values of this block."""


@dataclass(frozen=True)
class Block:
    """Some rows, as arrays that DuckDB takes."""

    arrays: Mapping[str, NDArray[Any]]
    """What to register."""
    values: str
    """SQL for the columns."""


@dataclass(frozen=True)
class Table:
    """A table whose rows have numbers, in which they can be cut into blocks."""

    name: str
    """As the database spells it."""
    number: str
    """The name by which SQLite knows a row's number here."""
    kinds: Mapping[str, str]
    """The columns, and the types in which they are read."""


def numbered(connection: sqlite3.Connection, name: str, kinds: Mapping[str, str]) -> Table | None:
    """The table, if its rows can be read in blocks; None for a view and for what is unusual."""
    taken = {column.lower() for column in kinds}
    free = [word for word in ("rowid", "_rowid_", "oid") if word not in taken]
    ordinary = "SELECT 1 FROM sqlite_master WHERE name = ? AND type = 'table' AND rootpage > 0"
    if not free or not kinds or not connection.execute(ordinary, [name]).fetchone():
        return None
    if any(row[6] for row in connection.execute(f"PRAGMA table_xinfo({quoted(name)})")):
        return None  # a computed column may hold JSON, which an array would take in as it is
    if connection.execute("PRAGMA encoding").fetchone() != ("UTF-8",):
        return None
    try:
        connection.execute("SELECT json_group_array(1)")
        connection.execute(f"SELECT {free[0]} FROM {quoted(name)} LIMIT 0")
    except sqlite3.OperationalError:
        return None  # an old SQLite, or a table without such numbers
    return Table(name, free[0], kinds)


def blocks(connection: sqlite3.Connection, table: Table) -> Generator[Block, None, None]:
    """All rows as they are at one moment, in the order of their numbers."""
    connection.execute("BEGIN")
    try:
        low = _FIRST
        while (high := _end(connection, table, low)) is not None:
            yield _block(connection, table, low, high)
            if high == _LAST:
                return
            low = high + 1
    finally:
        connection.rollback()


def _end(connection: sqlite3.Connection, table: Table, low: int) -> int | None:
    """The number of a block's last row."""
    number = table.number
    numbers = (
        f"SELECT {number} AS n FROM {quoted(table.name)} WHERE {number} >= ? "
        f"ORDER BY {number} LIMIT {_ROWS}"
    )
    (end,) = connection.execute(f"SELECT max(n) FROM ({numbers})", [low]).fetchone()
    return None if end is None else int(end)


def _block(connection: sqlite3.Connection, table: Table, low: int, high: int) -> Block:
    try:
        return _from_json(connection, table, low, high)
    except (_NotExactError, UnicodeDecodeError, sqlite3.Error):
        return _row_by_row(connection, table, low, high)


def _from_json(connection: sqlite3.Connection, table: Table, low: int, high: int) -> Block:
    stored = [
        _as_stored(quoted(column)) if kind in _AS_STORED else as_text(quoted(column), kind)
        for column, kind in table.kinds.items()
    ]
    listed = ", ".join(f"json_group_array({sql})" for sql in stored)
    connection.text_factory = bytes
    count, *arrays = connection.execute(
        f"SELECT count(*), {listed} FROM {quoted(table.name)} WHERE {table.number} BETWEEN ? AND ?",
        [low, high],
    ).fetchone()
    registered: dict[str, NDArray[Any]] = {}
    values = []
    for place, (kind, array) in enumerate(zip(table.kinds.values(), arrays, strict=True)):
        column, missing = _column(array, kind, count)
        registered[f"c{place}"] = column
        value = f"c{place}" if kind == "BIGINT" else from_text(f"c{place}", kind)
        if missing is not None:
            registered[f"n{place}"] = missing
            value = f"CASE WHEN n{place} THEN NULL ELSE {value} END"
        values.append(value)
    return Block(registered, ", ".join(values))


def _as_stored(column: str) -> str:
    """SQL for a value as it is; where SQLite would read bytes, a number that JSON does not hold.

    Older versions refuse bytes themselves, and do not need the look at each value.
    """
    if not _READS_BYTES:
        return column
    return f"CASE typeof({column}) WHEN 'blob' THEN 0.5 ELSE {column} END"


def _column(array: bytes, kind: str, count: int) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
    """A JSON array as values, and where they are missing; None where none is."""
    if kind == "BIGINT" and not array[1:-1].translate(None, _INTEGERS):
        column: NDArray[Any] = np.fromstring(array[1:-1].decode(), dtype=np.int64, sep=",")
        return _whole(column, count), None
    if b"\\u0000" in array:
        raise _NotExactError
    listed = _parsed(array.decode())
    fitting = _AS_STORED.get(kind, (str,))
    found = set(map(type, listed))
    missing = None
    if not found.issubset(fitting):
        missing = np.array([type(value) not in fitting for value in listed])
        empty: Any = 0 if kind == "BIGINT" else ""
        listed = [value if type(value) in fitting else empty for value in listed]
    if kind == "BIGINT":
        return _whole(np.array(listed, dtype=np.int64), count), missing
    column = np.empty(len(listed), dtype=object)
    column[:] = listed if found == {str} else [str(value) for value in listed]
    return _whole(column, count), missing


def _parsed(text: str) -> list[Any]:
    try:
        parsed = json.loads(text, parse_float=_refused, parse_constant=_refused)
    except json.JSONDecodeError:
        raise _NotExactError from None
    return list(parsed)


def _refused(_: str) -> NoReturn:
    raise _NotExactError


def _whole(column: NDArray[Any], count: int) -> NDArray[Any]:
    """The column, if it has a value for each row."""
    if len(column) != count:
        raise _NotExactError
    return column


def _row_by_row(connection: sqlite3.Connection, table: Table, low: int, high: int) -> Block:
    texts = ", ".join(as_text(quoted(column), kind) for column, kind in table.kinds.items())
    connection.text_factory = decoded
    rows = connection.execute(
        f"SELECT {texts} FROM {quoted(table.name)} WHERE {table.number} BETWEEN ? AND ?",
        [low, high],
    ).fetchall()
    return text_block(rows, table.kinds)


def text_block(rows: list[tuple[Any, ...]], kinds: Mapping[str, str]) -> Block:
    """Rows of text, null where a value does not fit its column."""
    columns = {}
    for number, values in enumerate(zip(*rows, strict=True)):
        column = np.empty(len(rows), dtype=object)
        column[:] = values
        columns[f"c{number}"] = column
    return Block(
        columns, ", ".join(from_text(f"c{n}", kind) for n, kind in enumerate(kinds.values()))
    )


# Rows of a SQLite database, exactly, in a stream.
#
# SQLite's columns have declared types that bind nobody: any row may hold a value of another kind.
# So the declared type alone decides how a column is read, each value is brought to it by itself,
# and one that does not fit is null. A column without a declared type is text. No number becomes a
# float on the way.

_QUERY_ROWS = 100_000
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
        _insert(_query_row_by_row(connection, query, kinds), kinds, into, name)


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


def _query_row_by_row(
    connection: sqlite3.Connection, query: str, kinds: Mapping[str, str]
) -> Iterator[Block]:
    texts = ", ".join(as_text(quoted(column), kind) for column, kind in kinds.items())
    with closing(connection.execute(f"SELECT {texts} FROM ({query})")) as cursor:
        while rows := cursor.fetchmany(_QUERY_ROWS):
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
