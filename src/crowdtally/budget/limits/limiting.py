"""Limits that an officer keeps in a file of their own (SQLite; on PostgreSQL roles do it).

Once a ledger has such a file, it is read inside every transaction that charges, and what it says
holds. Its hash is in the chain before the charge. A file that cannot be used is never "no limit".
Whoever can write the ledger's own file can rebuild the chain: this stops slips, not them.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from crowdtally.budget.errors import LedgerError, NotAllowedError
from crowdtally.budget.limits import kept_file
from crowdtally.budget.limits.limits_file import Allowance, OfficerFile, read_limits
from crowdtally.budget.loss import Loss
from crowdtally.budget.record.authors import this_author
from crowdtally.budget.record.balance import Balance
from crowdtally.budget.record.events import LimitSet, LimitsFile
from crowdtally.budget.record.names import WHOLE_LEDGER
from crowdtally.budget.wording import amount
from crowdtally.errors import UsageError

if TYPE_CHECKING:
    from crowdtally.budget.book import Book

_MAKING = "make a dataset"
_MOST_SHOWN = 10


def in_force(book: Book, balance: Balance) -> Balance:
    """The balance with the limits that hold now: those of the officer's file, if there is one."""
    file = _file(book)
    if file is None:
        return balance
    held = _with_limits(file, balance)
    if book.balance(balance.dataset) is None:
        require_officer(book, _MAKING)
    return held


def record(book: Book, balance: Balance) -> Balance:
    """The same, with an entry where the officer's file says something new."""
    file = _file(book)
    return balance if file is None else _record(book, file, balance)


def _record(book: Book, file: OfficerFile, balance: Balance) -> Balance:
    allowed = file.allowance(balance.dataset)
    if _with_limits(file, balance) == balance:
        return balance
    event = LimitSet(allowed.total, allowed.each, allowed.reason, file.sha256)
    return book.append(balance.dataset, event).balance


def require_creator(
    book: Book, dataset: str, total: Loss | None = None, each: Loss | None = None
) -> None:
    """Refuse to make a dataset that the officer's file does not list, or with other limits."""
    file = _file(book)
    if file is None:
        return
    allowed = file.allowance(dataset)
    require_officer(book, _MAKING)
    if total not in {None, allowed.total} or each not in {None, allowed.each}:
        single = "" if allowed.each is None else f", {amount(allowed.each)} for a single release"
        raise UsageError(
            f"the limits of dataset {dataset!r} are in {file.path}: {amount(allowed.total)} in all"
            f"{single}. Leave out --epsilon and the other limits; to change them, change the file."
        )


def allowance(book: Book, dataset: str) -> Allowance | None:
    """What the officer's file allows a dataset; ``None`` without a file."""
    file = _file(book)
    return None if file is None else file.allowance(dataset)


def require_no_file(book: Book) -> None:
    """Refuse to change a limit by a command where a file says what the limits are."""
    named = book.limits_file()
    if named is not None:
        raise NotAllowedError(
            f"the limits of this ledger are in {named.path}: change them there, if you keep that "
            "file, or ask whoever does. Nothing was changed."
        )


def require_officer(book: Book, what: str) -> None:
    """Refuse ``what`` to whoever cannot write the officer's file, if there is one."""
    named = book.limits_file()
    if named is not None and not kept_file.may_write(named.path):
        raise NotAllowedError(
            f"only whoever can write the limits file {named.path} may {what}, and this account, "
            f"{this_author().account}, cannot. Nothing was changed: ask whoever keeps it."
        )


def use_file(book: Book, path: str | os.PathLike[str], reason: str) -> OfficerFile:
    """Keep the limits in this file from now on; those of datasets that exist are recorded."""
    require_officer(book, "name another one")
    file = read_limits(kept_file.resolved(path))
    book.append(WHOLE_LEDGER, LimitsFile(file.path, reason))
    for balance in _balances(book):
        if file.lists(balance.dataset):
            _record(book, file, balance)
    return file


def notice(book: Book) -> str | None:
    """For a person: where the limits are kept, and what to know about it; ``None`` without one."""
    named = book.limits_file()
    if named is None:
        return None
    kept = f"The limits are in {named.path} (why: {named.reason}), which is read at every charge."
    balances = _balances(book)
    try:
        file = read_limits(named.path)
        listed = [balance for balance in balances if file.lists(balance.dataset)]
        changed = [balance for balance in listed if _with_limits(file, balance) != balance]
    except (LedgerError, UsageError) as error:
        return f"{kept} Now it cannot be used: {error}"
    unlisted = [balance for balance in balances if not file.lists(balance.dataset)]
    if unlisted:
        kept += f" It does not list {_names(unlisted)}: nothing can be charged there."
    if changed:
        kept += (
            f" It was changed: what it says of {_names(changed)} holds already, and is recorded "
            "with the next charge."
        )
    return kept


def _file(book: Book) -> OfficerFile | None:
    named = book.limits_file()
    return None if named is None else read_limits(named.path)


def _with_limits(file: OfficerFile, balance: Balance) -> Balance:
    allowed = file.allowance(balance.dataset)
    balance.require_limits(allowed.total, allowed.each)
    return replace(balance, limit=allowed.total, each=allowed.each, limits_file=file.sha256)


def _balances(book: Book) -> list[Balance]:
    return [found for found in map(book.balance, book.datasets()) if found is not None]


def _names(balances: list[Balance]) -> str:
    names = [balance.dataset for balance in balances]
    shown = ", ".join(map(repr, names[:_MOST_SHOWN]))
    return f"{shown} and {len(names) - _MOST_SHOWN} more" if len(names) > _MOST_SHOWN else shown
