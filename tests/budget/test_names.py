"""A dataset's name is one name, however its characters are composed."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest

from budget.ledger_kit import USER, charge
from crowdtally.errors import UsageError
from crowdtally.ledger import Ledger, OverBudgetError

NFC, NFD = "donn\u00e9es", "donne\u0301es"
KELVIN = "\u212a-means"  # looks like "K-means", and NFC makes it so


@pytest.fixture
def path(folder: Path) -> Path:
    return folder / "ledger.sqlite"


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
