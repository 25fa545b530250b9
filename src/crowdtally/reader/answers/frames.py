"""Answers in memory, for other programs: Arrow, pandas, Polars; and as Parquet."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from crowdtally.core.registry import quoted
from crowdtally.errors import UsageError
from crowdtally.reader.answers.columns import Column

_TYPES = {"text": "VARCHAR", "integer": "BIGINT", "float": "DOUBLE", "boolean": "BOOLEAN"}
_ARRAYS: dict[str, Any] = {"integer": np.int64, "float": np.float64, "boolean": np.bool_}

Rows = Sequence[Mapping[str, Any]]


def relation(columns: Sequence[Column], rows: Rows) -> Any:
    """The rows as a DuckDB relation, which has a database of its own: Arrow streams stay open."""
    connection = duckdb.connect(":memory:", config={"threads": "1"})
    declared = ", ".join(f"{quoted(one.name)} {_TYPES[one.kind]}" for one in columns)
    connection.execute(f"CREATE TABLE answer ({declared})")
    if rows:
        arrays = {f"c{n}": _array(column, rows) for n, column in enumerate(columns)}
        connection.register("given", arrays)
        connection.execute("INSERT INTO answer FROM given")
        connection.unregister("given")
    return connection.sql("FROM answer")


def _array(column: Column, rows: Rows) -> NDArray[Any]:
    values = [row[column.name] for row in rows]
    if column.kind == "text":
        return np.array([None if one is None else str(one) for one in values], dtype=object)
    missing = [one is None for one in values]
    try:
        filled = np.array([0 if one is None else one for one in values], _ARRAYS[column.kind])
    except OverflowError:
        raise UsageError(
            f"{column.name!r} has a whole number that does not fit 64 bits, which Arrow, Parquet "
            "and frames have: take .to_dicts(), JSON, CSV or XLSX."
        ) from None
    return np.ma.masked_array(filled, mask=missing)


def pandas_frame(columns: Sequence[Column], rows: Rows) -> Any:
    """A pandas frame."""
    try:
        import pandas  # noqa: F401
    except ImportError:
        raise UsageError('pandas is not installed: pip install "pandas>=2.2".') from None
    return relation(columns, rows).df()


def polars_frame(columns: Sequence[Column], rows: Rows) -> Any:
    """A Polars frame."""
    try:
        import polars
    except ImportError:
        raise UsageError('Polars is not installed: pip install "polars>=1.5".') from None
    types = {
        "text": polars.String, "integer": polars.Int64, "float": polars.Float64,
        "boolean": polars.Boolean,
    }  # fmt: skip
    given = {one.name: _array(one, rows).tolist() for one in columns}
    return polars.DataFrame(given, schema={one.name: types[one.kind] for one in columns})


def write_parquet(columns: Sequence[Column], rows: Rows, path: str | os.PathLike[str]) -> None:
    """Write the rows as a Parquet file.

    Raises:
        OSError: the disk is full or cannot be written.
    """
    target = str(Path(path)).replace("'", "''")
    made = relation(columns, rows)
    try:
        made.query("answer", f"COPY answer TO '{target}' (FORMAT parquet, COMPRESSION zstd)")
    except duckdb.IOException as error:
        code = errno.ENOSPC if "No space left" in str(error) else errno.EIO
        raise OSError(code, os.strerror(code)) from error
