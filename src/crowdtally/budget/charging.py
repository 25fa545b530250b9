"""What happens to a charge: checked, reserved, marked as published, voided.

Each function works on the book of one transaction, so what it found still holds when it writes.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from crowdtally.budget.accountant import SequentialComposition
from crowdtally.budget.balance import Balance
from crowdtally.budget.errors import LedgerError, VoidedError
from crowdtally.budget.events import Charge, Created, MarkedPublished, Reserved, Voided
from crowdtally.budget.history import Reservation
from crowdtally.budget.sources import filed, hashed, require_no_overlap
from crowdtally.budget.staged import StagedFolder
from crowdtally.errors import UsageError
from crowdtally.values.unit import PrivacyUnit

if TYPE_CHECKING:
    from crowdtally.budget.book import Book


def standing(book: Book, dataset: str, sources: Collection[str], *, chosen: bool) -> Balance:
    """Where a dataset stands that may be charged for these sources."""
    name = book.stored(dataset)
    _new_sources(book, name, sources, chosen=chosen)
    return book.balance(name) or Balance(name)


def reserve(
    book: Book,
    dataset: str,
    unit: PrivacyUnit,
    charge: Charge,
    *,
    staged: StagedFolder | None,
    sources: Collection[str],
    chosen: bool,
) -> Reservation:
    """Charge a dataset, which its first charge makes."""
    name = book.stored(dataset)
    hashes = _new_sources(book, name, sources, chosen=chosen)
    before = book.balance(name)
    if before is None:
        event = Created(unit, SequentialComposition.kind, None)
        before = book.append(name, event).balance
    for met in filed(hashes):
        book.append(name, met)
    entry = book.append(name, Reserved(unit, charge, staged))
    return Reservation(entry.id, name, charge, before, entry.balance)


def mark_published(book: Book, event: MarkedPublished) -> None:
    """Record that a release is written: once, and only if it is reserved."""
    entry, _, state = book.reservation(event.reservation)
    if state == "voided":
        raise VoidedError(
            f"reservation {event.reservation} was voided while its release was being made, "
            "and its charge was given back: the release must not be published."
        )
    if state != "reserved":
        raise LedgerError(
            f"reservation {event.reservation} is marked as {state} already, and one charge "
            "pays for one release. Nothing was changed."
        )
    book.append(entry.dataset, event)


def void(book: Book, reservation_id: str, reason: str, *, delete_staged: bool) -> Balance:
    """Give a charge back, unless its release was published or may still be."""
    entry, event, state = book.reservation(reservation_id)
    if state != "reserved":
        raise UsageError(
            f"reservation {reservation_id} is {state} and cannot be voided: only a charge "
            "whose release was not published, and that was not voided before, can be."
        )
    # Looked for while this transaction holds the ledger: the run cannot mark meanwhile.
    if event.staged is not None:
        if delete_staged:
            event.staged.delete()
        event.staged.require_gone(reservation_id)
    given_back = event.charge.loss
    return book.append(entry.dataset, Voided(reservation_id, reason, given_back)).balance


def _new_sources(book: Book, dataset: str, sources: Collection[str], *, chosen: bool) -> set[str]:
    """Hashes of the sources that are new to the dataset.

    A default name is refused where another dataset was charged for a source or is named after one.
    """
    hashes = set(map(hashed, sources))
    met = book.met(hashes)
    if not chosen:
        others = (met.keys() | book.named_like(sources)) - {dataset}
        require_no_overlap(dataset, sorted(others))
    return hashes - met.get(dataset, set())
