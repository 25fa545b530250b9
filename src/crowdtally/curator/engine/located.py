"""The sources of a declaration, each found once, when it is first needed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from crowdtally.curator.engine.sources import Located, locate
from crowdtally.values.records import Records


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
    def joins(self) -> tuple[tuple[Located, str], ...]:
        """The joined tables, each with its key."""
        return tuple((locate(source), key) for source, key in self.declared.joins)

    @property
    def about_users(self) -> tuple[Located, ...]:
        """The sources whose values depend on users: the records, and what is joined on the user."""
        user = self.declared.user
        return (self.records, *(table for table, key in self.joins if key == user))

    @property
    def every(self) -> tuple[Located, ...]:
        """All of them."""
        return (self.records, *(table for table, _ in self.joins))
