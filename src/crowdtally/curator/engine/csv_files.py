"""CSV as DuckDB reads it here: by the header, all columns as text, nothing guessed."""

from __future__ import annotations

import csv
import glob
import zlib
from collections.abc import Iterable
from pathlib import Path

from crowdtally.curator.engine import csv_quotes
from crowdtally.errors import InputError

LONGEST_ROW = 2**26
"""Bytes of a row beyond which a CSV file is refused."""
_BUFFER = 2**27
_DELIMITERS = ",\t;|"


def rows_of(paths: tuple[str, ...], *, checked: bool = True) -> str:
    """SQL that reads the files as records: empty fields are null.

    With ``checked`` the whole files are looked through first, for quotes that do not pair up; else
    their headers alone are read.
    """
    delimiter, columns = common_header(paths)
    for path in paths if checked else ():
        _require_paired_quotes(path, delimiter)
    return (
        f"read_csv([{files(paths)}], {_declared(columns)}, header = true, "
        f"delim = {text(delimiter)}, strict_mode = true, nullstr = '', "
        f"hive_types_autocast = false, {_alone()})"
    )


def exact_text(path: Path, columns: list[str]) -> str:
    """SQL that reads a file in which an empty text is quoted and a null is not."""
    return (
        f"read_csv([{files([str(path)])}], {_declared(columns)}, header = false, delim = ',', "
        f"strict_mode = true, nullstr = '', allow_quoted_nulls = false, {_alone()})"
    )


def _declared(columns: Iterable[str]) -> str:
    listed = ", ".join(f"{text(column)}: 'VARCHAR'" for column in columns)
    return f"columns = {{{listed}}}, auto_detect = false, quote = '\"', escape = '\"'"


def _alone() -> str:
    """One reader for a file: several would guess, from wherever they start, where a row begins.

    In quoted text of several lines they guess wrong, depending on how long other rows are.
    """
    return f"parallel = false, max_line_size = {LONGEST_ROW}, buffer_size = {_BUFFER}"


def _require_paired_quotes(path: str, delimiter: str) -> None:
    try:
        paired = csv_quotes.quotes_pair_up(path, delimiter, LONGEST_ROW)
    except (OSError, EOFError, zlib.error):
        raise InputError(
            f"{path!r} is damaged, cut off or not of the kind its name says; make it again or "
            "restore a good copy."
        ) from None
    if not paired:
        raise InputError(
            f"{path!r} is not well-formed CSV: a quote is opened and not closed at the end of its "
            "field, so that rows after it would be lost. Close it; double a quote within quotes."
        )


def common_header(paths: tuple[str, ...]) -> tuple[str, list[str]]:
    """The delimiter and the column names of CSV files, which must have them in common."""
    headers = {path: _header(path) for path in paths}
    delimiter, columns = headers[paths[0]]
    for path, (_, other) in headers.items():
        if other != columns:
            raise InputError(f"{path!r} has another header than {paths[0]!r}: make them equal.")
    return delimiter, columns


def _header(path: str) -> tuple[str, list[str]]:
    try:
        with csv_quotes.opened(path, "rt", encoding="utf-8-sig", newline="") as file:
            line = file.readline(1 << 20)
    except (OSError, UnicodeDecodeError, EOFError):
        raise InputError(f"{path!r} cannot be read as text in UTF-8: convert it.") from None
    return header_of(line, path)


def header_of(line: str, path: str) -> tuple[str, list[str]]:
    """The delimiter and the column names that a first line gives."""
    delimiter = max(_DELIMITERS, key=line.count)
    columns = next(csv.reader([line], delimiter=delimiter), [])
    if not columns or "" in columns or len(set(columns)) != len(columns):
        raise InputError(
            f"{path!r} needs a first line with a distinct, non-empty name for each column."
        )
    return delimiter, columns


def files(paths: Iterable[str]) -> str:
    """Files by their names: DuckDB would take ``day[1].csv`` for a pattern, and read ``day1.csv``.

    >>> files(["day[1].csv"])
    "'day[[]1].csv'"
    """
    return ", ".join(text(glob.escape(path)) for path in paths)


def text(value: str) -> str:
    """A text as an SQL literal.

    >>> text("it's")
    "'it''s'"
    """
    return "'" + value.replace("'", "''") + "'"
