"""Datasets' names: one name, however its characters are composed.

``é`` can be one character or an ``e`` and an accent. Both look the same, and file systems turn one
into the other, so both must mean one budget. Names are therefore normalised to NFC. Ledgers from
before that may hold another spelling: it stays as recorded, and every spelling finds it.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping

from crowdtally.errors import UsageError

Spellings = Mapping[str, tuple[str, ...]]
"""By NFC name, the other spellings of it that a ledger holds."""


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


def old_spellings(names: Iterable[object]) -> Spellings:
    """The names that are not in NFC, by the name that they would have today."""
    found: dict[str, tuple[str, ...]] = {}
    for name in names:
        if isinstance(name, str) and normal(name) != name:  # anything else is damage, found later
            found[normal(name)] = (*found.get(normal(name), ()), name)
    return found
