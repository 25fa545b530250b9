"""A look at the sources' columns: an engine on which every source is there, and has no rows.

What a declaration needs of a schema can then be checked by the very code that a release runs, with
its messages, and no record is read: of Parquet the footers, of CSV the first line, of a database
its catalogue, of what Python holds its types.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb

from crowdtally.curator.engine import opening
from crowdtally.curator.engine.duckdb import DuckDBEngine
from crowdtally.curator.engine.opening import Opened
from crowdtally.curator.engine.sources import Located


def without_rows() -> DuckDBEngine:
    """DuckDB over the columns of each source; its rows are not there."""
    return DuckDBEngine(_columns_of)


def _columns_of(
    connection: duckdb.DuckDBPyConnection, located: Located, name: str, folder: Path
) -> Opened:
    """The source's columns, their types and how these are known."""
    held = _emptied(located) if located.held is not None else None
    kind = "frame" if located.kind == "stream" else located.kind
    bare = located if held is None else replace(located, kind=kind, held=held)
    found = opening.opened(connection, bare, name, folder, rows=False)
    return replace(found, rows=f"(SELECT * FROM {found.rows} LIMIT 0)")


def can_look(located: Located) -> bool:
    """Whether a look at the columns starts nothing and uses nothing up.

    Spark would have to be started, a pipe can be read once, and a stream may be one too.
    """
    if located.needs_spark or not all(Path(path).is_file() for path in located.paths):
        return False
    return located.kind not in ("frame", "stream") or _emptied(located) is not None


def _emptied(located: Located) -> Any:
    """What Python holds, without its rows; None where that is not known to leave it as it is."""
    held: Any = located.held
    if located.kind in ("relation", "ibis"):
        return held.limit(0)
    if located.kind not in ("frame", "stream"):
        return held  # an address
    module = type(held).__module__.partition(".")[0]
    if located.kind == "stream":
        return held.schema.empty_table() if module == "pyarrow" else None
    if module == "pyarrow" and type(held).__name__ == "Table":
        return held.slice(0, 0)
    if module == "pandas":
        # Of Python's objects DuckDB would guess a type by the first; a release reads them as text.
        loose = [name for name in held.columns if held[name].dtype == object]
        return held.head(0).astype(dict.fromkeys(loose, "string"))
    return held.head(0) if module == "polars" else None
