"""Answers as CSV (RFC 4180), in which a spreadsheet finds nothing to run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from unicodedata import normalize

from crowdtally.reader.answers.columns import Column

_RUN = frozenset("=+-@\t\r\n|%")
"""Letters with which a spreadsheet, or an import into one, may begin to run a text; also in full
width or small, which some take for the same."""
_CELLS = re.compile(r"(?<=[;\t\r\n])")
"""Where a new cell begins for a program that goes by other separators: it does not know the quotes
of a cell that is not its own."""
_APART = frozenset('",;')
"""What tells cells apart, or might in a reader that guesses."""


def csv_text(columns: Sequence[Column], rows: Iterable[Mapping[str, Any]]) -> str:
    """A header and a line for each row; what is missing is empty."""
    lines = [[_quoted(column.name) for column in columns]]
    lines += [[_cell(row[column.name]) for column in columns] for row in rows]
    return "".join(f"{','.join(line)}\n" for line in lines)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return _quoted(as_text(value)) if isinstance(value, str) else str(value)


def _quoted(text: str) -> str:
    """In quotes where it needs them; a carriage return does too, which csv.writer may forget."""
    if text and text.isprintable() and text == text.strip() and not set(text) & _APART:
        return text
    return '"' + text.replace('"', '""') + '"'


def as_text(text: str) -> str:
    """A text that stays text in a spreadsheet: one that could be run begins with an apostrophe.

    >>> as_text("=1+1"), as_text("＝1"), as_text("  @A1"), as_text("Fargo"), as_text("7-Up")
    ("'=1+1", "'＝1", "'  @A1", 'Fargo', '7-Up')

    So does what follows a semicolon, a tab or the end of a line within it: where these tell cells
    apart, a cell begins there.

    >>> as_text("a;=1+1;b")
    "a;'=1+1;b"

    One that begins with apostrophes before such a letter gets one more, so that taking one off
    gives every such text back.

    >>> as_text("'=1+1"), as_text("'tis")
    ("''=1+1", "'tis")
    """
    first, *others = _CELLS.split(text)
    guarded = [f"'{first}" if _first_letter(first, "\t\r\n") in _RUN else first]
    guarded += [f"'{part}" if _first_letter(part) in _RUN else part for part in others]
    return "".join(guarded)


def _first_letter(text: str, also: str = "") -> str:
    """The first letter in its usual form; apostrophes, blanks and what has no width are none.

    Args:
        text: where it is looked for.
        also: blanks that are letters here.
    """
    for letter in text:
        if letter in also or (letter.isprintable() and letter not in "' "):
            return normalize("NFKC", letter)
    return ""
