"""How large the records are, as far as that is known without reading them.

It only sizes the work: no outcome depends on it. Where it is wrong, the work is done again in
more parts.
"""

from __future__ import annotations

from pathlib import Path

import duckdb

from crowdtally.curator.engine.opening import Opened
from crowdtally.curator.engine.sources import Located

_BYTES_PER_ROW = 48  # measured upper bound of what min(x, n) holds per record it may keep
_BYTES_PER_FIELD = 4  # of a CSV file, delimiter included: fewer than most have
_PACKED = 8  # by how much gzip makes a CSV file smaller, at most as a rule
_UNITS = {"bytes": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}


def rows_of(
    connection: duckdb.DuckDBPyConnection, located: Located, found: Opened, columns: int
) -> int:
    """About how many rows a source has: from footers and catalogues, or from a file's bytes."""
    if located.kind == "csv":
        return sum(map(_unpacked, located.paths)) // (_BYTES_PER_FIELD * max(columns, 1))
    if located.kind == "duckdb" and found.knowledge != "declared":
        return 0  # a view may be any query: to count its rows would be to run it
    # Parquet's footers, a frame's length or a table's catalogue: no row is read.
    ((rows,),) = connection.execute(f"SELECT count(*) FROM {found.rows}").fetchall()
    return int(rows)


def _unpacked(path: str) -> int:
    return Path(path).stat().st_size * (_PACKED if path.lower().endswith(".gz") else 1)


def parts(rows: int, memory: int) -> int:
    """Into how many parts so many rows are cut, to be bounded within so many bytes.

    The heaps of ``min(x, n)`` cannot spill to disk; everything else can.

    >>> parts(10**6, 2**30), parts(10**9, 2**30)
    (1, 90)
    """
    return 1 + rows * _BYTES_PER_ROW // max(memory // 2, 1)


def in_bytes(text: str) -> int:
    """DuckDB's way to write a size, in bytes.

    >>> in_bytes("1.5 KiB")
    1536
    """
    number, unit = text.split()
    return int(float(number) * _UNITS[unit])
