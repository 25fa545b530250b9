"""Rows of a SQLite database, exactly.

SQLite does not enforce its declared types: any row may hold a value of another kind. So the
declared type alone decides how a column is read, each value is brought to it by itself, and one
that does not fit is null. A column without a declared type is text. No number becomes a float on
the way.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any, NoReturn
from urllib.parse import quote

import numpy as np
from duckdb import DuckDBPyConnection as DuckDB
from numpy.typing import NDArray

from crowdtally.core.registry import quoted
from crowdtally.errors import InputError
from crowdtally.records.copying import ahead, at_once
from crowdtally.records.names import meant, no_such_table, spelled

_WHOLE = 2**53


def declared_type(declared: str) -> str:
    """DuckDB's type for a column, by its declaration alone.

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
    """SQLite's SQL for a value as text; null where it does not fit the type."""
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
    """DuckDB's SQL for the value of such a text."""
    if kind == "VARCHAR":
        return column
    return f"from_hex({column})" if kind == "BLOB" else f"TRY_CAST({column} AS {kind})"


def decoded(raw: bytes) -> str | None:
    """Text, or null: bytes that are no text may not stop the release."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return None


# An ordinary table is read in blocks, in which SQLite writes each column as one JSON array: row by
# row, most of the time goes into making Python objects. JSON distinguishes integers (``7``), texts
# (``"7"``) and nulls as SQLite does. A block with a value that JSON does not hold exactly (a real
# number, bytes, text that is not UTF-8 or has a NUL) is read row by row instead, with the same
# result.

_ROWS = 50_000
_FIRST, _LAST = -(2**63), 2**63 - 1
_INTEGERS = b"0123456789,-"
_READS_BYTES = sqlite3.sqlite_version_info >= (3, 45)
"""Since then SQLite reads bytes that look like its binary JSON as JSON."""
# Python's types for the values of these columns; other columns pass through JSON as text.
_AS_STORED = {"BIGINT": (int,), "VARCHAR": (str, int), "DATE": (str,), "TIMESTAMP": (str,)}


class _NotExactError(ValueError):
    """JSON does not hold the values of this block exactly."""


@dataclass(frozen=True)
class Block:
    """Some rows, as arrays for DuckDB to register."""

    arrays: Mapping[str, NDArray[Any]]
    values: str
    """SQL for the columns."""


@dataclass(frozen=True)
class Table:
    """A table whose rows have numbers, by which it is cut into blocks."""

    name: str
    """As the database spells it."""
    number: str
    """The column of the rows' numbers."""
    kinds: Mapping[str, str]
    """DuckDB's type for each column."""


def numbered(connection: sqlite3.Connection, name: str, kinds: Mapping[str, str]) -> Table | None:
    """The table, if it can be read in blocks; None for a view and for unusual tables."""
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
    """All rows, as one transaction sees them, in the order of their numbers."""
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
    n = table.number
    numbers = f"SELECT {n} AS n FROM {quoted(table.name)} WHERE {n} >= ? ORDER BY {n} LIMIT {_ROWS}"
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
    """SQL for a stored value; in place of bytes a number that JSON does not hold.

    Older versions of SQLite refuse bytes themselves, and need no look at each value.
    """
    if not _READS_BYTES:
        return column
    return f"CASE typeof({column}) WHEN 'blob' THEN 0.5 ELSE {column} END"


def _column(array: bytes, kind: str, count: int) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
    """A JSON array as ``count`` values, and where they are missing; None where none is."""
    column: NDArray[Any]
    if kind == "BIGINT" and not array[1:-1].translate(None, _INTEGERS):
        column, missing = np.fromstring(array[1:-1].decode(), dtype=np.int64, sep=","), None
    else:
        column, missing = _fitting(_parsed(array), kind)
    if len(column) != count:
        raise _NotExactError
    return column, missing


def _fitting(listed: list[Any], kind: str) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
    """The values that fit the column, with a filler in place of others; and where those are."""
    fitting = _AS_STORED.get(kind, (str,))
    missing = None
    if not set(map(type, listed)).issubset(fitting):
        missing = np.array([type(value) not in fitting for value in listed])
        filler: Any = 0 if kind == "BIGINT" else ""
        listed = [value if type(value) in fitting else filler for value in listed]
    if kind == "BIGINT":
        return np.array(listed, dtype=np.int64), missing
    return _objects(list(map(str, listed))), missing


def _parsed(array: bytes) -> list[Any]:
    if b"\\u0000" in array:
        raise _NotExactError
    try:
        parsed = json.loads(array.decode(), parse_float=_refused, parse_constant=_refused)
    except json.JSONDecodeError:
        raise _NotExactError from None
    return list(parsed)


def _refused(_: str) -> NoReturn:
    raise _NotExactError


def _objects(values: Sequence[Any]) -> NDArray[Any]:
    column = np.empty(len(values), dtype=object)
    column[:] = values
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
    columns = {f"c{n}": _objects(values) for n, values in enumerate(zip(*rows, strict=True))}
    texts = (from_text(f"c{n}", kind) for n, kind in enumerate(kinds.values()))
    return Block(columns, ", ".join(texts))


_QUERY_ROWS = 100_000
_SCHEMA = "main"


def copy_table(path: str, table: str, into: DuckDB, name: str, *, rows: bool = True) -> None:
    """Copy a table or view, or its columns alone, into the new table ``name``."""
    with _opened(path) as connection:
        source = _resolve(connection, path, table)
        described = connection.execute(f"PRAGMA table_xinfo({quoted(source)})").fetchall()
        kinds = {str(row[1]): declared_type(str(row[2])) for row in described if row[6] != 1}
        numbers = numbered(connection, source, kinds) if rows else None
        if numbers is None:
            limit = "" if rows else " LIMIT 0"
            copy_query(connection, f"SELECT * FROM {quoted(source)}{limit}", kinds, into, name)
        else:
            with closing(ahead(blocks(connection, numbers))) as fetched:
                _insert(fetched, kinds, into, name)


def copy_query(
    connection: sqlite3.Connection, query: str, kinds: Mapping[str, str], into: DuckDB, name: str
) -> None:
    """Copy the rows of a query, whose columns have these types, into the new table ``name``."""
    before, connection.text_factory = connection.text_factory, decoded
    try:
        _insert(_query_row_by_row(connection, query, kinds), kinds, into, name)
    finally:
        connection.text_factory = before


def tables_of(path: str) -> list[str]:
    with _opened(path) as connection:
        return spelled(_names(connection), _SCHEMA)


def _insert(rows: Iterator[Block], kinds: Mapping[str, str], into: DuckDB, name: str) -> None:
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
        # One thread at a time uses it: this one, and meanwhile one that reads ahead.
        with closing(sqlite3.connect(address, uri=True, check_same_thread=False)) as connection:
            yield connection
    except sqlite3.Error as error:
        raise InputError(
            f"{path!r} cannot be read as a SQLite database ({type(error).__name__}): it is "
            "damaged, locked or something else; make it again or restore a good copy."
        ) from error


def _names(connection: sqlite3.Connection) -> list[tuple[str, str]]:
    query = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE ?"
    return [(_SCHEMA, str(row[0])) for row in connection.execute(query, ["sqlite_%"])]


def _resolve(connection: sqlite3.Connection, path: str, table: str) -> str:
    names = _names(connection)
    spelling = meant(table, names, _SCHEMA)
    if spelling is None:
        raise no_such_table(repr(path), table, spelled(names, _SCHEMA))
    return spelling[1]
