"""The tables of a DuckDB file, and how each one's types are known."""

from __future__ import annotations

import duckdb

from crowdtally.curator.engine.canonical import Knowledge
from crowdtally.curator.engine.tables import spelled
from crowdtally.errors import InputError

SCHEMA = "main"
"""The schema that need not be typed."""


def tables_of(path: str) -> list[str]:
    """The tables and views of a database file, by the names to type."""
    try:
        with duckdb.connect(path, read_only=True) as connection:
            (row,) = connection.execute("SELECT current_database()").fetchall()
            return spelled(
                ((schema, name) for schema, name, _ in known(connection, row[0])), SCHEMA
            )
    except duckdb.Error as error:
        raise InputError(
            f"{path!r} cannot be read as a DuckDB database ({type(error).__name__}): it is "
            "damaged, locked or something else; make it again or restore a good copy."
        ) from error


def known(connection: duckdb.DuckDBPyConnection, database: str) -> list[tuple[str, str, Knowledge]]:
    """Schema and name of each table and view, and whether its types are declared or inferred."""
    found: list[tuple[str, str, Knowledge]] = connection.execute(
        "SELECT schema_name, table_name, 'declared' FROM duckdb_tables() WHERE database_name = $1 "
        "UNION ALL SELECT schema_name, view_name, 'inferred' FROM duckdb_views() "
        "WHERE database_name = $1 AND NOT internal",
        [database],
    ).fetchall()
    return found
