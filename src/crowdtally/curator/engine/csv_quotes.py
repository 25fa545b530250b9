"""Whether the quotes of a CSV file pair up: DuckDB's single reader drops what follows if not.

A quote that is never closed makes all rows after it one field, which ends with the file and is
dropped without a word. Several readers would notice, but they refuse valid files; so the file is
looked through here, before DuckDB reads it.
"""

from __future__ import annotations

import csv
import gzip
from typing import Any, BinaryIO

import numpy as np

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
