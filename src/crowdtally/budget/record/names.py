"""Datasets' names: one name, however its characters are composed.

``é`` can be one character or an ``e`` and an accent. Both look the same, and file systems turn one
into the other, so both must mean one budget. Names are therefore normalised to NFC.
"""

from __future__ import annotations

import unicodedata

from crowdtally.errors import UsageError


def normal(text: str) -> str:
    r"""The one spelling that stands for all that look the same.

    >>> normal("e\u0301") == "\u00e9"
    True
    """
    return unicodedata.normalize("NFC", text)


def dataset_name(value: object) -> str:
    """``value``, normalised, if it can name a dataset: one line of printable text."""
    fits = isinstance(value, str) and 0 < len(value) <= 500 and value.strip() == value
    if isinstance(value, str) and fits and value.isprintable():
        return normal(value)
    raise UsageError(
        "a dataset's name is one line of at most 500 printable characters, without spaces at "
        f"its ends: received {str(value)[:40]!r}. Give one with --dataset NAME."
    )
