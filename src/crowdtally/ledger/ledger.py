"""The ledger: nothing is released that was not first charged, durably."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from crowdtally.core.numbers import Number
from crowdtally.core.privacy import Delta, Epsilon, PrivacyUnit, Rho
from crowdtally.errors import UsageError
from crowdtally.ledger import transactions
from crowdtally.ledger.accountants import needed
from crowdtally.ledger.balance import Balance
from crowdtally.ledger.book import Book
from crowdtally.ledger.chain import Entry, Head
from crowdtally.ledger.charge import Asked, Charge, Json, Part, checked_request_id, words
from crowdtally.ledger.database.location import place
from crowdtally.ledger.errors import DamagedLedgerError
from crowdtally.ledger.events import MarkedPublished, checked_sha256
from crowdtally.ledger.history import Charged, Reservation, charged, export
from crowdtally.ledger.provenance import StagedFolder, dataset_name, distinct, normal
from crowdtally.ledger.transactions import UNCHANGED, Debtor, Limits, Typed, each_of, limit_of
from crowdtally.ledger.verify import Verification, require_recent, verify

if TYPE_CHECKING:
    from crowdtally.ledger.database.store import Page, Store


T = TypeVar("T")


class Access:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._looked_at = False

    def read(self, work: Callable[[Book], T], *, recent: bool = False) -> T:
        """What ``work`` finds in the book; with ``recent`` its last entries must hold."""

        def looked(page: Page) -> T:
            if recent:
                self._look_at(page)
            return work(Book(page))

        return self._store.read(looked)

    def write(self, work: Callable[[Book], T]) -> T:
        """Let ``work`` add to the book, in one transaction that is on disk when this returns."""
        if not self._looked_at:  # before the transaction, so that nobody waits for it
            self._store.read(self._look_at)
        return self._store.write(lambda page: work(Book(page)))

    def _look_at(self, page: Page) -> None:
        if not self._looked_at:
            require_recent(page)
            self._looked_at = True


# ``reserve``, then ``start_drawing`` before the first noise; ``mark_published`` when the release
# is written and before anybody can find it. Nothing in this module gives a charge back by itself;
# ``void`` is a person's statement and stays on the record.


class Ledger:
    """Budgets of datasets, and the record of what was spent on them."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._access = Access(store)

    @classmethod
    def open(
        cls, location: str | os.PathLike[str] | None = None, *, create: bool = False
    ) -> Ledger:
        """The ledger at a path or PostgreSQL URL.

        Args:
            location: ``None`` means $CROWDTALLY_LEDGER, else the one that the computer's own
                setting names (docs/ledger.md), else a file in the per-user data folder.
            create: Whether to make one if there is none; otherwise ``MissingLedgerError``, since a
                slip in its name would be a budget of its own.
        """
        # SQLAlchemy, only once a ledger is opened.
        from crowdtally.ledger.database.store import Store

        store = Store(place(location), create=create)
        store.read(lambda page: page.header())
        return cls(store)

    def close(self) -> None:
        """Close a server's connection; happens by itself too, and at the end of a ``with``."""
        self._store.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()  # and nothing more: an exception gives no charge back

    def __repr__(self) -> str:
        return f"<Ledger {self.location}>"

    @property
    def location(self) -> str:
        return str(self._store.place)

    @property
    def created(self) -> bool:
        return self._store.created

    def create(
        self,
        name: str,
        unit: PrivacyUnit | None = None,
        *,
        epsilon: Number | Epsilon | None = None,
        delta: Number | Delta | None = None,
        each_epsilon: Number | Epsilon | None = None,
        each_delta: Number | Delta | None = None,
        rho: Number | Rho | None = None,
        each_rho: Number | Rho | None = None,
        accountant: str | None = None,
    ) -> Balance:
        """Make a dataset.

        Args:
            name: Its name.
            unit: What its epsilons protect; ``None`` lets the first charge say so.
            epsilon: The total that may be spent; ``None`` for no limit.
            delta: The total δ that may be spent; with an ``epsilon``, ``None`` means 0.
            each_epsilon: What a single release may cost; ``None`` for no such limit.
            each_delta: Its δ; with an ``each_epsilon``, ``None`` means that of the total.
            rho: The total ρ that may be spent, in the place of ``epsilon``.
            each_rho: What a single release may cost, as ρ.
            accountant: ``sequential``: ε and δ add up. ``zcdp``: ρ adds up, and Gaussian noise can
                be charged. ``None`` means ``zcdp`` where a limit is one of ρ, else ``sequential``.
        """
        wanted, total = dataset_name(name), limit_of(epsilon, delta, rho)
        limits = Limits(total, each_of(each_epsilon, each_delta, total, each_rho))
        return self._access.write(
            lambda book: transactions.create(book, wanted, unit, limits, accountant)
        )

    def set_limit(
        self,
        name: str,
        *,
        reason: str,
        epsilon: Number | Epsilon | None = UNCHANGED,
        delta: Number | Delta | None = None,
        each_epsilon: Number | Epsilon | None = UNCHANGED,
        each_delta: Number | Delta | None = None,
        rho: Number | Rho | None = None,
        each_rho: Number | Rho | None = None,
    ) -> Balance:
        """Change what a dataset may spend, on the record.

        Args:
            name: The dataset.
            reason: Why, in a person's words; it is recorded.
            epsilon: The new total; ``None`` lifts it; not given, it stays.
            delta: The new total δ; with an ``epsilon``, ``None`` means 0.
            each_epsilon: What a single release may cost; ``None`` lifts it; not given, it stays.
            each_delta: Its δ; with an ``each_epsilon``, ``None`` means that of the total.
            rho: The new total as ρ, in the place of ``epsilon``; for a dataset that counts by zCDP.
            each_rho: What a single release may cost, as ρ.
        """
        words(reason, "the reason of a limit")
        total, each = Typed(epsilon, delta, rho), Typed(each_epsilon, each_delta, each_rho)
        change = transactions.change_of(total, each)
        return self._access.write(lambda book: transactions.set_limit(book, name, change, reason))

    def check(
        self,
        dataset: str,
        unit: PrivacyUnit,
        request: Charge | Number | Epsilon | None = None,
        delta: Number | Delta = 0,
        *,
        rho: Number | Rho | None = None,
        sources: Sequence[str] = (),
        chosen: bool = True,
        new_dataset: bool = False,
    ) -> Balance:
        """Where the dataset stands, if the request would fit; else ``OverBudgetError``.

        Nothing is changed or promised: only ``reserve`` charges, and checks again.

        Args:
            dataset: The name to charge to.
            unit: What ε protects.
            request: The charge that is to be made; or its ε alone, judged as one mechanism.
            delta: With an ε or a ρ alone, its δ.
            rho: In the place of a charge, its ρ.
            sources: Resolved names of the records' sources, one for each file or database table.
            chosen: Whether a person chose the dataset's name. A default name is refused where a
                source belongs to another dataset already.
            new_dataset: Whether it is meant that there may be no such dataset yet.
        """
        charge = request if isinstance(request, Charge) else _request(request, delta, rho)
        named, known = dataset_name(dataset), distinct(sources)
        debtor = Debtor(named, known, chosen, new_dataset, needed(charge))
        balance = self._access.read(lambda book: transactions.standing(book, debtor), recent=True)
        balance.require_unit(unit)
        balance.require(balance.cost(charge))
        return balance

    def reserve(
        self,
        dataset: str,
        unit: PrivacyUnit,
        charge: Charge,
        *,
        asked: Asked | None = None,
        sources: Sequence[str] = (),
        chosen: bool = True,
        new_dataset: bool = False,
    ) -> Reservation:
        """Check and charge in one transaction, on disk when this returns.

        Once this returned, no exception, here or elsewhere, gives the charge back. Under a request
        id whose charge was made before, and of which nothing was drawn, that charge is taken up.

        Args:
            dataset: The name to charge to.
            unit: What ε protects.
            charge: What is going to be done.
            asked: What for.
            sources: As for ``check``; hashes of those that are new to the dataset are recorded.
            chosen: As for ``check``.
            new_dataset: Whether to make the dataset, without a limit, if there is none.
        """
        named, known = dataset_name(dataset), distinct(sources)
        debtor = Debtor(named, known, chosen, new_dataset, needed(charge))
        wanted = _normalised(asked or Asked())
        return self._access.write(
            lambda book: transactions.reserve(book, debtor, unit, charge, wanted)
        )

    def start_drawing(
        self, reservation_id: str, *, staged: str | os.PathLike[str] | None = None
    ) -> None:
        """Record, before the first draw, that there may be one; once, and only if reserved.

        ``staged`` is the folder in which the release is being written: ``void`` refuses while it
        exists.
        """
        folder = None if staged is None else StagedFolder.of(staged)
        self._access.write(lambda book: transactions.start_drawing(book, reservation_id, folder))

    def mark_published(self, reservation_id: str, sha256: str) -> None:
        """Record that the release is written, before it gets its name; once, and only if drawn.

        ``sha256`` is that of its ``release.json``, in hexadecimal.
        """
        event = MarkedPublished(reservation_id, checked_sha256(sha256))
        self._access.write(lambda book: transactions.mark_published(book, event))

    def void(self, reservation_id: str, reason: str, *, delete_staged: bool = False) -> Balance:
        """Give a charge back on the word of a person who is certain that nothing left the machine.

        The statement and its reason stay on the record. Refused while the folder in which the
        release was being written exists, unless it is deleted first, or cannot be looked for.
        """
        words(reason, "the reason of a void")
        found = self.verify()  # the one thing that lowers a sum: not on a record in doubt
        if not found.ok:
            raise DamagedLedgerError(found.describe())
        return self._access.write(
            lambda book: transactions.void(
                book, reservation_id, reason, delete_staged=delete_staged
            )
        )

    def withdraw(self, release_id: str, reason: str) -> Charged:
        """Withdraw a published release, on the record; its charge stays.

        ``release_id`` is what its ``release.json`` says; ``reason`` is for its readers.
        """
        words(reason, "the reason of a withdrawal")
        found = self.charge_of_release(release_id)
        if found is None:
            raise UsageError(
                f"the ledger {self.location} knows no release {release_id[:80]!r}. Name the ledger "
                "that it was charged to, --ledger PATH|URL."
            )
        return self._access.write(lambda book: transactions.withdraw(book, found.id, reason))

    def request(self, request_id: str) -> Charged | None:
        """The charge that was made under a request id; ``None`` if there is none."""
        wanted = normal(checked_request_id(request_id))
        return self._access.read(lambda book: book.request(wanted))

    def balance(self, dataset: str) -> Balance:
        return self._access.read(lambda book: transactions.known(book, dataset))

    def datasets(self) -> list[Balance]:
        return self._access.read(
            lambda book: [found for found in map(book.balance, book.datasets()) if found]
        )

    def names(self) -> list[str]:
        return self._access.read(lambda book: book.datasets())

    def entries(self, dataset: str | None = None) -> list[Entry]:
        """The record, in order; of one dataset, or of all."""
        return list(self.each_entry(dataset))

    def each_entry(self, dataset: str | None = None) -> Iterator[Entry]:
        """The same as it is now, one entry at a time: nobody need hold all of a long record."""
        record = self._access.read(lambda book: book.record())
        return record.entries(None if dataset is None else {normal(dataset)})

    def charges(self, dataset: str | None = None) -> list[Charged]:
        return charged(self.each_entry(dataset))

    def charge_of_release(self, release_id: str) -> Charged | None:
        """The charge that a release says it was made for; ``None`` if this ledger has none."""
        found = [charged for charged in self.charges() if charged.charge.release_id == release_id]
        # Ids are random; where a caller used one again, the charge that was published counts.
        return max(found, key=lambda charged: charged.state == "published", default=None)

    def head(self) -> Head:
        """The number and hash of the last entry, to keep elsewhere."""
        return self._access.read(lambda book: book.head)

    def verify(self, anchor: Head | None = None) -> Verification:
        """Read the whole record again and say what does not hold.

        An ``anchor``, a head that was kept elsewhere, shows whether this is an older copy.
        """
        return verify(self._store, anchor)

    def export(self) -> dict[str, Json]:
        """The whole record as JSON-able data that another accountant can re-check."""
        return export(self._access.read(lambda book: book.record()))

    def closed(self) -> str | None:
        """Why nothing can be added to it (a backup, moved elsewhere); ``None`` if something can."""
        from crowdtally.ledger.transfer import standing

        store = self._store
        return store.inspect(lambda connection: standing(connection, store.place).closed)

    def backup(self, path: str | os.PathLike[str]) -> Head:
        """Copy the whole record into a new file that can be read and verified, not charged.

        The file must not exist; it appears when it is whole and verified. Returns its head.
        """
        from crowdtally.ledger.transfer import backup

        return backup(self._store, path)

    @classmethod
    def import_from(
        cls,
        source: str | os.PathLike[str],
        location: str | os.PathLike[str] | None = None,
        *,
        anchor: Head | None = None,
    ) -> Ledger:
        """Bring a backup, or a ledger in use, to another place; with every entry and hash.

        A ledger in use is closed first, for good: it goes on at the new place alone. After a
        crash the same call finishes what was begun.

        Args:
            source: The path or URL of the backup or ledger.
            location: Where to, as for ``open``; there may be no ledger, or one without entries.
            anchor: A head that was kept elsewhere; refuses an older copy.
        """
        from crowdtally.ledger.transfer import import_record

        import_record(place(source), place(location), anchor)
        return cls.open(location)

    def grants(self, role: str, *, officer: bool = False, run: bool = False) -> tuple[str, ...]:
        """The SQL that lets a role of the PostgreSQL server charge and read, and nothing more.

        An ``officer`` may also make datasets, change limits and void. With ``run``, which only
        officers may ask for, the SQL is carried out.
        """
        from crowdtally.ledger.database.grants import grants  # SQLAlchemy

        return grants(self._store, role, officer=officer, run=run)


def _request(
    epsilon: Number | Epsilon | None, delta: Number | Delta, rho: Number | Rho | None
) -> Charge:
    """A charge of one mechanism for each amount: all that is known before its parts are."""
    pure = None if epsilon is None else Epsilon.of(epsilon)
    noise, rest = None if rho is None else Rho.of(rho), Delta.of(delta)
    parts = [Part("pure", pure, "any")] if pure is not None else []
    parts += [Part("noise", None, "any", rho=noise)] if noise is not None else []
    return Charge("request", pure, tuple(parts), rest, rho=noise)


def _normalised(asked: Asked) -> Asked:
    """One request id, however its characters are composed."""
    key = asked.request_id
    return asked if key is None else replace(asked, request_id=normal(key))
