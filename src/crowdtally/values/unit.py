"""Whose data one unit of protection covers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from crowdtally.errors import UsageError

Kind = Literal["user", "row", "item"]

_NEIGHBOURS = {
    "user": "databases that differ by all records of one user, added or removed",
    "row": "databases that differ by one row, added or removed; each row is one person",
    "item": "histories of one person that differ by one item, added or removed, on that device",
}


@dataclass(frozen=True)
class PrivacyUnit:
    """What neighbouring databases differ by. Epsilons of different units never add up."""

    kind: Kind
    """``user``: all records of one user. ``row``: one row. ``item``: one item of a history."""
    column: str | None = None
    """The column that says whose record it is; only for ``user``."""

    def __post_init__(self) -> None:
        if self.kind not in _NEIGHBOURS:
            raise UsageError(f"unknown privacy unit {self.kind!r}: use user, row or item.")
        if (self.kind == "user") != (self.column is not None):
            raise UsageError("a privacy unit of kind 'user' names its column, and only that kind.")

    @property
    def key(self) -> str:
        """One string that is equal for equal units.

        >>> PrivacyUnit("user", "user_id").key
        'user:user_id'
        """
        return f"{self.kind}:{self.column}" if self.column is not None else self.kind

    @property
    def neighbours(self) -> str:
        """The neighbouring relation in words."""
        return _NEIGHBOURS[self.kind]

    @property
    def who(self) -> str:
        """Who is protected, in a word."""
        return "user" if self.kind == "user" else "person"
