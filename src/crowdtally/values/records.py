"""A declaration of records: where they are and which column plays which role."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from crowdtally.values.unit import PrivacyUnit


@dataclass(frozen=True)
class Records:
    """Records as declared; nothing has been read.

    Everything here is public: it says how to read, never what is in the records.
    """

    source: object
    """A path, glob or URL#table, or a frame, relation or Ibis table."""
    user: str
    """The column that says whose record it is."""
    item: str
    """The column that says what it is about."""
    contexts: Mapping[str, str | None] = field(default_factory=dict)
    """For each context a row-wise SQL expression, or None where it is a column of that name."""
    record_id: str | None = None
    """A stored column that tells a user's records apart; None: their content and ordinal do."""
    joins: tuple[tuple[object, str], ...] = ()
    """Tables to look up, each with the key column it shares with the records."""

    @property
    def unit(self) -> PrivacyUnit:
        """What one unit of protection covers."""
        return PrivacyUnit("user", self.user)
