"""The way into a ledger's book: every transaction on a record that was looked at."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from crowdtally.budget.audit import require_recent

if TYPE_CHECKING:
    from crowdtally.budget.book import Book
    from crowdtally.budget.database.page import Page
    from crowdtally.budget.database.store import Store

T = TypeVar("T")


class Access:
    """Reads and writes a store as the book it holds."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._looked_at = False

    def read(self, work: Callable[[Book], T], *, recent: bool = False) -> T:
        """What ``work`` finds in the book as it is.

        Args:
            work: what to do with the book.
            recent: whether to refuse a record whose last entries do not hold.
        """
        return self._store.read(lambda page: work(self._book(page, recent=recent)))

    def write(self, work: Callable[[Book], T]) -> T:
        """Let ``work`` add to the book, in one transaction that is on disk when this returns."""
        if not self._looked_at:  # before the transaction, so that nobody waits for it
            self._store.read(self._look_at)
        return self._store.write(lambda page: work(self._book(page)))

    def _look_at(self, page: Page) -> None:
        """Refuse a record whose last entries do not hold; looked at once."""
        if not self._looked_at:
            require_recent(page)
            self._looked_at = True

    def _book(self, page: Page, *, recent: bool = False) -> Book:
        from crowdtally.budget.book import Book

        if recent:
            self._look_at(page)
        return Book(page)
