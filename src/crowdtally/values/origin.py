"""Where rows come from, by names that are the same however the source was typed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, eq=False)
class Origin:
    """The files, tables or objects that rows are read from."""

    names: frozenset[str] = frozenset()
    """Resolved names: one for each file, or one for a database's table."""
    held: object = None
    """The frame or relation itself, for rows held in memory."""

    def overlaps(self, other: Origin) -> bool:
        """Whether some rows of the two are the same rows.

        >>> Origin(frozenset({"/a.csv", "/b.csv"})).overlaps(Origin(frozenset({"/b.csv"})))
        True
        """
        return bool(self.names & other.names) or (self.held is not None and self.held is other.held)
