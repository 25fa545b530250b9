"""Parquet: write, open, footer."""

from __future__ import annotations

import errno
import glob
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from crowdtally.core import files
from crowdtally.core.counts import Keeping
from crowdtally.core.deadline import TooMuchError, stoppable
from crowdtally.core.integers import saturating_sum, within_64_bits
from crowdtally.core.layout import KINDS, Layout
from crowdtally.core.numbers import show
from crowdtally.core.registry import quoted
from crowdtally.errors import CrowdtallyError
from crowdtally.format.entries import CHOSEN
from crowdtally.format.manifest import Manifest
from crowdtally.format.parse import damaged
from crowdtally.laws.base import NoiseLaw, as_counts

# Release tables as Parquet files, through DuckDB: written in blocks, and opened again.
#
# What a file holds beside its rows (names, types, row groups, the name of the writer) follows
# from the table's columns, its number of rows and the release's public facts (``footer``) alone.

Block = Mapping[str, NDArray[np.generic]]
"""Equally long columns by name; text is an object array."""

TYPES = {"text": "VARCHAR", "integer": "BIGINT", "float": "DOUBLE"}
"""The type in a file of each kind of column."""
_KINDS = {"O": "text", "i": "integer", "f": "float"}
"""By the kind of an array's type. DuckDB would guess: a column without a value has no type then."""
_READ = 1 << 19
"""Rows that are looked at in one go."""
_BY_STATISTICS = (
    "filter_pushdown,statistics_propagation,compressed_materialization,join_filter_pushdown,"
    "top_n,late_materialization"
)
"""What of DuckDB's optimizer goes by what a file says about its rows."""
_held: list[str] = []
"""The most memory that all questions of this process may have; none: what the machine has."""


def write(
    folder: Path, tables: Mapping[str, Iterable[Block]], notes: Mapping[str, str] | None = None
) -> dict[str, dict[str, str]]:
    """Write the blocks of each table, in order, as ``NAME.parquet`` and flush it to the disk.

    The footer of every file holds the notes. Returns the columns of each table and their kinds.

    Raises:
        OSError: the disk is full or cannot be written.
    """
    spill, columns = folder / "spill", dict[str, dict[str, str]]()
    try:
        with duckdb.connect(":memory:") as connection:
            # Rows beyond this wait on the disk; each thread more would want its own share of it.
            connection.execute(f"SET temp_directory = '{_escaped(spill)}'")
            connection.execute("SET memory_limit = '512MB'; SET threads = 2")
            for name, blocks in tables.items():
                path = folder / f"{name}.parquet"
                columns[name] = _write(connection, path, blocks, notes or {})
    except duckdb.IOException as error:
        code = errno.ENOSPC if "No space left" in str(error) else errno.EIO
        raise OSError(code, os.strerror(code)) from error
    shutil.rmtree(spill, ignore_errors=True)
    return columns


def _write(
    connection: duckdb.DuckDBPyConnection,
    path: Path,
    blocks: Iterable[Block],
    notes: Mapping[str, str],
) -> dict[str, str]:
    kinds: dict[str, str] = {}
    for number, block in enumerate(blocks):
        if number == 0:
            kinds = {name: _KINDS[column.dtype.kind] for name, column in block.items()}
            declared = ", ".join(f"{quoted(name)} {TYPES[kind]}" for name, kind in kinds.items())
            connection.execute(f"CREATE OR REPLACE TABLE rows ({declared})")
        connection.register("block", dict(block))
        connection.execute("INSERT INTO rows FROM block")
        connection.unregister("block")
    form = "FORMAT parquet, COMPRESSION zstd"
    if notes:  # DuckDB has no empty ones
        pairs = ", ".join(f"'{_escaped(key)}': '{_escaped(words)}'" for key, words in notes.items())
        form += f", KV_METADATA {{{pairs}}}"
    connection.execute(f"COPY rows TO '{_escaped(path)}' ({form})")
    files.flush(path)
    return kinds


def notes_in(path: Path) -> dict[str, str]:
    """What the footer of a file says beside its columns, by key."""
    query = "SELECT key, value FROM parquet_kv_metadata({})"
    found = _run(path, lambda file: query.format(_literal(file)), trusting=False).fetchall()
    return {key.decode(errors="replace"): value.decode(errors="replace") for key, value in found}


@dataclass(frozen=True)
class Opened:
    """What a file says about itself."""

    rows: int
    columns: Mapping[str, str]
    """The columns' types by name, in order."""


def opened(path: Path) -> Opened:
    """The number of rows and the columns of a file; its rows are not read."""
    found = _run(path, lambda file: f"DESCRIBE FROM {_table(file)}", trusting=False)
    described = found.fetchall()
    ((rows,),) = ask(path, "SELECT count(*) FROM release").fetchall()
    *columns, _ = described  # file_row_number comes last
    return Opened(rows, {name: kind for name, kind, *_ in columns})


def read(path: Path, columns: Sequence[str], rows: int) -> Iterator[dict[str, NDArray[Any]]]:
    """The columns of a file of so many rows, some rows at a time; masked where there are NULLs.

    The rows themselves are read, whatever the file's statistics say of them.
    """
    names = ", ".join(f"{quoted(name)} AS c{place}" for place, name in enumerate(columns))
    for start in range(0, rows, _READ):
        within = f"file_row_number BETWEEN {start} AND {start + _READ - 1}"
        found = _run(path, partial(_rows, names, within), trusting=False).fetchnumpy()
        yield {name: found[f"c{place}"] for place, name in enumerate(columns)}


def _rows(names: str, within: str, file: Path) -> str:
    return f"SELECT {names} FROM {_table(file)} WHERE {within} ORDER BY file_row_number"


def ask(path: Path, query: str, parameters: Sequence[object] = ()) -> Any:
    """The result of ``query`` over the table ``release`` that the file holds.

    The table has a column ``file_row_number`` more: the order of the file, which is the domain's.
    """

    def asked(file: Path) -> str:
        return f"WITH release AS (FROM {_table(file)}) {query}"

    return _run(path, asked, parameters, trusting=True)


def hold_memory(most: str) -> None:
    """Let no question of this process have more memory than so much, such as ``1GB``.

    One that needs more is refused, instead of writing to the disk.
    """
    _held[:] = [most]
    _database.cache_clear()


def relation(path: Path) -> Any:
    """The whole table as a DuckDB relation."""
    try:
        files.open_regular(path).close()
        cursor = _database(os.getpid(), True).cursor()
        return cursor.sql(f"FROM read_parquet({_literal(path)})")
    except (duckdb.Error, OSError) as error:
        raise _unreadable(path, error) from error


def _run(
    path: Path, query: Callable[[Path], str], parameters: Sequence[object] = (), *, trusting: bool
) -> Any:
    """The result of a query of a file, which DuckDB opens while the query begins.

    ``query`` is given the place where DuckDB finds the file; ``trusting`` lets DuckDB use the
    file's statistics.
    """
    try:
        cursor = _database(os.getpid(), trusting).cursor()
        with files.open_regular(path) as file, stoppable(cursor.interrupt):
            return cursor.execute(query(files.again(file, path)), list(parameters))
    except (duckdb.Error, OSError) as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: duckdb.Error | OSError) -> CrowdtallyError:
    if isinstance(error, duckdb.InterruptException):
        return TooMuchError("the question takes too long: ask for less at once.")
    if isinstance(error, duckdb.OutOfMemoryException):
        return TooMuchError("the question needs too much memory: ask for less at once.")
    if isinstance(error, duckdb.FatalException | duckdb.InternalException):
        _database.cache_clear()  # a database that failed like this answers nothing any more
    return damaged(path, "it cannot be read as a Parquet table of a release")


@cache
def _database(process: int, trusting: bool) -> Any:
    """One database in memory for each process: opening one takes longer than most questions.

    A forked child opens its own. Files are read anew each time: another may have been put there.
    One that is not ``trusting`` reads rows without a look at the file's statistics and filters,
    by which DuckDB passes rows over and even chooses how many bits a column needs.
    """
    settings = {"enable_external_file_cache": "false"}
    if _held:
        settings |= {"memory_limit": _held[0], "temp_directory": ""}
    made = duckdb.connect(":memory:", config=settings)
    if not trusting:
        made.execute(f"SET disabled_optimizers = '{_BY_STATISTICS}'")
    return made


def _table(path: Path) -> str:
    return f"read_parquet({_literal(path)}, file_row_number = true)"


def _literal(path: Path) -> str:
    """The path in SQL, as a name: DuckDB would take its brackets for a pattern."""
    return f"'{_escaped(Path(glob.escape(str(path))))}'"


def _escaped(text: Path | str) -> str:
    return str(text).replace("'", "''")


INTERVAL_LEVEL = Fraction(19, 20)
"""How likely the noise lies within ``low`` … ``high`` of a table."""
_BLOCK = 1 << 20


@dataclass(frozen=True, eq=False)
class NoisyTable:
    """A table with its noise on, safe to show to anyone."""

    name: str
    """Its file's name without the ending."""
    layout: Layout
    """The public cells, and the columns that name them."""
    values: NDArray[Any]
    """The noisy count of every published cell, in order, in integer units."""
    law: NoiseLaw
    """The law of the noise on them, and what one unit means as a count."""
    facts: Mapping[str, Any]
    """What else ``release.json`` says about the table."""
    cells: NDArray[Any] | None = None
    """Numbers of the published cells, ascending; None where all of the layout are published."""

    @property
    def keeping(self) -> Keeping:
        """The rule by which cells were kept, with the threshold that estimates use."""
        threshold = self.facts.get("estimating_threshold")
        return Keeping(
            self.facts.get("cut", 0),
            None if threshold is None else Fraction(threshold),
            self.facts.get("sides", "two"),
        )

    def blocks(self) -> Iterator[dict[str, NDArray[Any]]]:
        """The table's columns, a million rows at a time, sorted by cell."""
        noise = self._noise()
        reach = min(self.law.half_width(INTERVAL_LEVEL), 2**62)
        for start in range(0, max(len(self.values), 1), _BLOCK):
            rows = np.arange(start, min(start + _BLOCK, len(self.values)))
            cells = rows if self.cells is None else self.cells[rows]
            values = within_64_bits(self.values[rows])
            yield {
                **self.layout.columns(cells),
                "count": as_counts(values, self.law.unit),
                "noise_std": np.full(len(cells), noise["std"]),
                "low": as_counts(saturating_sum(values, -reach), self.law.unit),
                "high": as_counts(saturating_sum(values, reach), self.law.unit),
            }

    def _noise(self) -> dict[str, Any]:
        width = self.law.half_width(INTERVAL_LEVEL)
        return {
            **self.law.to_json(),
            "std": self.law.std(),
            "interval_level": show(INTERVAL_LEVEL),
            "interval_half_width": as_counts(width, self.law.unit),
        }

    def description(self) -> dict[str, Any]:
        """The table's entry in ``release.json``; writing it adds ``rows`` and ``sha256``."""
        return {
            "name": self.name,
            "file": f"{self.name}.parquet",
            "columns": list(self.layout.names),
            "cells": self.layout.size,
            **self.facts,
            **({"publishing": CHOSEN} if KINDS[self.name].chosen else {}),
            "noise": self._noise(),
        }


# What the footer of every table says of its release: which one it is, and what it promises.
#
# A table may travel without its folder. The notes are facts of ``release.json`` that were public
# before the records were read, and the release's random name. Nothing else may stand there: no
# count, no time, no name of a computer, a person or a dataset.

PREFIX = "crowdtally."
"""What the keys of the notes begin with: other programs have keys of their own."""


def facts(manifest: Manifest) -> dict[str, str]:
    """The promise, and whose it is, in a few texts."""
    promised = manifest.guarantee
    return {
        "schema": manifest.schema,
        "release": manifest.id,
        "guarantee": manifest.promise,
        "epsilon": show(promised.epsilon),
        "delta": show(promised.delta),
        "unit": promised.unit,
    }


def notes(manifest: Manifest) -> dict[str, str]:
    """The same as notes of a Parquet footer, by key."""
    return {f"{PREFIX}{name}": words for name, words in facts(manifest).items()}


def disagreements(found: Mapping[str, str], manifest: Manifest) -> Iterator[str]:
    """What ``release.json`` says that a footer does not."""
    for key, words in notes(manifest).items():
        if found.get(key) != words:
            yield f"its footer does not say the {key.removeprefix(PREFIX)} of release.json"
