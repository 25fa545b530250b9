"""Small public tables in CSV, JSON lines or Parquet files, read as rows of text.

For catalogues and lists, whose values are names. The engines read records, with their types.
"""

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

Row = Sequence[str | None]
_BLOCK = 1 << 16
_DELIMITERS = ",;\t"


@dataclass(frozen=True, eq=False)
class RowFile:
    """A file that is open for one reading."""

    columns: tuple[str, ...]
    rows: Callable[[Sequence[int]], Iterator[Row]]
    """From places of columns to their values, row by row, as text; None where one is missing."""


@contextmanager
def opened(path: Path) -> Iterator[RowFile]:
    """Open a file by its suffix; every error names it."""
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
        delimiter = max(_DELIMITERS, key=file.readline().count)  # a comma where none is more often
        file.seek(0)
        # The mark at the beginning is skipped only by a decoder that starts anew.
        rows = csv.reader(file, delimiter=delimiter, strict=True)
        header = next(_csv_rows(path, rows), [])
        yield RowFile(tuple(header), lambda places: _picked(path, header, rows, places))


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
            row = json.loads(line)
        except (ValueError, RecursionError):
            row = None
        if not isinstance(row, dict):
            raise InputError(
                f"{str(path)!r}, line {number}: not a JSON object. JSON lines have one on each."
            )
        yield row


def _plain(path: Path, value: Any) -> str | None:
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
                result = connection.execute(f"SELECT {texts} FROM {source}", named)
                while block := result.fetchmany(_BLOCK):
                    yield from block

            yield RowFile(columns, rows)
    except duckdb.Error as error:
        raise InputError(f"{str(path)!r} cannot be read as a Parquet file.") from error


_READING: Mapping[str, Callable[[Path], Any]] = {
    **dict.fromkeys((".csv", ".tsv"), _csv),
    ".parquet": _parquet,
    **dict.fromkeys((".jsonl", ".ndjson", ".json"), _json),
}


def file_and_column(text: str) -> tuple[str, str | None]:
    """``FILE[:COLUMN]``; a file whose name has a colon wins.

    >>> file_and_column("places.csv:place"), file_and_column("places.csv")
    (('places.csv', 'place'), ('places.csv', None))
    """
    file, colon, column = text.rpartition(":")
    if not colon or Path(text).exists() or "/" in column:
        return text, None
    return file, column
