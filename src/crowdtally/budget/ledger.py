"""The ledger: nothing is released that was not first charged, durably.

``reserve`` before drawing noise; ``mark_published`` when the release is written and before anybody
can find it. Nothing in this module gives a charge back by itself; ``void`` is a person's statement
and stays on the record.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, TypeVar

from crowdtally.budget.accountant import Loss, SequentialComposition
from crowdtally.budget.audit import Verification, require_recent, verify
from crowdtally.budget.balance import Balance
from crowdtally.budget.canonical import Json
from crowdtally.budget.chain import Entry, Head
from crowdtally.budget.errors import DamagedLedgerError, LedgerError, VoidedError
from crowdtally.budget.events import (
    Charge,
    Created,
    LimitSet,
    MarkedPublished,
    Reserved,
    Voided,
    checked_sha256,
)
from crowdtally.budget.fields import words
from crowdtally.budget.history import Charged, Reservation, charged, export
from crowdtally.budget.names import Spellings, dataset_name, normal, old_spellings
from crowdtally.budget.places import place
from crowdtally.budget.sources import distinct, filed, hashed, require_no_overlap
from crowdtally.budget.staged import StagedFolder
from crowdtally.errors import UsageError, did_you_mean
from crowdtally.values.epsilon import Delta, Epsilon
from crowdtally.values.rational import Number
from crowdtally.values.unit import PrivacyUnit

if TYPE_CHECKING:
    from crowdtally.budget.book import Book
    from crowdtally.budget.store import Store

T = TypeVar("T")


class Ledger:
    """Budgets of datasets, and the record of what was spent on them."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._looked_at = False
        self._old: Spellings | None = None

    @classmethod
    def open(cls, location: str | os.PathLike[str] | None = None, *, create: bool = True) -> Ledger:
        """The ledger at a path or PostgreSQL URL.

        Args:
            location: ``None`` means $CROWDTALLY_LEDGER, else a file in the per-user data folder.
            create: Whether to make one if there is none; otherwise ``MissingLedgerError``.
        """
        from crowdtally.budget.store import Store  # SQLAlchemy: only once a ledger is opened

        store = Store(place(location), create=create)
        store.read(lambda page: page.header())
        return cls(store)

    def close(self) -> None:
        """Let go of a server's connection; also happens by itself, and at the end of a ``with``."""
        self._store.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()  # and nothing more: an exception gives no charge back

    def __repr__(self) -> str:
        return f"<Ledger {self.location}>"

    @property
    def location(self) -> str:
        """Where it is, without a password."""
        return str(self._store.place)

    @property
    def created(self) -> bool:
        """Whether opening it made it."""
        return self._store.created

    def create(
        self,
        name: str,
        unit: PrivacyUnit | None = None,
        *,
        epsilon: Number | Epsilon | None = None,
        delta: Number | Delta | None = None,
    ) -> Balance:
        """Make a dataset, or give a limit to one that has none.

        Args:
            name: Its name.
            unit: What its epsilons protect; ``None`` lets the first charge say so.
            epsilon: The total that may be spent; ``None`` for no limit.
            delta: The total δ that may be spent; with an ``epsilon``, ``None`` means 0.
        """
        wanted, limit = dataset_name(name), _limit(epsilon, delta)

        def work(book: Book) -> Balance:
            name = book.stored(wanted)
            found = book.balance(name)
            if found is None:
                event = Created(unit, SequentialComposition.kind, limit)
                return book.append(name, event).balance
            if unit is not None:
                found.require_unit(unit)
            if limit is None or found.limit is not None:
                raise UsageError(
                    f"dataset {name!r} exists already. {found.describe()} To change its "
                    "limit: crowdtally ledger limit."
                )
            return book.append(name, LimitSet(limit)).balance

        return self._write(work)

    def set_limit(
        self,
        name: str,
        *,
        epsilon: Number | Epsilon | None,
        delta: Number | Delta | None = None,
    ) -> Balance:
        """Change the limit of a dataset, on the record; ``epsilon=None`` lifts it."""
        limit = _limit(epsilon, delta)

        def work(book: Book) -> Balance:
            return book.append(_known(book, name).dataset, LimitSet(limit)).balance

        return self._write(work)

    def check(
        self,
        dataset: str,
        unit: PrivacyUnit,
        epsilon: Number | Epsilon,
        delta: Number | Delta = 0,
        *,
        sources: Sequence[str] = (),
        chosen: bool = True,
    ) -> Balance:
        """Where the dataset stands, if the request would fit; else ``OverBudgetError``.

        Nothing is changed or promised: only ``reserve`` charges, and checks again.

        Args:
            dataset: The name to charge to.
            unit: What ε protects.
            epsilon: The ε of the request.
            delta: Its δ.
            sources: Resolved names of the records' sources, one for each file or database table.
            chosen: Whether a person chose the dataset's name. A default name is refused where a
                source belongs to another dataset already.
        """
        wanted, requested = dataset_name(dataset), Loss.of(Epsilon.of(epsilon), Delta.of(delta))
        records = distinct(sources)

        def work(book: Book) -> Balance:
            name = book.stored(wanted)
            _new_sources(book, name, records, chosen=chosen)
            return book.balance(name) or Balance(name)

        self._require_recent()
        balance = self._read(work)
        balance.require_unit(unit)
        balance.require(requested)
        return balance

    def reserve(
        self,
        dataset: str,
        unit: PrivacyUnit,
        charge: Charge,
        *,
        staged: str | os.PathLike[str] | None = None,
        sources: Sequence[str] = (),
        chosen: bool = True,
    ) -> Reservation:
        """Check and charge in one transaction, on disk when this returns.

        The first use of a name makes a dataset without a limit. Once this returned, no exception,
        here or elsewhere, gives the charge back.

        Args:
            dataset: The name to charge to.
            unit: What ε protects.
            charge: What is going to be done.
            staged: The folder, existing already, in which the release is being written; ``void``
                refuses while it exists.
            sources: As for ``check``; hashes of those that are new to the dataset are recorded.
            chosen: As for ``check``.
        """
        wanted, records = dataset_name(dataset), distinct(sources)
        folder = None if staged is None else StagedFolder.of(staged)

        def work(book: Book) -> Reservation:
            name = book.stored(wanted)
            hashes = _new_sources(book, name, records, chosen=chosen)
            before = book.balance(name)
            if before is None:
                event = Created(unit, SequentialComposition.kind, None)
                before = book.append(name, event).balance
            for met in filed(hashes):
                book.append(name, met)
            entry = book.append(name, Reserved(unit, charge, folder))
            return Reservation(entry.id, name, charge, before, entry.balance)

        return self._write(work)

    def mark_published(self, reservation_id: str, sha256: str) -> None:
        """Record that the release is written, before it gets its name; once, and only if reserved.

        Args:
            reservation_id: Its reservation.
            sha256: SHA-256 of its ``release.json``, in hexadecimal.
        """
        event = MarkedPublished(reservation_id, checked_sha256(sha256))

        def work(book: Book) -> None:
            entry, _, state = book.reservation(reservation_id)
            if state == "voided":
                raise VoidedError(
                    f"reservation {reservation_id} was voided while its release was being made, "
                    "and its charge was given back: the release must not be published."
                )
            if state != "reserved":
                raise LedgerError(
                    f"reservation {reservation_id} is marked as {state} already, and one charge "
                    "pays for one release. Nothing was changed."
                )
            book.append(entry.dataset, event)

        self._write(work)

    def void(self, reservation_id: str, reason: str, *, delete_staged: bool = False) -> Balance:
        """Give a charge back on the word of a person who is certain that nothing left the machine.

        The statement and its reason stay on the record. Refused while the folder in which the
        release was being written exists, or cannot be looked for.

        Args:
            reservation_id: Which charge.
            reason: Why, in the person's words.
            delete_staged: Whether to delete that folder first.
        """
        words(reason, "the reason of a void")
        found = self.verify()  # the one thing that lowers a sum: not on a record in doubt
        if not found.ok:
            raise DamagedLedgerError(found.describe())

        def work(book: Book) -> Balance:
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

        return self._write(work)

    def balance(self, dataset: str) -> Balance:
        """Where a dataset stands."""
        return self._read(lambda book: _known(book, dataset))

    def datasets(self) -> list[Balance]:
        """Where each dataset stands, by name."""
        return self._read(
            lambda book: [found for found in map(book.balance, book.datasets()) if found]
        )

    def names(self) -> list[str]:
        """The names of all datasets, sorted."""
        return self._read(lambda book: book.datasets())

    def entries(self, dataset: str | None = None) -> list[Entry]:
        """The record, in order; of one dataset, or of all."""
        record, names = self._read(lambda book: (book.record(), _recorded(book, dataset)))
        return record.entries(names)

    def charges(self, dataset: str | None = None) -> list[Charged]:
        """Every reservation and what became of it, in order."""
        return charged(self.entries(dataset))

    def charge_of_release(self, release_id: str) -> Charged | None:
        """The charge that a release says it was made for; ``None`` if this ledger has none."""
        found = [charged for charged in self.charges() if charged.charge.release_id == release_id]
        # Ids are random; where a caller used one again, the charge that was published counts.
        return max(found, key=lambda charged: charged.state == "published", default=None)

    def head(self) -> Head:
        """The number and hash of the last entry, to keep elsewhere."""
        return self._read(lambda book: book.head)

    def verify(self, anchor: Head | None = None) -> Verification:
        """Read the whole record again and say what does not hold.

        Args:
            anchor: A head that was kept elsewhere; shows whether this is an older copy.
        """
        return verify(self._store, anchor)

    def export(self) -> dict[str, Json]:
        """The whole record as JSON-able data that another accountant can re-check."""
        return export(self._read(lambda book: book.record()))

    def _read(self, work: Callable[[Book], T]) -> T:
        from crowdtally.budget.book import Book

        old = self._spellings()
        return self._store.read(lambda page: work(Book(page, old)))

    def _write(self, work: Callable[[Book], T]) -> T:
        from crowdtally.budget.book import Book

        self._require_recent()
        old = self._spellings()
        return self._store.write(lambda page: work(Book(page, old)))

    def _spellings(self) -> Spellings:
        # Read once: no version that normalises names adds to them.
        if self._old is None:
            self._old = self._store.read(lambda page: old_spellings(page.datasets()))
        return self._old

    def _require_recent(self) -> None:
        if not self._looked_at:
            self._store.read(require_recent)
            self._looked_at = True


def _known(book: Book, name: str) -> Balance:
    found = book.balance(book.stored(dataset_name(name)))
    if found is None:
        hint = did_you_mean(name, book.datasets())
        raise UsageError(f"there is no dataset {name!r} in this ledger. {hint}")
    return found


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


def _recorded(book: Book, dataset: str | None) -> set[str] | None:
    """The spellings that mean this dataset; where it is recorded just so, only that one."""
    if dataset is None:
        return None
    found = {balance.dataset for balance in book.spelled(normal(dataset))}
    return {dataset} if dataset in found else found


def _limit(epsilon: Number | Epsilon | None, delta: Number | Delta | None) -> Loss | None:
    if epsilon is not None:
        # A limit on ε alone would let δ, and with it everything, be spent without end.
        return Loss.of(Epsilon.of(epsilon), Delta.of(0 if delta is None else delta))
    if delta is not None:
        raise UsageError("a limit on delta needs one on epsilon too: give both.")
    return None
