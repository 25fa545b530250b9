"""The way into a ledger's book: every transaction on a record that was looked at."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from crowdtally.budget.audit import require_recent
from crowdtally.budget.record.names import Spellings, old_spellings

if TYPE_CHECKING:
    from crowdtally.budget.book import Book
    from crowdtally.budget.database.store import Store

T = TypeVar("T")


class Access:
    """Reads and writes a store as the book it holds."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._looked_at = False
        self._old: Spellings | None = None

    def read(self, work: Callable[[Book], T]) -> T:
        """What ``work`` finds in the book as it is."""
        from crowdtally.budget.book import Book

        old = self._spellings()
        return self._store.read(lambda page: work(Book(page, old)))

    def write(self, work: Callable[[Book], T]) -> T:
        """Let ``work`` add to the book, in one transaction that is on disk when this returns."""
        from crowdtally.budget.book import Book

        self.require_recent()
        old = self._spellings()
        return self._store.write(lambda page: work(Book(page, old)))

    def require_recent(self) -> None:
        """Refuse a record whose last entries do not hold; looked at once."""
        if not self._looked_at:
            self._store.read(require_recent)
            self._looked_at = True

    def _spellings(self) -> Spellings:
        # Read once: no version that normalises names adds to them.
        if self._old is None:
            self._old = self._store.read(lambda page: old_spellings(page.datasets()))
        return self._old
