"""Questions to a release's Parquet files. Opens release files only."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb

from crowdtally.errors import InputError


def rows(path: Path, query: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
    """Run ``query`` over the table ``release`` that the file holds."""
    return list(_run(path, query, parameters).fetchall())


def relation(path: Path) -> Any:
    """The whole table as a DuckDB relation, to be turned into a frame of any kind."""
    return _run(path, "FROM release", ())


def _run(path: Path, query: str, parameters: Sequence[object]) -> Any:
    connection = duckdb.connect(":memory:")
    file = str(path).replace("'", "''")
    try:
        # file_row_number keeps the domain's order, which breaks ties between equal counts.
        connection.execute(
            f"CREATE VIEW release AS FROM read_parquet('{file}', file_row_number = true)"
        )
        return connection.execute(query, list(parameters))
    except duckdb.Error as error:
        raise InputError(f"{str(path)!r} is damaged: copy the release again.") from error


def quoted(name: str) -> str:
    """The name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'
