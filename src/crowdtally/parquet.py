"""Writing release tables: Parquet through DuckDB, in blocks, so that memory stays bounded."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

import duckdb
import numpy as np
from numpy.typing import NDArray

Block = Mapping[str, NDArray[np.generic]]
"""Equally long columns by name; text is an object array."""


def write(folder: Path, tables: Mapping[str, Iterable[Block]]) -> None:
    """Write the blocks of each table, in order, as ``NAME.parquet`` and flush it to the disk.

    Raises:
        OSError: the disk is full or cannot be written.
    """
    spill = folder / "spill"
    try:
        with duckdb.connect(":memory:") as connection:
            # Rows beyond this wait on the disk; each thread more would want its own share of it.
            connection.execute(f"SET temp_directory = '{_escaped(spill)}'")
            connection.execute("SET memory_limit = '512MB'; SET threads = 2")
            for name, blocks in tables.items():
                _write(connection, folder / f"{name}.parquet", blocks)
    except duckdb.IOException as error:
        code = errno.ENOSPC if "No space left" in str(error) else errno.EIO
        raise OSError(code, os.strerror(code)) from error
    shutil.rmtree(spill, ignore_errors=True)


def _write(connection: duckdb.DuckDBPyConnection, path: Path, blocks: Iterable[Block]) -> None:
    for number, block in enumerate(blocks):
        connection.register("block", dict(block))
        connection.execute(
            "INSERT INTO rows FROM block"
            if number
            else "CREATE OR REPLACE TABLE rows AS FROM block"
        )
        connection.unregister("block")
    connection.execute(f"COPY rows TO '{_escaped(path)}' (FORMAT parquet, COMPRESSION zstd)")
    flush(path)


def flush(path: Path) -> None:
    """Make a file, or a folder's list of names, survive a loss of power."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _escaped(path: Path) -> str:
    return str(path).replace("'", "''")
