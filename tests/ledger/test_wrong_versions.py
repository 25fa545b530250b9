"""The tests tested: each property holds, and fails for the mistake that it guards against."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from crowdtally.errors import BudgetError, UsageError
from crowdtally.ledger import (
    Asked,
    Balance,
    Charged,
    DamagedLedgerError,
    DrawnBeforeError,
    Event,
    Ledger,
    LedgerError,
    Loss,
    OverBudgetError,
    Reservation,
    SequentialComposition,
    TooMuchAtOnceError,
    Withdrawn,
    balance,
    book,
    chain,
    transactions,
)
from crowdtally.ledger.database import store
from kit.ledgers import ROW, SHA, USER, charge, publish
from ledger.test_verify import filled, rewrite

Patch = pytest.MonkeyPatch


# Properties ------------------------------------------------------------------------------------
def sums_are_exact(path: Path) -> None:
    ledger = Ledger.open(path, create=True)
    ledger.create("d", USER, epsilon=1)
    for _ in range(10):
        ledger.reserve("d", USER, charge(0.1))
    with pytest.raises(OverBudgetError):
        ledger.reserve("d", USER, charge("1e-18"))
    ledger.create("e", USER, epsilon="0.3")
    for _ in range(3):
        ledger.reserve("e", USER, charge(0.1))


def a_failure_gives_nothing_back(path: Path) -> None:
    ledger = Ledger.open(path, create=True)
    made = ledger.reserve("d", USER, charge(1), new_dataset=True)
    ledger.start_drawing(made.id)
    with Patch.context() as patch:
        patch.setattr(store.Page, "about", _disk_error)
        with pytest.raises((LedgerError, OSError)):
            ledger.mark_published(made.id, SHA)
    assert ledger.balance("d").spent == Loss(Fraction(1))
    with contextlib.suppress(ZeroDivisionError), ledger:
        raise ZeroDivisionError("while drawing noise")
    assert ledger.balance("d").spent == Loss(Fraction(1))


def _disk_error(*_: object) -> None:
    raise OSError(5, "Input/output error")


def the_last_unit_goes_to_one(path: Path) -> None:
    ledger = Ledger.open(path, create=True)
    ledger.create("d", USER, epsilon=1)
    granted: list[Reservation] = []
    start = threading.Barrier(4)

    def ask() -> None:
        start.wait()
        with contextlib.suppress(OverBudgetError):
            granted.append(ledger.reserve("d", USER, charge(1)))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(granted) == 1


def a_forged_entry_breaks_the_chain(path: Path) -> None:
    ledger = filled(str(path))
    rewrite(path, 5, lambda c: c["event"].update(release="forged"))  # type: ignore[attr-defined]
    assert [problem.entry for problem in ledger.verify().problems] == [6]


def the_next_charge_sees_a_changed_sum(path: Path) -> None:
    ledger = filled(str(path))
    nothing = {"delta": "0", "epsilon": "0"}
    rewrite(path, 10, lambda c: c["balance"].update(spent=nothing), rehash=False)  # type: ignore[attr-defined]
    with pytest.raises(DamagedLedgerError):
        ledger.reserve("a", USER, charge(1))


def delta_counts(path: Path) -> None:
    ledger = Ledger.open(path, create=True)
    ledger.create("d", USER, epsilon=1, delta="1e-9")
    with pytest.raises(OverBudgetError):
        ledger.reserve("d", USER, charge("0.1", "1e-8"))


def units_are_kept_apart(path: Path) -> None:
    ledger = Ledger.open(path, create=True)
    ledger.reserve("d", USER, charge(1), new_dataset=True)
    with pytest.raises(UsageError):
        ledger.reserve("d", ROW, charge(1))


def a_void_is_given_back_once(path: Path) -> None:
    ledger = Ledger.open(path, create=True)
    first, second = (ledger.reserve("d", USER, charge(1), new_dataset=True) for _ in range(2))
    ledger.void(first.id, "certain")
    publish(ledger, second.id)
    for made in (first, second):
        with pytest.raises(UsageError):
            ledger.void(made.id, "certain")
    assert ledger.balance("d").spent == Loss(Fraction(1))


def a_refusal_changes_nothing(path: Path) -> None:
    ledger = Ledger.open(path, create=True)
    ledger.create("d", USER, epsilon=1)
    head = ledger.head()
    with pytest.raises(OverBudgetError):
        ledger.reserve("d", USER, charge(2))
    assert ledger.head() == head
    assert ledger.reserve("d", USER, charge(1)).after.spent == Loss(Fraction(1))


def a_single_release_is_limited(path: Path) -> None:
    ledger = Ledger.open(path, create=True)
    ledger.create("d", USER, each_epsilon="0.1")
    for _ in range(2):
        ledger.reserve("d", USER, charge(0.1))
    ledger.set_limit("d", epsilon=9, reason="decided")
    with pytest.raises(TooMuchAtOnceError):
        ledger.reserve("d", USER, charge("0.10000000000000000001"))


def a_request_is_charged_once(path: Path) -> None:
    ledger, asked = Ledger.open(path, create=True), Asked(request_id="week-46")
    ledger.create("d", USER)
    made = [ledger.reserve("d", USER, charge(1), asked=asked) for _ in range(3)]
    assert len({reservation.id for reservation in made}) == 1
    assert ledger.balance("d").spent == Loss(Fraction(1))
    ledger.start_drawing(made[0].id)
    with pytest.raises(DrawnBeforeError):
        ledger.reserve("d", USER, charge(1), asked=asked)


def a_charge_pays_for_one_draw(path: Path) -> None:
    ledger = Ledger.open(path, create=True)
    ledger.create("d", USER)
    made = ledger.reserve("d", USER, charge(1))
    with pytest.raises(LedgerError):
        ledger.mark_published(made.id, SHA)
    ledger.start_drawing(made.id)
    with pytest.raises(DrawnBeforeError):
        ledger.start_drawing(made.id)


def a_withdrawal_gives_nothing_back(path: Path) -> None:
    ledger = Ledger.open(path, create=True)
    ledger.create("d", USER)
    publish(ledger, ledger.reserve("d", USER, charge(1)).id)
    ledger.withdraw("release-1", "a wrong list")
    assert ledger.balance("d").spent == Loss(Fraction(1))
    assert [charged.state for charged in ledger.charges()] == ["published"]


# Mutants ---------------------------------------------------------------------------------------
def float_sums(patch: Patch) -> None:
    def add(self: SequentialComposition, spent: Loss, cost: Loss) -> Loss:
        return Loss(Fraction(float(spent.epsilon) + float(cost.epsilon)), spent.delta + cost.delta)

    patch.setattr(SequentialComposition, "add", add)


def refund_on_exception(patch: Patch) -> None:
    original = Ledger.mark_published

    def mark_published(self: Ledger, reservation_id: str, sha256: str) -> None:
        try:
            original(self, reservation_id, sha256)
        except Exception:
            with Patch.context() as repaired:
                repaired.setattr(store.Page, "about", lambda *_: [])
                self.void(reservation_id, "an exception")
            raise

    patch.setattr(Ledger, "mark_published", mark_published)


def refund_at_the_end_of_with(patch: Patch) -> None:
    def leave(self: Ledger, *exception: object) -> None:
        for made in self.charges() if exception[0] else []:
            self.void(made.id, "an exception")

    patch.setattr(Ledger, "__exit__", leave)


def check_then_reserve(patch: Patch) -> None:
    original = Ledger.reserve

    def reserve(self: Ledger, dataset: str, unit: Any, made: Any, **more: Any) -> Reservation:
        self.check(dataset, unit, made.epsilon, made.delta)
        time.sleep(0.05)
        with _lock:
            require, Balance.require = Balance.require, lambda *_: None  # type: ignore[method-assign]
            try:
                return original(self, dataset, unit, made, **more)
            finally:
                Balance.require = require  # type: ignore[method-assign]

    patch.setattr(Ledger, "reserve", reserve)


_lock = threading.Lock()


def unchained_entries(patch: Patch) -> None:
    original = chain.link
    patch.setattr(chain, "link", lambda previous, body: original("", body))
    patch.setattr("ledger.test_verify.link", lambda previous, body: original("", body))


def unchecked_sum(patch: Patch) -> None:
    read = chain.read
    patch.setattr(chain, "read", lambda row, previous: read(row, None))


def delta_ignored(patch: Patch) -> None:
    patch.setattr(
        SequentialComposition,
        "fits",
        lambda self, spent, cost, limit: (spent + cost).epsilon <= limit.epsilon,
    )


def unit_ignored(patch: Patch) -> None:
    patch.setattr(Balance, "require_unit", lambda *_: None)


def void_without_looking(patch: Patch) -> None:
    _hide(patch, "published", "voided")


def exact_fit_refused(patch: Patch) -> None:
    def require(self: Balance, requested: Loss) -> None:
        if self.each and requested.epsilon >= self.each.epsilon:
            raise TooMuchAtOnceError(self.dataset, requested, self.each)
        if self.limit and requested.epsilon >= (self.limit - self.spent).epsilon:
            raise OverBudgetError(
                self.dataset, requested, self.limit - self.spent, raise_it="nothing"
            )

    patch.setattr(Balance, "require", require)


def each_ignored(patch: Patch) -> None:
    original = Balance.require
    patch.setattr(
        Balance, "require", lambda self, requested: original(replace(self, each=None), requested)
    )


def each_forgotten_with_the_total(patch: Patch) -> None:
    original = transactions.change_of
    patch.setattr(
        transactions,
        "change_of",
        lambda *given: lambda now: replace(original(*given)(now), each=None),
    )


def requests_never_met(patch: Patch) -> None:
    patch.setattr(book.Book, "request", lambda *_: None)
    patch.setattr(chain, "_key", lambda _: None)


def requests_taken_up_while_drawing(patch: Patch) -> None:
    original = book.Book.request

    def request(self: book.Book, request_id: str) -> Charged | None:
        found = original(self, request_id)
        return None if found is None else replace(found, state="reserved")

    patch.setattr(book.Book, "request", request)


def drawings_not_read(patch: Patch) -> None:
    _hide(patch, "drawing")


def _hide(patch: Patch, *kinds: str) -> None:
    original = store.Page.about

    def about(self: store.Page, *these: int) -> list[chain.Row]:
        return [row for row in original(self, *these) if row.kind not in kinds]

    patch.setattr(store.Page, "about", about)


def withdrawal_as_a_void(patch: Patch) -> None:
    original = balance.after

    def after(known: Balance | None, dataset: str, event: Event) -> Balance:
        found = original(known, dataset, event)
        return replace(found, spent=Loss()) if isinstance(event, Withdrawn) else found

    patch.setattr(book, "after", after)


def limit_ignored(patch: Patch) -> None:
    patch.setattr(Balance, "require", lambda *_: None)


PAIRS: list[tuple[Callable[[Path], None], Callable[[Patch], None]]] = [
    (sums_are_exact, float_sums),
    (a_failure_gives_nothing_back, refund_on_exception),
    (a_failure_gives_nothing_back, refund_at_the_end_of_with),
    (the_last_unit_goes_to_one, check_then_reserve),
    (the_last_unit_goes_to_one, limit_ignored),
    (a_forged_entry_breaks_the_chain, unchained_entries),
    (the_next_charge_sees_a_changed_sum, unchecked_sum),
    (delta_counts, delta_ignored),
    (units_are_kept_apart, unit_ignored),
    (a_void_is_given_back_once, void_without_looking),
    (a_refusal_changes_nothing, exact_fit_refused),
    (a_refusal_changes_nothing, limit_ignored),
    (a_single_release_is_limited, each_ignored),
    (a_single_release_is_limited, each_forgotten_with_the_total),
    (a_single_release_is_limited, exact_fit_refused),
    (a_request_is_charged_once, requests_never_met),
    (a_request_is_charged_once, requests_taken_up_while_drawing),
    (a_charge_pays_for_one_draw, drawings_not_read),
    (a_withdrawal_gives_nothing_back, withdrawal_as_a_void),
]


@pytest.mark.parametrize("holds", dict(PAIRS), ids=lambda f: f.__name__)
def test_the_property_holds(holds: Callable[[Path], None], folder: Path) -> None:
    holds(folder / "ledger.sqlite")


@pytest.mark.parametrize(("holds", "mistake"), PAIRS, ids=lambda f: f.__name__)
def test_the_mutant_is_caught(
    holds: Callable[[Path], None],
    mistake: Callable[[Patch], None],
    folder: Path,
    monkeypatch: Patch,
) -> None:
    mistake(monkeypatch)
    with pytest.raises((AssertionError, pytest.fail.Exception, BudgetError)):
        holds(folder / "ledger.sqlite")
