"""Rows of an ordinary PostgreSQL table in blocks of pages, each one text of the server's.

COPY sends a message for each row, and receiving a million of them takes longer than anything the
server does. So the server joins the lines of many rows itself. A value is written by its type's
output function, as COPY writes it; text stands in quotes, and a null is nothing.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Any

from crowdtally.core.registry import quoted

_PAGES = 1024
_MOST_AT_ONCE = 40  # columns; a function of PostgreSQL takes at most 100 arguments
_RANGES_SINCE = 140_000
"""The first version of the server that goes to a range of pages without reading all others."""
_TEXT = ("text", "character varying")


@dataclass(frozen=True)
class Column:
    """A column as the server declares it, and as it is read."""

    declared: str
    """Its type, in the server's words."""
    kind: str
    """The type in which it is read, in DuckDB's."""


def pages_of(connection: Any, table: str) -> int | None:
    """How many pages a table has; None for a view, and for what is kept in several places.

    Long values are kept apart, and their lines could exceed what one text may hold.
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
    """The table's rows as CSV, in which an empty text is quoted and a null is not.

    In one transaction: the pages that it sees are those there were.
    """
    query = f"SELECT string_agg({_line(columns)}, E'\\n') FROM {table}"
    for first in range(0, pages, _PAGES):
        yield from _lines(connection, query, first, first + _PAGES)


def _lines(connection: Any, query: str, first: int, end: int) -> Generator[bytes, None, None]:
    """The lines of some pages, in one text; in two or more where one cannot hold them.

    Values that lie compressed in their pages can be a hundred times as long outside: somebody's
    long texts must not stop the release.
    """
    from psycopg.errors import ProgramLimitExceeded

    try:
        with connection.transaction():
            found = connection.execute(
                f"{query} WHERE ctid >= '({first},0)' AND ctid < '({end},0)'"
            )
    except ProgramLimitExceeded:
        if end - first == 1:
            raise
        half = (first + end) // 2
        yield from _lines(connection, query, first, half)
        yield from _lines(connection, query, half, end)
        return
    text = found.pgresult.get_value(0, 0)  # as it was sent, in UTF-8
    if text is not None:
        yield bytes(text) + b"\n"  # a last line of one null would else be none


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
