"""The ledger open at its last page: read with checks, written at the end only.

Before anything is charged, the last entry of the ledger and the last entry of the dataset are
hashed again and compared with their neighbours. The running sum is part of the latter, so a sum
that was edited, or a dataset that was pointed at an earlier sum, is noticed by the next charge,
at a cost that does not grow with the ledger.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from datetime import UTC, datetime

from crowdtally.budget.database.page import Page
from crowdtally.budget.record.authors import this_author
from crowdtally.budget.record.balance import Balance, after
from crowdtally.budget.record.chain import (
    Entry,
    Head,
    Row,
    append,
    damaged,
    genesis,
    link,
    number_of,
    read,
)
from crowdtally.budget.record.events import AboutReservation, Event, Reserved
from crowdtally.budget.record.history import Charged, Record, follow, made
from crowdtally.budget.record.names import normal
from crowdtally.budget.record.sources import Sources, shelf
from crowdtally.errors import UsageError


class Book:
    """One transaction's checked view of the ledger."""

    def __init__(self, page: Page) -> None:
        self._page = page
        header = page.header()
        self._role = header.role
        self.typed = page.typed
        """How a command names this ledger."""
        self.id = header.id
        """The ledger's own random name."""
        self.head = header.head
        """The last entry."""
        self._checked: dict[int, Entry] = {}
        self._balances: dict[str, Balance] = {}
        self._require_head()

    def balance(self, dataset: str) -> Balance | None:
        """Where the dataset of this name stands; ``None`` if there is none."""
        if dataset in self._balances:
            return self._balances[dataset]
        said, found = self._page.last_of(dataset)
        if said != found:
            number = found if isinstance(found, int) else said if isinstance(said, int) else 0
            raise damaged(number, f"and the list of datasets disagree on {dataset!r}")
        if found is None:
            return None
        entry = self.entry(found)
        if entry.dataset != dataset:
            raise damaged(found, "was changed: it is about another dataset")
        self._balances[dataset] = entry.balance
        return entry.balance

    def append(self, dataset: str, event: Event) -> Entry:
        """Add an event; refused, with nothing written, where it may not happen."""
        before = self.balance(dataset)
        balance = after(before, dataset, event)
        time = datetime.now(UTC).isoformat(timespec="seconds")
        by = this_author(self._role)
        row = append(self.head, time, balance, event, by)
        self._page.append(row, first=before is None)
        self.head = Head(row.number, row.hash)
        entry = Entry(row.number, time, dataset, event, balance, row.hash, by)
        self._checked[row.number] = entry
        self._balances[dataset] = balance
        return entry

    def reservation(self, reservation_id: str) -> Charged:
        """A reservation, and what became of it."""
        number = number_of(reservation_id)
        entry = self.entry(number) if number <= self.head.number else None
        if entry is None or entry.id != reservation_id or not isinstance(entry.event, Reserved):
            raise UsageError(
                f"there is no reservation {reservation_id!r} in this ledger. "
                "`crowdtally ledger show` lists them."
            )
        charged = made(entry, entry.event)
        for row in self._page.about(number):
            found = self.entry(row.number)
            event = found.event
            if not isinstance(event, AboutReservation) or event.reservation != entry.id:
                raise damaged(row.number, "was changed: it is about another reservation")
            charged = follow(charged, found, event)
        return charged

    def request(self, request_id: str) -> Charged | None:
        """The reservation that was made under this request id; ``None`` if there is none."""
        row = self._page.of_request(request_id)
        return None if row is None else self.reservation(self.entry(row.number).id)

    def met(self, hashes: Collection[str]) -> dict[str, set[str]]:
        """By dataset, those of these hashes of sources that it was charged for before.

        What is read here can refuse a charge and never allow one, so that comparing it with the
        chain is left to ``verify``.
        """
        found: dict[str, set[str]] = defaultdict(set)
        for row in self._page.about(*sorted({shelf(digest) for digest in hashes})):
            event = read(row, None).event
            if isinstance(event, Sources):
                found[row.dataset].update(set(event.hashes).intersection(hashes))
        return {dataset: known for dataset, known in found.items() if known}

    def named_like(self, sources: Iterable[str]) -> set[str]:
        """The datasets that have a source's own name."""
        names = {normal(source) for source in sources}
        # What is not printable names no dataset, and may not even be text to a database.
        return self._page.named(sorted(name for name in names if name.isprintable()))

    def entry(self, number: int) -> Entry:
        """An entry, checked against the one before it and the one after."""
        if number in self._checked:
            return self._checked[number]
        return self._checked_entry(number, self._page.rows((number - 1, number, number + 1)))

    def _checked_entry(self, number: int, rows: dict[int, Row]) -> Entry:
        if number not in rows:
            raise damaged(number, "is missing")
        self._require_next(rows, number)
        self._checked[number] = read(rows[number], self._hash_before(rows, number))
        return self._checked[number]

    def record(self) -> Record:
        """All there is; to be read at leisure, when nobody waits for this transaction."""
        return Record(self.id, self.head, tuple(self._page.rows_after(0)))

    def datasets(self) -> list[str]:
        """The names of all datasets, sorted."""
        return sorted(self._page.datasets())

    def _hash_before(self, rows: dict[int, Row], number: int) -> str:
        if number == 1:
            return genesis(self.id)
        if number - 1 not in rows:
            raise damaged(number - 1, "is missing")
        return rows[number - 1].hash

    def _require_next(self, rows: dict[int, Row], number: int) -> None:
        if number >= self.head.number:
            return
        if number + 1 not in rows:
            raise damaged(number + 1, "is missing")
        if link(rows[number].hash, rows[number + 1].body) != rows[number + 1].hash:
            raise damaged(number + 1, "does not follow from the entry before it")

    def _require_head(self) -> None:
        head = self.head
        rows = {row.number: row for row in self._page.rows_after(max(0, head.number - 2), 4)}
        if any(number > head.number for number in rows):
            raise damaged(head.number + 1, "was added past the recorded end")
        if head.number and head.number not in rows:
            raise damaged(head.number, "is missing: the ledger was cut at its end")
        found = self._checked_entry(head.number, rows).hash if head.number else genesis(self.id)
        if found != head.hash:
            raise damaged(head.number, "is not the one that the ledger records as its last")
