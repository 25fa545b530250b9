"""SQL that a person typed or that names become: quoted names, and how deep a text is nested.

Names are quoted in the standard's way, which DuckDB, SQLite and PostgreSQL share.
"""

from __future__ import annotations

from collections.abc import Iterable

DEEPEST = 40
"""Brackets inside each other. A text with more is refused before anything parses it."""
_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")


def quoted(name: str) -> str:
    """The name as an SQL identifier.

    >>> quoted('a"b')
    '"a""b"'
    """
    return '"' + name.replace('"', '""') + '"'


def nesting(tokens: Iterable[tuple[str, bool]]) -> tuple[int, int]:
    """How many brackets stand inside each other at most; and how many of those behind a mark.

    Args:
        tokens: the text of each, and whether it is marked: a parser may read the brackets behind
            some words twice, which doubles its time with each one inside another.

    >>> nesting([("f", False), ("(", False), ("date", True), ("(", False), (")", False)])
    (2, 1)
    """
    around: list[bool] = []
    deepest = most_marked = 0
    before = False
    for text, marked in tokens:
        if text in _OPENING:
            around.append(before)
            deepest, most_marked = max(deepest, len(around)), max(most_marked, sum(around))
        elif text in _CLOSING and around:
            around.pop()
        before = marked
    return deepest, most_marked
