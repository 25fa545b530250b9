"""Why nothing may be added to a ledger: one sentence, kept in its table, outside the chain.

Two ledgers with the same record that can both be charged would be two budgets, so at most one of
them is open.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime

_MOVED = re.compile(r"it was moved \(ticket (\w+)\) on \S+ to (.*), and goes on there\.", re.DOTALL)
_BACKUP = re.compile(r"it is a backup, made at \S+ of (.*)\. It can be read, ", re.DOTALL)


def backup(origin: object) -> str:
    """Of a copy that is kept, not used."""
    return (
        f"it is a backup, made at {_now()} of {origin}. It can be read, verified and exported; "
        "`crowdtally ledger import` brings it into use."
    )


def moved(to: object, ticket: str) -> str:
    """Of a ledger that goes on elsewhere."""
    return f"it was moved (ticket {ticket}) on {_now()} to {to}, and goes on there."


def waiting(ledger_id: str, origin: object) -> str:
    """Of a ledger without entries that is about to get those of another; the same each time."""
    return (
        f"it waits for the entries of the ledger {ledger_id}, which are in {origin}: running "
        "`crowdtally ledger import` again, with both, brings them."
    )


@dataclass(frozen=True)
class Closing:
    """What a sentence says."""

    backup_of: str | None
    """Of a copy that is kept: where the ledger was."""
    ticket: str | None
    """Of a ledger that was moved: the id that the empty ledger had which gets its entries."""
    moved_to: str | None
    """Of a ledger that was moved: where to."""

    @classmethod
    def of(cls, sentence: str) -> Closing:
        """Read what one of the functions above wrote; of another sentence nothing is known."""
        kept, went = _BACKUP.match(sentence), _MOVED.match(sentence)
        return cls(kept[1] if kept else None, went[1] if went else None, went[2] if went else None)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
