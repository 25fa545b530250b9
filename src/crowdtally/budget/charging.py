"""What happens to a charge: checked, reserved, drawn, marked as published, voided, withdrawn.

Each function works on the book of one transaction, so what it found still holds when it writes.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from crowdtally.budget.datasets import unknown
from crowdtally.budget.errors import DrawnBeforeError, LedgerError, VoidedError
from crowdtally.budget.record.accountant import SequentialComposition, accountant
from crowdtally.budget.record.balance import Balance
from crowdtally.budget.record.charge import Asked, Charge
from crowdtally.budget.record.events import (
    Created,
    Drawing,
    MarkedPublished,
    Reserved,
    Voided,
    Withdrawn,
)
from crowdtally.budget.record.history import Charged, Reservation
from crowdtally.budget.record.sources import filed, hashed, require_no_overlap
from crowdtally.budget.record.staged import StagedFolder
from crowdtally.budget.retrying import require_same, require_undrawn
from crowdtally.core.privacy import PrivacyUnit
from crowdtally.errors import UsageError

if TYPE_CHECKING:
    from crowdtally.budget.book import Book


@dataclass(frozen=True)
class Debtor:
    """What is charged: a dataset, and what its records are read from."""

    dataset: str
    """Its name, normalised."""
    sources: Collection[str]
    """Resolved names of the records' sources."""
    chosen: bool
    """Whether a person chose the name; a default name is refused where another owns a source."""
    new: bool
    """Whether it may be made if there is none."""
    accountant: str = SequentialComposition.kind
    """The kind of accountant with which it is made then."""


def standing(book: Book, debtor: Debtor) -> Balance:
    """Where a dataset stands that may be charged for these sources."""
    name = debtor.dataset
    _sources(book, name, debtor)
    found = book.balance(name)
    if found is None and not debtor.new:
        raise unknown(book, name)
    return found or Balance(name, accountant=debtor.accountant)


def reserve(
    book: Book, debtor: Debtor, unit: PrivacyUnit, charge: Charge, asked: Asked
) -> Reservation:
    """Charge a dataset; under a request id that is reserved already, take that charge up."""
    name = debtor.dataset
    event = Reserved(unit, charge, asked)
    if asked.request_id is not None:
        # Before all that could refuse a charge: this one may be made already.
        earlier = book.request(asked.request_id)
        if earlier is not None:
            return _taken_up(book, earlier, name, event)
    hashes, others = _sources(book, name, debtor)
    before = book.balance(name)
    if before is None:
        if not debtor.new:
            raise unknown(book, name)
        created = Created(unit, debtor.accountant, None)
        before = book.append(name, created).balance
    for met in filed(hashes):
        book.append(name, met)
    entry = book.append(name, event)
    return Reservation(entry.id, name, charge, before, entry.balance, others, typed=book.typed)


def _taken_up(book: Book, earlier: Charged, dataset: str, event: Reserved) -> Reservation:
    """The charge of an earlier run of the same request, of which nothing was drawn."""
    require_same(earlier, dataset, event)
    require_undrawn(earlier)
    after = book.balance(earlier.dataset)  # as it is now: others may have charged since
    assert after is not None
    rule = accountant(after.accountant)
    before = replace(after, spent=rule.take_back(after.spent, rule.cost(earlier.charge)))
    return Reservation(
        earlier.id, dataset, earlier.charge, before, after, taken_up=True, typed=book.typed
    )


def start_drawing(book: Book, reservation_id: str, staged: StagedFolder | None) -> None:
    """Record that noise may be drawn from here on: once, and only if nothing was."""
    found = book.reservation(reservation_id)
    if found.state == "voided":
        raise _voided(found)
    if found.state != "reserved":
        raise _drawn_before(found)
    book.append(found.dataset, Drawing(reservation_id, staged))


def mark_published(book: Book, event: MarkedPublished) -> None:
    """Record that a release is written: once, and only if its noise was being drawn."""
    found = book.reservation(event.reservation)
    if found.state == "voided":
        raise _voided(found)
    if found.state != "drawing":
        early = found.state == "reserved"
        raise LedgerError(
            f"reservation {event.reservation} is {found.state}, and cannot be marked as published: "
            f"{'start_drawing comes first' if early else 'one charge pays for one release'}. "
            "Nothing was changed."
        )
    book.append(found.dataset, event)


def void(book: Book, reservation_id: str, reason: str, *, delete_staged: bool) -> Balance:
    """Give a charge back, unless its release was published or may still be."""
    found = book.reservation(reservation_id)
    if found.state not in {"reserved", "drawing"}:
        raise UsageError(
            f"reservation {reservation_id} is {found.state} and cannot be voided: only a charge "
            "whose release was not published, and that was not voided before, can be."
        )
    # Looked for while this transaction holds the ledger: the run cannot mark meanwhile.
    if found.staged is not None:
        if delete_staged:
            found.staged.delete()
        found.staged.require_gone(reservation_id)
    balance = book.balance(found.dataset)
    assert balance is not None
    given_back = accountant(balance.accountant).cost(found.charge)
    return book.append(found.dataset, Voided(reservation_id, reason, given_back)).balance


def withdraw(book: Book, reservation_id: str, reason: str) -> Charged:
    """Call a published release back; the charge stays. Once: what was said first stands."""
    found = book.reservation(reservation_id)
    if found.state != "published":
        raise UsageError(
            f"the release of reservation {reservation_id} is {found.state}, and only what was "
            "published can be withdrawn. Nothing was changed."
        )
    if found.withdrawn is None:
        book.append(found.dataset, Withdrawn(reservation_id, reason))
    return book.reservation(reservation_id)


def _drawn_before(found: Charged) -> DrawnBeforeError:
    return DrawnBeforeError(
        f"noise was drawn, or is being drawn, for reservation {found.id} already "
        f"(it is {found.state}). One charge pays for one draw: another one needs a new charge."
    )


def _voided(found: Charged) -> VoidedError:
    return VoidedError(
        f"reservation {found.id} was voided while its release was being made, "
        "and its charge was given back: the release must not be published."
    )


def _sources(book: Book, dataset: str, debtor: Debtor) -> tuple[set[str], tuple[str, ...]]:
    """Hashes of the sources that are new to the dataset, and who else was charged for any.

    A default name is refused where another dataset was charged for a source or is named after one.
    """
    hashes = set(map(hashed, debtor.sources))
    met = book.met(hashes)
    others = sorted((met.keys() | book.named_like(debtor.sources)) - {dataset})
    if not debtor.chosen:
        require_no_overlap(dataset, others)
    return hashes - met.get(dataset, set()), tuple(others)
