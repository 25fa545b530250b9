"""Limits that an officer keeps in a file of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crowdtally.budget.balance import Balance

if TYPE_CHECKING:
    from crowdtally.budget.book import Book


def in_force(book: Book, balance: Balance) -> Balance:
    """The balance with the limits that hold now: those of the officer's file, if there is one."""
    return balance


def record(book: Book, balance: Balance) -> Balance:
    """The same, with an entry where the officer's file says something new."""
    return balance


def require_officer(book: Book, what: str) -> None:
    """Refuse ``what`` to whoever cannot write the officer's file, if there is one."""
