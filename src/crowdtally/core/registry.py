"""The names that a person may type, and what each means; SQL quoting and nesting.

Nothing is imported before it is asked for, so that ``--help`` can list all names at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from crowdtally.errors import UsageError, did_you_mean


@dataclass(frozen=True)
class Entry:
    home: str
    """``package.module:Class``."""
    words: str


class Registry(dict[str, Entry]):
    """The entries of one option.

    >>> Registry("--transform", {"none": Entry("crowdtally.errors:UsageError", "…")}).listed()
    'none'
    """

    def __init__(self, option: str, entries: Mapping[str, Entry]) -> None:
        super().__init__(entries)
        self.option = option

    def load(self, name: object) -> Any:
        """The class of a name; a UsageError that lists the names for any other."""
        if not isinstance(name, str) or name not in self:
            raise UsageError(f"unknown {self.option} {name!r}. {did_you_mean(str(name), self)}")
        module, _, attribute = self[name].home.partition(":")
        return getattr(import_module(module), attribute)

    def listed(self, *, but: tuple[str, ...] = ()) -> str:
        """The names as a phrase: ``a, b or c``."""
        return either([name for name in self if name not in but])


def either(names: list[str]) -> str:
    """``a``, ``a or b``, ``a, b or c``."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


DEEPEST = 40
"""Brackets inside each other. A text with more is refused before anything parses it."""
_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")


def quoted(name: str) -> str:
    """The name as an SQL identifier of DuckDB, SQLite and PostgreSQL.

    >>> quoted('a"b')
    '"a""b"'
    """
    return '"' + name.replace('"', '""') + '"'


def nesting(tokens: Iterable[tuple[str, bool]]) -> tuple[int, int]:
    """How deep brackets are nested; and how many of them at most stand behind a marked word.

    Each token is its text, and whether it is marked: a parser may read the brackets behind some
    words twice, so that its time doubles with each one inside another.

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
