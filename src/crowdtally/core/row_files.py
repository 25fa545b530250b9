"""Small public tables in files."""

from __future__ import annotations

import csv
import glob
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, TextIO

from crowdtally.core.registry import quoted
from crowdtally.errors import CrowdtallyError, InputError, UsageError

# Small public tables in files: CSV, JSON lines or Parquet, each read as rows of text.
#
# For catalogues and lists, whose values are names. Records are read by the engines, with their
# types.

Row = Sequence[str | None]
_BLOCK = 1 << 16
_DELIMITERS = ",;\t"


@dataclass(frozen=True, eq=False)
class RowFile:
    """A file that is open for one reading."""

    columns: tuple[str, ...]
    rows: Callable[[Sequence[int]], Iterator[Row]]
    """The values of the columns at these places, row by row, as text; None where there is none."""


@contextmanager
def opened(path: Path) -> Iterator[RowFile]:
    """Open a file by its suffix; whatever is wrong with it is told with its name."""
    reading = _READING.get(path.suffix.lower())
    if reading is None:
        raise UsageError(
            f"{str(path)!r} is no table that can be read: such a file ends in one of "
            f"{', '.join(_READING)}."
        )
    try:
        if not path.is_file():
            raise InputError(f"{str(path)!r} is not a file. Check its path.")
        with reading(path) as file:
            yield file
    except CrowdtallyError:
        raise
    except UnicodeDecodeError:
        raise InputError(f"{str(path)!r} is not text in UTF-8: save it as that.") from None
    except OSError as error:
        why = error.strerror or "unknown reason"
        raise InputError(f"{str(path)!r} cannot be read: {why}.") from error


@contextmanager
def _csv(path: Path) -> Iterator[RowFile]:
    with open(path, encoding="utf-8-sig", newline="") as file:
        first = file.readline()
        file.seek(0)
        # The mark at the beginning is skipped only by a decoder that starts anew.
        rows = csv.reader(file, delimiter=_delimiter(first), strict=True)
        header = next(_csv_rows(path, rows), [])
        yield RowFile(tuple(header), lambda places: _picked(path, header, rows, places))


def _delimiter(header: str) -> str:
    """The sign that stands most often in the first line: a comma, unless another one does."""
    return max(_DELIMITERS, key=header.count)


def _csv_rows(path: Path, rows: Any) -> Iterator[list[str]]:
    try:
        yield from rows
    except csv.Error as error:
        raise InputError(f"{str(path)!r}, line {rows.line_num}: {error}.") from None


def _picked(path: Path, header: Row, rows: Any, places: Sequence[int]) -> Iterator[Row]:
    for row in _csv_rows(path, rows):
        if len(row) == len(header):
            yield [row[place] for place in places]
        elif row:  # an empty line is none
            raise InputError(
                f"{str(path)!r}, line {rows.line_num}: {len(row)} values, and the first line names "
                f"{len(header)} columns. A value with the separator in it stands in double quotes."
            )


@contextmanager
def _json(path: Path) -> Iterator[RowFile]:
    with open(path, encoding="utf-8-sig") as file:
        rows = _objects(path, file)
        first = next(rows, {})
        columns = tuple(first)
        yield RowFile(
            columns,
            lambda places: (
                [_plain(path, row.get(columns[place])) for place in places]
                for row in chain([first] if first else [], rows)
            ),
        )


def _objects(path: Path, file: TextIO) -> Iterator[Mapping[str, Any]]:
    for number, line in enumerate(file, start=1):
        if not line.strip():
            continue
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise InputError(
                f"{str(path)!r}, line {number}: not a JSON object. JSON lines have one on each."
            )
        yield found


def _plain(path: Path, value: Any) -> str | None:
    """A value as text."""
    if value is None:
        return None
    if isinstance(value, bool | list | dict):
        raise InputError(f"{str(path)!r} has a value that is neither text nor a number.")
    text = str(value)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InputError(f"{str(path)!r} has a value that is not text in Unicode.") from None
    return text


@contextmanager
def _parquet(path: Path) -> Iterator[RowFile]:
    import duckdb

    source = "read_parquet(?, hive_partitioning = false)"
    named = [glob.escape(str(path))]
    try:
        with duckdb.connect(":memory:") as connection:
            described = connection.execute(f"DESCRIBE FROM {source}", named).fetchall()
            columns = tuple(name for name, *_ in described)

            def rows(places: Sequence[int]) -> Iterator[Row]:
                texts = ", ".join(f"CAST({quoted(columns[one])} AS VARCHAR)" for one in places)
                found = connection.execute(f"SELECT {texts} FROM {source}", named)
                while block := found.fetchmany(_BLOCK):
                    yield from block

            yield RowFile(columns, rows)
    except duckdb.Error as error:
        raise InputError(f"{str(path)!r} cannot be read as a Parquet file.") from error


_READING: Mapping[str, Callable[[Path], Any]] = {
    ".csv": _csv,
    ".tsv": _csv,
    ".parquet": _parquet,
    ".jsonl": _json,
    ".ndjson": _json,
    ".json": _json,
}
"""How a file is read, by its suffix."""


def file_and_column(text: str) -> tuple[str, str | None]:
    """``FILE[:COLUMN]``; a file whose name has a colon wins.

    >>> file_and_column("places.csv:place"), file_and_column("places.csv")
    (('places.csv', 'place'), ('places.csv', None))
    """
    file, colon, column = text.rpartition(":")
    if not colon or Path(text).exists() or "/" in column:
        return text, None
    return file, column
