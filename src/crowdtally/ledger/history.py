"""Charges put together from entries, and what became of each."""

from __future__ import annotations

import shlex
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

from crowdtally.core.privacy import PrivacyUnit
from crowdtally.errors import UsageError
from crowdtally.ledger.accountants import accountant
from crowdtally.ledger.amounts import Loss
from crowdtally.ledger.balance import Balance
from crowdtally.ledger.chain import Entry, Head, Row, content, damaged, genesis, link, read
from crowdtally.ledger.charge import (
    Asked,
    Charge,
    Json,
)
from crowdtally.ledger.events import (
    AboutReservation,
    Drawing,
    MarkedPublished,
    Reserved,
    Voided,
)
from crowdtally.ledger.provenance import Author, StagedFolder

State = Literal["reserved", "drawing", "published", "voided"]


@dataclass(frozen=True)
class Reservation:
    """A charge that was made; from here on it counts as spent."""

    id: str
    """How ``start_drawing``, ``mark_published`` and ``void`` call it."""
    dataset: str
    charge: Charge
    before: Balance
    after: Balance
    also: tuple[str, ...] = ()
    """Other datasets that were charged for some of the same sources."""
    taken_up: bool = False
    """Whether an earlier run of the same request had made it."""
    typed: str | None = None

    @property
    def void(self) -> str:
        where = "" if self.typed is None else f" --ledger {shlex.quote(self.typed)}"
        return f"crowdtally ledger void {self.id} --reason TEXT{where}"


@dataclass(frozen=True)
class Withdrawal:
    time: str
    """When, in UTC."""
    reason: str
    by: Author


@dataclass(frozen=True)
class Charged:
    """A reservation as the record has it, and what became of it."""

    id: str
    time: str
    dataset: str
    charge: Charge
    state: State
    """``reserved`` (charged, nothing drawn), ``drawing``, ``published`` or ``voided``."""
    unit: PrivacyUnit
    by: Author
    asked: Asked
    reason: str | None = None
    sha256: str | None = None
    staged: StagedFolder | None = None
    published_at: str | None = None
    withdrawn: Withdrawal | None = None
    drawing_at: str | None = None
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
    head: Head
    rows: tuple[Row, ...]

    def entries(self, datasets: Container[str] | None = None) -> Iterator[Entry]:
        """All entries, or those of some datasets, each checked against the one before it."""
        previous = genesis(self.id)
        for row in self.rows:
            if datasets is None or row.dataset in datasets:
                yield read(row, previous)
            elif link(previous, row.body) != row.hash:
                raise damaged(row.number, "does not follow from the entry before it")
            previous = row.hash


class Charges:
    """Collects reservations and what became of each, entry by entry."""

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
        return [Charged(**facts) for facts in self._facts.values()]


def charged(entries: Iterable[Entry]) -> list[Charged]:
    charges = Charges()
    for entry in entries:
        charges.add(entry)
    return charges.all()


def made(entry: Entry, event: Reserved) -> Charged:
    return Charged(**_made(entry, event))


def follow(old: Charged, entry: Entry, event: AboutReservation) -> Charged:
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
    """All that another program needs to check the chain and recompute the costs."""
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


# What became of each charge, followed along the chain; what cannot follow is named.


@dataclass(frozen=True)
class Trace:
    """The state of one charge while the chain is replayed."""

    charge: Charge
    accountant: str
    state: State = "reserved"
    withdrawn: bool = False

    @classmethod
    def of(cls, event: Reserved, kind: str) -> Trace:
        return cls(event.charge, kind)

    @property
    def cost(self) -> Loss:
        """What it cost; few are ever voided, so that it is not computed for each."""
        try:
            return accountant(self.accountant).cost(self.charge)
        except UsageError:  # the entry could not have happened, and is named for that
            return self.charge.loss

    def then(self, event: AboutReservation) -> Trace | None:
        """The state after the event; ``None`` where that cannot have happened."""
        if isinstance(event, Drawing):
            return self._moved("drawing", self.state == "reserved")
        if isinstance(event, MarkedPublished):
            return self._moved("published", self.state == "drawing")
        if isinstance(event, Voided):
            unpublished = self.state in {"reserved", "drawing"}
            return self._moved("voided", unpublished and event.given_back == self.cost)
        fits = self.state == "published" and not self.withdrawn
        return replace(self, withdrawn=True) if fits else None

    def _moved(self, state: State, fits: bool) -> Trace | None:
        return Trace(self.charge, self.accountant, state) if fits else None
