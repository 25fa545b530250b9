"""Datasets and their limits: made, changed and found by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from crowdtally.budget.loss import Loss
from crowdtally.budget.record.accountant import chosen
from crowdtally.budget.record.balance import Balance
from crowdtally.budget.record.events import Created, LimitSet
from crowdtally.budget.record.names import dataset_name
from crowdtally.core.numbers import Number
from crowdtally.core.privacy import Delta, Epsilon, PrivacyUnit, Rho
from crowdtally.errors import UsageError, did_you_mean

if TYPE_CHECKING:
    from crowdtally.budget.book import Book


def create(
    book: Book, dataset: str, unit: PrivacyUnit | None, limits: Limits, kind: str | None = None
) -> Balance:
    """Make a dataset; ``kind`` is its accountant's, else the one that its limits need."""
    name = dataset
    found = book.balance(name)
    if found is not None:
        raise UsageError(
            f"dataset {name!r} exists already. {found.describe()} To change its limit: "
            f"{found.how_to_limit(book.typed)}"
        )
    rule = chosen(kind, limits.total, limits.each)
    return book.append(name, Created(unit, rule, limits.total, limits.each)).balance


def set_limit(book: Book, name: str, change: Change, reason: str) -> Balance:
    """Change what a dataset may spend, on the record."""
    found = known(book, name)
    limits = change(Limits(found.limit, found.each))
    return book.append(found.dataset, LimitSet(limits.total, limits.each, reason)).balance


def known(book: Book, name: str) -> Balance:
    """Where the dataset of this name stands; refused where there is none."""
    found = book.balance(dataset_name(name))
    if found is None:
        hint = did_you_mean(name, book.datasets())
        raise UsageError(f"there is no dataset {name!r} in this ledger. {hint}")
    return found


def unknown(book: Book, name: str) -> UsageError:
    """Nothing is charged to a dataset that nobody made: a slip would be a budget of its own."""
    return UsageError(
        f"there is no dataset {name!r} in this ledger, so nothing was charged. "
        f"{did_you_mean(name, book.datasets())} If a new one is meant, with a budget of its own: "
        "--new-dataset (in Python new_dataset=True), or first `crowdtally ledger create`."
    )


UNCHANGED = "unchanged"
"""Of a limit that a person did not name."""


@dataclass(frozen=True)
class Limits:
    """What may be spent on a dataset."""

    total: Loss | None = None
    """In all; ``None`` for no limit."""
    each: Loss | None = None
    """By a single release; ``None`` for no limit but the total."""


Change: TypeAlias = Callable[[Limits], Limits]
"""What a person wants changed, of limits as they are."""


def limit_of(
    epsilon: Number | Epsilon | None,
    delta: Number | Delta | None,
    rho: Number | Rho | None = None,
) -> Loss | None:
    """The limit that numbers state, ε or ρ, each perhaps with δ; None without them."""
    if epsilon is not None and rho is not None:
        raise UsageError(
            "a limit is one of epsilon, or one of rho: received both. Give --epsilon E --delta D "
            "for an (epsilon, delta) budget, or --rho R."
        )
    if rho is not None:
        return Loss.of(None, Delta.of(0 if delta is None else delta), Rho.of(rho))
    if epsilon is not None:
        # A limit on ε alone would let δ, and with it everything, be spent without end.
        return Loss.of(Epsilon.of(epsilon), Delta.of(0 if delta is None else delta))
    if delta is not None:
        raise UsageError("a limit on delta needs one on epsilon too: give both.")
    return None


def each_of(
    epsilon: Number | Epsilon | None,
    delta: Number | Delta | None,
    total: Loss | None,
    rho: Number | Rho | None = None,
) -> Loss | None:
    """The limit on single releases; without a δ of its own it has that of the total."""
    if epsilon is not None or rho is not None:
        rest = delta if delta is not None else total.delta if total else 0
        return limit_of(epsilon, rest, rho)
    if delta is not None:
        raise UsageError("a limit on the delta of single releases needs one on epsilon too.")
    return None


@dataclass(frozen=True)
class Typed:
    """A limit as a person typed it, or left it out."""

    epsilon: Number | Epsilon | None = UNCHANGED
    """Its ε; None lifts the limit."""
    delta: Number | Delta | None = None
    """Its δ."""
    rho: Number | Rho | None = None
    """Its ρ, in the place of ε."""

    @property
    def is_given(self) -> bool:
        """Whether there is anything of it; refused where δ stands alone."""
        given = self.epsilon != UNCHANGED or self.rho is not None
        if self.delta is not None and not given:
            raise UsageError("a limit on delta needs one on epsilon too: give both.")
        return given

    @property
    def by_epsilon(self) -> Number | Epsilon | None:
        """Its ε, None where it was left out."""
        return None if self.epsilon == UNCHANGED else self.epsilon


def change_of(total: Typed, each: Typed) -> Change:
    """What a person wants changed; refused, before anything is read, where it makes no sense."""
    named, single = total.is_given, each.is_given
    if not named and not single:
        raise UsageError(
            "say which limit to change: --epsilon E|none, --each E|none, or both; of a dataset "
            "that counts by zCDP also --rho R and --each-rho R."
        )
    wanted = limit_of(total.by_epsilon, total.delta, total.rho)
    if single:
        each_of(each.by_epsilon, each.delta, wanted, each.rho)

    def change(now: Limits) -> Limits:
        new = wanted if named else now.total
        most = each_of(each.by_epsilon, each.delta, new, each.rho) if single else now.each
        return Limits(new, most)

    return change
