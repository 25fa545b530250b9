"""Levels from a file and from options: ``CATEGORY=no|all|EPSILON``."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from crowdtally.core.row_files import opened
from crowdtally.errors import InputError, UsageError, did_you_mean
from crowdtally.person.levels import Levels

COLUMNS = ("category", "level")


def read_levels(source: str | os.PathLike[str]) -> dict[str, str]:
    """The levels in a table with the columns ``category`` and ``level``: CSV or JSON lines."""
    path = Path(os.fspath(source))
    with opened(path) as file:
        for name in COLUMNS:
            if name not in file.columns:
                raise InputError(
                    f"the levels in {str(path)!r} need the columns category and level. "
                    f"{did_you_mean(name, file.columns)}"
                )
        rows = list(file.rows([file.columns.index(name) for name in COLUMNS]))
    return _once(((category or "", level or "") for category, level in rows), repr(str(path)))


def typed_levels(texts: Iterable[str]) -> dict[str, str]:
    """The levels of repeated options.

    >>> typed_levels(["horror=no", "a=b=0.5"])
    {'horror': 'no', 'a=b': '0.5'}
    """
    pairs = []
    for text in texts:
        category, equals, level = text.rpartition("=")
        if not equals or not category:
            raise UsageError(
                f"--level is CATEGORY=no, CATEGORY=all or CATEGORY=EPSILON: received {text[:80]!r}."
            )
        pairs.append((category, level))
    return _once(pairs, "--level")


def together(file: Mapping[str, str] | None, typed: Mapping[str, str]) -> Levels:
    """What was typed wins over what the file says."""
    return Levels.of({**(file or {}), **typed})


def _once(pairs: Iterable[tuple[str, str]], where: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for category, level in pairs:
        if category in found:
            raise UsageError(f"{where} gives two levels to {category[:80]!r}: keep one.")
        found[category] = level
    return found
