"""Reservations, and the record as others may read it."""

from __future__ import annotations

import shlex
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

from crowdtally.budget.record.authors import Author
from crowdtally.budget.record.balance import Balance
from crowdtally.budget.record.canonical import Json
from crowdtally.budget.record.chain import Entry, Head, Row, content, damaged, genesis, link
from crowdtally.budget.record.charge import Asked, Charge
from crowdtally.budget.record.events import (
    AboutReservation,
    Drawing,
    MarkedPublished,
    Reserved,
    Voided,
)
from crowdtally.budget.record.fast_reader import Reader
from crowdtally.budget.record.staged import StagedFolder
from crowdtally.core.privacy import PrivacyUnit

State = Literal["reserved", "drawing", "published", "voided"]


@dataclass(frozen=True)
class Reservation:
    """A charge that was made; from here on it counts as spent."""

    id: str
    """How ``start_drawing``, ``mark_published`` and ``void`` call it."""
    dataset: str
    """What it was charged to."""
    charge: Charge
    """What it is for."""
    before: Balance
    """Where the dataset stood."""
    after: Balance
    """Where it stands with this charge."""
    also: tuple[str, ...] = ()
    """Other datasets that were charged for some of the same sources."""
    taken_up: bool = False
    """Whether an earlier run of the same request had made it."""
    typed: str | None = None
    """How a command names the ledger."""

    @property
    def void(self) -> str:
        """The command that gives it back."""
        where = "" if self.typed is None else f" --ledger {shlex.quote(self.typed)}"
        return f"crowdtally ledger void {self.id} --reason TEXT{where}"


@dataclass(frozen=True)
class Withdrawal:
    """A published release was called back."""

    time: str
    """When, in UTC."""
    reason: str
    """Why, in a person's words."""
    by: Author
    """Who recorded it."""


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
    """``reserved`` (charged, nothing drawn), ``drawing``, ``published`` or ``voided``."""
    unit: PrivacyUnit
    """What its ε protects."""
    by: Author
    """Who charged it."""
    asked: Asked
    """What for."""
    reason: str | None = None
    """Why it was voided."""
    sha256: str | None = None
    """SHA-256 of the published ``release.json``; ``None`` before that."""
    staged: StagedFolder | None = None
    """Where the unfinished release is written; ``None`` before that."""
    published_at: str | None = None
    """When it was marked as published, in UTC."""
    withdrawn: Withdrawal | None = None
    """Whether, when and why the release was called back."""
    drawing_at: str | None = None
    """When it was recorded that noise may be drawn, in UTC."""
    drawn_by: Author | None = None
    """Who drew: another one than who charged, where a repeated request took the charge up."""

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

    def entries(self, datasets: Container[str] | None = None) -> Iterator[Entry]:
        """All entries, or those of some datasets, each checked against the one before it."""
        previous, reader = genesis(self.id), Reader()
        for row in self.rows:
            if datasets is None or row.dataset in datasets:
                yield reader.read(row, previous)
            elif link(previous, row.body) != row.hash:
                raise damaged(row.number, "does not follow from the entry before it")
            previous = row.hash


class Charges:
    """Reservations put together as their entries come by, each with what became of it."""

    def __init__(self) -> None:
        self._facts: dict[str, dict[str, Any]] = {}

    def add(self, entry: Entry) -> None:
        """Take the next entry, in order; one that is about no charge changes nothing."""
        event = entry.event
        if isinstance(event, Reserved):
            self._facts[entry.id] = _made(entry, event)
        elif isinstance(event, AboutReservation):
            self._facts[event.reservation].update(_change(entry, event))

    def all(self) -> list[Charged]:
        """Every one, in order."""
        return [Charged(**facts) for facts in self._facts.values()]


def charged(entries: Iterable[Entry]) -> list[Charged]:
    """The reservations among the entries, each with its end."""
    charges = Charges()
    for entry in entries:
        charges.add(entry)
    return charges.all()


def made(entry: Entry, event: Reserved) -> Charged:
    """A charge as it was when it was made."""
    return Charged(**_made(entry, event))


def follow(old: Charged, entry: Entry, event: AboutReservation) -> Charged:
    """The charge after something happened to it."""
    return replace(old, **_change(entry, event))


def _made(entry: Entry, event: Reserved) -> dict[str, Any]:
    return {
        "id": entry.id, "time": entry.time, "dataset": entry.dataset, "charge": event.charge,
        "state": "reserved", "unit": event.unit, "by": entry.by, "asked": event.asked,
    }  # fmt: skip


def _change(entry: Entry, event: AboutReservation) -> dict[str, Any]:
    if isinstance(event, Drawing):
        return {
            "state": "drawing", "staged": event.staged,
            "drawing_at": entry.time, "drawn_by": entry.by,
        }  # fmt: skip
    if isinstance(event, MarkedPublished):
        return {"state": "published", "sha256": event.sha256, "published_at": entry.time}
    if isinstance(event, Voided):
        return {"state": "voided", "reason": event.reason}
    return {"withdrawn": Withdrawal(entry.time, event.reason, entry.by)}


def export(record: Record) -> dict[str, Json]:
    """Everything another program needs to check the chain and to compute the costs anew."""
    previous = genesis(record.id)
    entries: list[Json] = []
    for entry in record.entries():
        body = content(entry.number, entry.time, entry.balance, entry.event, entry.by)
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
