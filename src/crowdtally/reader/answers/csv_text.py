"""Answers as CSV (RFC 4180), in which a spreadsheet finds nothing to run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from crowdtally.reader.answers.columns import Column

_RUN = frozenset("=+-@\t\r\n|%＝＋－＠｜％")
"""Letters with which a spreadsheet, or an import into one, may begin to run a text; also in full
width, which some take for the same."""
_SKIPPED = "\ufeff\u200b\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\u2066\u2067\u2068\u2069"
"""Letters without width, behind which one of them may hide."""
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

    One that begins with apostrophes before such a letter gets one more, so that taking one off
    gives every such text back.

    >>> as_text("'=1+1"), as_text("'tis")
    ("''=1+1", "'tis")
    """
    first = text.lstrip(f"' \u00a0\u3000{_SKIPPED}")[:1]
    return f"'{text}" if first in _RUN or text[:1] in _RUN else text
