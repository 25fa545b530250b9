"""The sources of a declaration, each found once, when it is first needed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from crowdtally.core.records import Join, Records
from crowdtally.curator.engine.sources import Located, locate


@dataclass(frozen=True)
class LookUp:
    """A joined table that was found."""

    table: Located
    """Where it is."""
    declared: Join
    """How it was declared."""


@dataclass(frozen=True)
class Sources:
    """Where the records are, and the tables joined with them. Nothing of them has been read."""

    declared: Records
    """The declaration."""

    @cached_property
    def records(self) -> Located:
        """The records' own source; an InputError or UsageError where it cannot be found."""
        return locate(self.declared.source)

    @cached_property
    def joins(self) -> tuple[LookUp, ...]:
        """The joined tables."""
        return tuple(LookUp(locate(join.source), join) for join in self.declared.joins)

    @cached_property
    def same_person(self) -> Located | None:
        """The table that says which ids are one person's, if there is one."""
        declared = self.declared.same_person
        return None if declared is None else locate(declared.source)

    @property
    def about_users(self) -> tuple[Located, ...]:
        """The sources whose values depend on users: the records, and what is joined on the user."""
        users = self.declared.user_columns
        joined = [found.table for found in self.joins if found.declared.key in users]
        return (self.records, *joined, *([self.same_person] if self.same_person else []))

    @property
    def every(self) -> tuple[Located, ...]:
        """All of them."""
        joined = [found.table for found in self.joins]
        return (self.records, *joined, *([self.same_person] if self.same_person else []))
