"""Whose data one unit of protection covers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from crowdtally.errors import UsageError

Kind = Literal["user", "same-person", "row", "bounded-elsewhere", "person", "item"]

NEIGHBOURS = {
    "user": "databases that differ by all records of one user, added or removed",
    "same-person": "databases that differ by all records of one person, under all ids that a table "
    "says are that person's, added or removed",
    "row": "databases that differ by one row, added or removed; each row is one person",
    "bounded-elsewhere": "databases that differ by all rows of one person, added or removed; how "
    "many these are at most is the publisher's statement, which is not checked",
    "person": "databases that differ by one person, added or removed; a row stands for as many "
    "persons as its weight says",
    "item": "histories of one person that differ by one item, added or removed, on that device",
}
"""What is compared, for each kind of unit."""

_NAMING = ("user", "same-person", "person")


@dataclass(frozen=True)
class PrivacyUnit:
    """What neighbouring databases differ by. Epsilons of different units never add up."""

    kind: Kind
    """``user``: all records of one user. ``same-person``: all records of one person, who may have
    several ids. ``row``: one row. ``bounded-elsewhere``: all rows of one person, of whom there is
    no id, so that how many they are is a statement of the publisher's. ``person``: one of those
    that a row's weight counts. ``item``: one item of a history."""
    column: str | None = None
    """For ``user`` and ``same-person``: the column, or columns, that say whose record it is. For
    ``person``: the weight."""

    def __post_init__(self) -> None:
        if self.kind not in NEIGHBOURS:
            raise UsageError(f"unknown privacy unit {self.kind!r}: use {', '.join(NEIGHBOURS)}.")
        if (self.kind in _NAMING) != (self.column is not None):
            kinds = " or ".join(map(repr, _NAMING))
            raise UsageError(f"a privacy unit of kind {kinds} names its column, and only those.")

    @property
    def key(self) -> str:
        """One string that is equal for equal units.

        >>> PrivacyUnit("user", "user_id").key
        'user:user_id'
        """
        return f"{self.kind}:{self.column}" if self.column is not None else self.kind

    @property
    def typed(self) -> str:
        """The options of a release that mean this unit.

        >>> PrivacyUnit("same-person", "shop, customer").typed
        '--user shop,customer --same-person FILE'
        """
        columns = (self.column or "").replace(", ", ",")
        return {
            "user": f"--user {columns}",
            "same-person": f"--user {columns} --same-person FILE",
            "row": "--user-per-row",
            "bounded-elsewhere": "--bounded-to L",
            "person": f"--user-per-row --weight {columns}",
            "item": "",
        }[self.kind]

    @property
    def neighbours(self) -> str:
        """The neighbouring relation in words."""
        return NEIGHBOURS[self.kind]

    @property
    def unchecked(self) -> str | None:
        """What is taken on trust from whoever publishes, in a sentence."""
        if self.kind != "bounded-elsewhere":
            return None
        return (
            "That no person has more rows than --bounded-to says is the publisher's statement, and "
            "is not checked."
        )

    @property
    def who(self) -> str:
        """Who is protected, in a word."""
        return "user" if self.kind == "user" else "person"
