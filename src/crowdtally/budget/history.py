"""Reservations, and the record as others may read it."""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass, replace
from typing import Literal

from crowdtally.budget.balance import Balance
from crowdtally.budget.canonical import Json
from crowdtally.budget.chain import Entry, Head, Row, content, damaged, genesis, link, read
from crowdtally.budget.events import Charge, MarkedPublished, Reserved, Voided
from crowdtally.budget.staged import StagedFolder

State = Literal["reserved", "published", "voided"]


@dataclass(frozen=True)
class Reservation:
    """A charge that was made; from here on it counts as spent."""

    id: str
    """How ``mark_published`` and ``void`` call it."""
    dataset: str
    """What it was charged to."""
    charge: Charge
    """What it is for."""
    before: Balance
    """Where the dataset stood."""
    after: Balance
    """Where it stands with this charge."""


@dataclass(frozen=True)
class Charged:
    """A reservation as the record has it, and what became of it."""

    id: str
    """How ``void`` calls it."""
    time: str
    """When it was made, in UTC."""
    dataset: str
    """What it was charged to."""
    charge: Charge
    """What it was for."""
    state: State
    """``reserved`` (charged, not known to be published), ``published`` or ``voided``."""
    reason: str | None = None
    """Why it was voided."""
    sha256: str | None = None
    """SHA-256 of the published ``release.json``; ``None`` before that, and in old entries."""
    staged: StagedFolder | None = None
    """Where the unfinished release was written; ``None`` in old entries."""

    def hint(self) -> str | None:
        """What to do about a staged folder that is still on this computer; ``None`` without one."""
        if self.staged is None or self.state == "voided" or not self.staged.is_here:
            return None
        folder = self.staged.path
        if self.state == "published":
            return (
                f"paid for, but not in place: it lies in {folder}. Unless a run is just about to "
                "rename it, rename that folder yourself: it is the whole release."
            )
        return (
            f"unfinished: {folder} exists. Unless a run is writing it, `crowdtally ledger void "
            f"{self.id} --reason TEXT --delete-staged` deletes it and gives the charge back."
        )


@dataclass(frozen=True)
class Record:
    """The whole ledger as it was at one moment."""

    id: str
    """The ledger's own random name."""
    head: Head
    """Its last entry."""
    rows: tuple[Row, ...]
    """Its entries as stored."""

    def entries(self, datasets: Container[str] | None = None) -> list[Entry]:
        """All entries, or those of some datasets, each checked against the one before it."""
        previous, found = genesis(self.id), []
        for row in self.rows:
            if datasets is None or row.dataset in datasets:
                found.append(read(row, previous))
            elif link(previous, row.body) != row.hash:
                raise damaged(row.number, "does not follow from the entry before it")
            previous = row.hash
        return found


def charged(entries: Iterable[Entry]) -> list[Charged]:
    """The reservations among the entries, each with its end."""
    found: dict[str, Charged] = {}
    for entry in entries:
        event = entry.event
        if isinstance(event, Reserved):
            found[entry.id] = Charged(
                entry.id, entry.time, entry.dataset, event.charge, "reserved", staged=event.staged
            )
        elif isinstance(event, MarkedPublished):
            old = found[event.reservation]
            found[old.id] = replace(old, state="published", sha256=event.sha256)
        elif isinstance(event, Voided):
            old = found[event.reservation]
            found[old.id] = replace(old, state="voided", reason=event.reason)
    return list(found.values())


def export(record: Record) -> dict[str, Json]:
    """Everything another program needs to check the chain and to compute the costs anew."""
    previous = genesis(record.id)
    entries: list[Json] = []
    for entry in record.entries():
        body = content(entry.number, entry.time, entry.balance, entry.event)
        entries.append({"content": body, "previous": previous, "hash": entry.hash})
        previous = entry.hash
    return {
        "format": "crowdtally-ledger",
        "version": 1,
        "ledger": record.id,
        "genesis": genesis(record.id),
        "hashing": (
            "hash = SHA-256(previous + newline + JSON of content with sorted keys, no spaces, "
            "ASCII only), in hexadecimal; the first previous is genesis"
        ),
        "head": {"number": record.head.number, "hash": record.head.hash},
        "entries": entries,
    }
