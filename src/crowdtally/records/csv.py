"""CSV exactly, as text."""

from __future__ import annotations

import csv
import glob
import gzip
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from crowdtally.errors import InputError

# Whether the quotes of a CSV file pair up: DuckDB's single reader drops what follows if not.
#
# A quote that is never closed makes all rows after it one field, which ends with the file and is
# dropped without a word. Several readers would notice, but they refuse valid files; so the file
# is looked through here, before DuckDB reads it.

_BLOCK = 1 << 24
_QUOTE = ord('"')
_MARK = b"\xef\xbb\xbf"


def opened(path: str, mode: str = "rb", **options: Any) -> Any:
    """The file, unpacked where its name says that it is packed."""
    return (gzip.open if path.lower().endswith(".gz") else open)(path, mode, **options)


def quotes_pair_up(path: str, delimiter: str, longest: int) -> bool:
    """Whether each quote that opens a field is closed at its end; a row has ``longest`` bytes."""
    with opened(path) as file:
        found = _by_counting(file, delimiter)
    return _by_reading(path, delimiter, longest) if found is None else found


def _by_counting(file: BinaryIO, delimiter: str) -> bool | None:
    """Quotes open and close by turns, if each opens at a field's start; None where one does not.

    A quote within quotes is doubled: it closes and opens again at once. One in the middle of a
    field without quotes is just a character, and then counting does not tell. What follows a
    closing quote is DuckDB's to check.
    """
    may_precede = np.zeros(256, dtype=bool)
    may_precede[list(f'{delimiter}\n\r"'.encode())] = True
    inside, last = 0, b"\n"
    block = file.read(_BLOCK).removeprefix(_MARK)
    while block:
        following = file.read(_BLOCK)
        if b'"' not in block:  # as most are
            block, last = following, block[-1:]
            continue
        data = np.frombuffer(last + block, np.uint8)
        quotes = 1 + np.flatnonzero(data[1:] == _QUOTE)
        if not may_precede[data[quotes[inside::2] - 1]].all():
            return None
        inside = (inside + len(quotes)) % 2
        block, last = following, block[-1:]
    return not inside


def _by_reading(path: str, delimiter: str, longest: int) -> bool:
    """The same by reading every field."""
    limit = csv.field_size_limit(longest)
    try:
        with opened(path, "rt", encoding="utf-8-sig", newline="", errors="replace") as file:
            for _ in csv.reader(file, delimiter=delimiter, strict=True):
                pass
    except csv.Error:
        return False
    finally:
        csv.field_size_limit(limit)
    return True


# CSV as DuckDB reads it here: by the header, all columns as text, nothing guessed.

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
        paired = quotes_pair_up(path, delimiter, LONGEST_ROW)
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
        with opened(path, "rt", encoding="utf-8-sig", newline="") as file:
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
