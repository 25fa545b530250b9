"""A dataset's name is one name, however its characters are composed."""

from __future__ import annotations

import unicodedata
from fractions import Fraction
from pathlib import Path

import pytest

from budget.ledger_kit import USER, charge
from crowdtally.budget import Ledger, OverBudgetError
from crowdtally.budget.record import names
from crowdtally.errors import UsageError

NFC, NFD = "donn\u00e9es", "donne\u0301es"
KELVIN = "\u212a-means"  # looks like "K-means", and NFC makes it so


@pytest.fixture
def path(folder: Path) -> Path:
    return folder / "ledger.sqlite"


def old_ledger(path: Path, monkeypatch: pytest.MonkeyPatch, *datasets: str) -> Ledger:
    """Charged once under each spelling by a version that did not normalise."""
    with monkeypatch.context() as old:
        old.setattr(names, "normal", lambda text: text)
        ledger = Ledger.open(path, create=True)
        for name in datasets:
            ledger.reserve(name, USER, charge(1), new_dataset=True)
    return Ledger.open(path)


@pytest.mark.parametrize(("first", "second"), [(NFC, NFD), (NFD, NFC), (KELVIN, "K-means")])
def test_two_spellings_share_one_budget(location: str, first: str, second: str) -> None:
    ledger = Ledger.open(location, create=True)
    ledger.create(first, USER, epsilon=2)
    ledger.reserve(first, USER, charge(1))
    assert ledger.check(second, USER, 1).spent.epsilon == 1
    assert ledger.reserve(second, USER, charge(1)).after.spent.epsilon == 2
    with pytest.raises(OverBudgetError):
        ledger.reserve(first, USER, charge("1e-9"))
    with pytest.raises(UsageError, match="exists already"):
        ledger.create(second, USER, epsilon=2)
    (balance,) = ledger.datasets()
    assert balance.dataset == unicodedata.normalize("NFC", first)
    assert len(ledger.charges(first)) == len(ledger.charges(second)) == 2
    assert ledger.verify().ok


@pytest.mark.parametrize("stored", [NFD, KELVIN])
def test_an_old_spelling_keeps_being_charged(
    path: Path, monkeypatch: pytest.MonkeyPatch, stored: str
) -> None:
    ledger = old_ledger(path, monkeypatch, stored)
    for spelling in (stored, unicodedata.normalize("NFC", stored)):
        ledger.check(spelling, USER, 1)
        assert ledger.reserve(spelling, USER, charge(1)).dataset == stored
    ledger.set_limit(unicodedata.normalize("NFC", stored), epsilon=3, reason="decided")
    (balance,) = ledger.datasets()
    assert (balance.dataset, balance.spent.epsilon) == (stored, 3)
    assert balance.remaining is not None
    assert balance.remaining.epsilon == 0
    assert ledger.verify().ok


def test_two_old_spellings_are_refused_until_a_name_says_which(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = old_ledger(path, monkeypatch, NFC, NFD)
    head = ledger.head()
    for spelling in (NFC, NFD):
        for attempt in (
            lambda name: ledger.check(name, USER, 1),
            lambda name: ledger.reserve(name, USER, charge(1)),
            lambda name: ledger.create(name, epsilon=5),
            lambda name: ledger.set_limit(name, epsilon=5, reason="decided"),
        ):
            with pytest.raises(
                UsageError, match=r"2 datasets called.*spent ε = 2\..*--dataset NAME"
            ):
                attempt(spelling)
    assert ledger.head() == head
    assert [balance.spent.epsilon for balance in ledger.datasets()] == [1, 1]
    assert [len(ledger.charges(spelling)) for spelling in (NFC, NFD)] == [1, 1]
    assert ledger.reserve(
        "both", USER, charge(1), new_dataset=True
    ).after.spent.epsilon == Fraction(1)
