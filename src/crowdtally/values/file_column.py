"""A file and one of its columns, in one word."""

from __future__ import annotations

from pathlib import Path


def file_and_column(text: str) -> tuple[str, str | None]:
    """``FILE[:COLUMN]``; a file whose name has a colon wins.

    >>> file_and_column("places.csv:place"), file_and_column("places.csv")
    (('places.csv', 'place'), ('places.csv', None))
    """
    file, colon, column = text.rpartition(":")
    if not colon or Path(text).exists() or "/" in column:
        return text, None
    return file, column
