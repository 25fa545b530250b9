"""Writing release tables: Parquet through DuckDB, in blocks, so that memory stays bounded."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

import duckdb
import numpy as np
from numpy.typing import NDArray

from crowdtally.errors import CrowdtallyError

Block = Mapping[str, NDArray[np.generic]]
"""Equally long columns by name; text is an object array."""


def write(path: Path, blocks: Iterable[Block]) -> None:
    """Write the blocks, in order, as one Parquet file and flush it to the disk."""
    try:
        with duckdb.connect(":memory:") as connection:
            connection.execute(f"SET temp_directory = '{_escaped(path.parent / 'spill')}'")
            for number, block in enumerate(blocks):
                connection.register("block", dict(block))
                connection.execute(
                    "INSERT INTO rows FROM block" if number else "CREATE TABLE rows AS FROM block"
                )
                connection.unregister("block")
            connection.execute(
                f"COPY rows TO '{_escaped(path)}' (FORMAT parquet, COMPRESSION zstd)"
            )
        flush(path)
    except (duckdb.IOException, OSError) as error:
        raise CrowdtallyError(
            f"{path.parent.parent} cannot be written (disk full, or no permission): free space or "
            "choose another place."
        ) from error


def flush(path: Path) -> None:
    """Make a file, or a folder's list of names, survive a loss of power."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _escaped(path: Path) -> str:
    return str(path).replace("'", "''")
