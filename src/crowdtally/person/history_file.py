"""A history from a file or standard input: item ids, one after the other."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

from crowdtally.core.row_files import file_and_column, opened
from crowdtally.errors import InputError, UsageError, did_you_mean

STANDARD_INPUT = "-"
_LISTS = (".txt", "")
"""Files without columns: an id on each line, and no heading."""


def read_history(source: str | os.PathLike[str], column: str) -> list[str]:
    """The ids of a history's items.

    Args:
        source: ``FILE[:COLUMN]``: a table, or a ``.txt`` with an id on each line; ``-`` reads such
            lines from standard input.
        column: the column to take where the file has several and none is named.
    """
    text = os.fspath(source)
    if text == STANDARD_INPUT:
        return _lines(sys.stdin.buffer.read(), "standard input")
    file, named = file_and_column(text)
    path = Path(file)
    if path.suffix.lower() in _LISTS:
        return _lines(_read(path), repr(file))
    with opened(path) as table:
        place = _place(table.columns, named, column, file)
        return list(_ids((row[0] for row in table.rows([place])), file))


def _ids(values: Iterator[str | None], file: str) -> Iterator[str]:
    for number, value in enumerate(values, 1):
        if not value:
            raise InputError(
                f"row {number} of {file!r} has no item: remove it. Nothing was charged or released."
            )
        yield value


def _place(columns: tuple[str, ...], named: str | None, usual: str, file: str) -> int:
    """Which column holds the items."""
    wanted = named or (columns[0] if len(columns) == 1 else usual)
    if wanted not in columns:
        raise UsageError(
            f"{file!r} has no column {wanted!r}: say which one holds the items, as FILE:COLUMN. "
            f"{did_you_mean(wanted, columns)}"
        )
    return columns.index(wanted)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        why = error.strerror or "unknown reason"
        raise InputError(f"{str(path)!r} cannot be read: {why}.") from error


def _lines(raw: bytes, where: str) -> list[str]:
    """The ids on the lines; empty lines are none."""
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{where} is not text in UTF-8: save it as that.") from None
    return [line for line in (line.rstrip("\r") for line in text.split("\n")) if line]
