"""Registries: the names that a person may type, what each means, and where it is defined.

Nothing is imported before it is asked for, so that ``--help`` can list all names at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from crowdtally.errors import UsageError, did_you_mean


@dataclass(frozen=True)
class Entry:
    """One name of a registry."""

    home: str
    """``package.module:Class``."""
    words: str
    """What it does, for help and documentation."""


class Registry(Mapping[str, Entry]):
    """The entries of one option.

    >>> Registry("--transform", {"none": Entry("crowdtally.errors:UsageError", "…")}).listed()
    'none'
    """

    def __init__(self, option: str, entries: Mapping[str, Entry]) -> None:
        self.option = option
        """The option that takes these names."""
        self._entries = dict(entries)

    def __getitem__(self, name: str) -> Entry:
        return self._entries[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

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
