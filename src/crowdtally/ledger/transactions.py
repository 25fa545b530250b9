"""What one transaction does: create, limit, reserve, draw, publish, void, withdraw."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from crowdtally.core.numbers import Number
from crowdtally.core.privacy import Delta, Epsilon, PrivacyUnit, Rho
from crowdtally.errors import UsageError, did_you_mean
from crowdtally.ledger.accountants import SequentialComposition, accountant, chosen
from crowdtally.ledger.amounts import Loss
from crowdtally.ledger.balance import Balance
from crowdtally.ledger.book import require_same, require_undrawn
from crowdtally.ledger.charge import Asked, Charge
from crowdtally.ledger.errors import DrawnBeforeError, LedgerError, VoidedError
from crowdtally.ledger.events import (
    Created,
    Drawing,
    LimitSet,
    MarkedPublished,
    Reserved,
    Voided,
    Withdrawn,
)
from crowdtally.ledger.history import Charged, Reservation
from crowdtally.ledger.provenance import (
    StagedFolder,
    dataset_name,
    filed,
    hashed,
    require_no_overlap,
)

if TYPE_CHECKING:
    from crowdtally.ledger.book import Book


def create(
    book: Book, dataset: str, unit: PrivacyUnit | None, limits: Limits, kind: str | None = None
) -> Balance:
    """Make a dataset; ``kind`` is its accountant's, else the one that its limits need."""
    found = book.balance(dataset)
    if found is not None:
        raise UsageError(
            f"dataset {dataset!r} exists already. {found.describe()} To change its limit: "
            f"{found.how_to_limit(book.typed)}"
        )
    rule = chosen(kind, limits.total, limits.each)
    return book.append(dataset, Created(unit, rule, limits.total, limits.each)).balance


def set_limit(book: Book, name: str, change: Change, reason: str) -> Balance:
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
"""A limit that a person did not name."""


@dataclass(frozen=True)
class Limits:
    total: Loss | None = None
    each: Loss | None = None


Change: TypeAlias = Callable[[Limits], Limits]
"""What a person wants changed, of limits as they are."""


def limit_of(
    epsilon: Number | Epsilon | None, delta: Number | Delta | None, rho: Number | Rho | None = None
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
    delta: Number | Delta | None = None
    rho: Number | Rho | None = None

    @property
    def is_given(self) -> bool:
        """Whether any of it was typed; refuse δ alone."""
        given = self.epsilon != UNCHANGED or self.rho is not None
        if self.delta is not None and not given:
            raise UsageError("a limit on delta needs one on epsilon too: give both.")
        return given

    @property
    def by_epsilon(self) -> Number | Epsilon | None:
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


# What happens to a charge: checked, reserved, drawn, marked as published, voided, withdrawn.
#
# Each function works on the book of one transaction, so what it found still holds when it writes.


@dataclass(frozen=True)
class Debtor:
    """What is charged: a dataset, and what its records are read from."""

    dataset: str
    sources: Collection[str]
    chosen: bool
    """Whether a person chose the name; a default name is refused where another owns a source."""
    new: bool
    """Whether it may be made if there is none."""
    accountant: str = SequentialComposition.kind
    """The kind of accountant of a dataset that is made now."""


def standing(book: Book, debtor: Debtor) -> Balance:
    """Return the balance of a dataset that may be charged for these sources."""
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
        before = book.append(name, Created(unit, debtor.accountant, None)).balance
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
    """The hashes that are new to the dataset, and the other datasets that share a source.

    A default name is refused where there is such a dataset, or one named after a source.
    """
    hashes = set(map(hashed, debtor.sources))
    met = book.met(hashes)
    others = sorted((met.keys() | book.named_like(debtor.sources)) - {dataset})
    if not debtor.chosen:
        require_no_overlap(dataset, others)
    return hashes - met.get(dataset, set()), tuple(others)
