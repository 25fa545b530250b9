"""Datasets and their limits: made, changed and found by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crowdtally.budget.accountant import Loss, SequentialComposition
from crowdtally.budget.balance import Balance
from crowdtally.budget.events import Created, LimitSet
from crowdtally.budget.names import dataset_name, normal
from crowdtally.errors import UsageError, did_you_mean
from crowdtally.values.epsilon import Delta, Epsilon
from crowdtally.values.rational import Number
from crowdtally.values.unit import PrivacyUnit

if TYPE_CHECKING:
    from crowdtally.budget.book import Book


def create(book: Book, dataset: str, unit: PrivacyUnit | None, limit: Loss | None) -> Balance:
    """Make a dataset, or give a limit to one that has none."""
    name = book.stored(dataset)
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


def known(book: Book, name: str) -> Balance:
    """Where the dataset of this name stands; refused where there is none."""
    found = book.balance(book.stored(dataset_name(name)))
    if found is None:
        hint = did_you_mean(name, book.datasets())
        raise UsageError(f"there is no dataset {name!r} in this ledger. {hint}")
    return found


def recorded(book: Book, dataset: str | None) -> set[str] | None:
    """The spellings that mean this dataset; where it is recorded just so, only that one."""
    if dataset is None:
        return None
    found = {balance.dataset for balance in book.spelled(normal(dataset))}
    return {dataset} if dataset in found else found


def limit_of(epsilon: Number | Epsilon | None, delta: Number | Delta | None) -> Loss | None:
    """The limit that two numbers state; None without them."""
    if epsilon is not None:
        # A limit on ε alone would let δ, and with it everything, be spent without end.
        return Loss.of(Epsilon.of(epsilon), Delta.of(0 if delta is None else delta))
    if delta is not None:
        raise UsageError("a limit on delta needs one on epsilon too: give both.")
    return None
