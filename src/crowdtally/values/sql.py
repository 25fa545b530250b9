"""Names in SQL, quoted: the standard's way, which DuckDB, SQLite and PostgreSQL share."""

from __future__ import annotations


def quoted(name: str) -> str:
    """The name as an SQL identifier.

    >>> quoted('a"b')
    '"a""b"'
    """
    return '"' + name.replace('"', '""') + '"'
