"""CSV files, read exactly: by the header, all columns as text, nothing guessed."""

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

# A quote that is never closed makes one field of all rows after it, and DuckDB's single reader
# drops it without a word. Several readers would notice, but they refuse valid files; so the quotes
# are checked here, before DuckDB reads the file.

_BLOCK = 1 << 24
_QUOTE = ord('"')
_MARK = b"\xef\xbb\xbf"


def opened(path: str, mode: str = "rb", **options: Any) -> Any:
    """The file, unpacked if its name ends in .gz."""
    return (gzip.open if path.lower().endswith(".gz") else open)(path, mode, **options)


def quotes_pair_up(path: str, delimiter: str, longest: int) -> bool:
    """Whether each quote that opens a field is closed at its end; a row has ``longest`` bytes."""
    with opened(path) as file:
        paired = _by_counting(file, delimiter)
    return _by_reading(path, delimiter, longest) if paired is None else paired


def _by_counting(file: BinaryIO, delimiter: str) -> bool | None:
    """Whether the number of quotes is even; None where one opens elsewhere than at a field's start.

    A quote within quotes is doubled: it closes and opens again at once. One in the middle of a
    field without quotes is just a character, and then counting does not decide. DuckDB checks what
    follows a closing quote.
    """
    may_precede = np.zeros(256, dtype=bool)
    may_precede[list(f'{delimiter}\n\r"'.encode())] = True
    inside, last = 0, b"\n"
    block = file.read(_BLOCK).removeprefix(_MARK)
    while block:
        following = file.read(_BLOCK)
        if b'"' in block:
            data = np.frombuffer(last + block, np.uint8)
            quotes = 1 + np.flatnonzero(data[1:] == _QUOTE)
            if not may_precede[data[quotes[inside::2] - 1]].all():
                return None
            inside = (inside + len(quotes)) % 2
        block, last = following, block[-1:]
    return not inside


def _by_reading(path: str, delimiter: str, longest: int) -> bool:
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


LONGEST_ROW = 2**26  # bytes of a row beyond which a CSV file is refused
_BUFFER = 2**27
_DELIMITERS = ",\t;|"


def rows_of(paths: tuple[str, ...], *, checked: bool = True) -> str:
    """SQL that reads the files as records: empty fields are null.

    With ``checked`` the quotes of the whole files are checked first; else only headers are read.
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
    """One reader for a file: several would have to guess where a row begins.

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
    """The delimiter and column names of CSV files, which must have the same names."""
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
    """The delimiter and column names of a first line."""
    delimiter = max(_DELIMITERS, key=line.count)
    columns = next(csv.reader([line], delimiter=delimiter), [])
    if not columns or "" in columns or len(set(columns)) != len(columns):
        raise InputError(
            f"{path!r} needs a first line with a distinct, non-empty name for each column."
        )
    return delimiter, columns


def files(paths: Iterable[str]) -> str:
    """Names as SQL: of ``day[1].csv`` DuckDB would make a pattern, and read ``day1.csv``.

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
