"""The ledger, on each kind of database."""

from __future__ import annotations

import hashlib
import json
import re
from fractions import Fraction
from pathlib import Path

import pytest

from budget.ledger_kit import ROW, SHA, USER, charge
from crowdtally.budget import (
    Created,
    Head,
    Ledger,
    LedgerError,
    Loss,
    MissingLedgerError,
    OverBudgetError,
    Reserved,
    Voided,
    VoidedError,
)
from crowdtally.errors import UsageError
from crowdtally.values.unit import PrivacyUnit


@pytest.fixture
def ledger(location: str) -> Ledger:
    return Ledger.open(location, create=True)


def test_first_use_creates_a_dataset_without_a_limit(ledger: Ledger) -> None:
    made = ledger.reserve("taxi", USER, charge("1/3"), new_dataset=True)
    assert (made.before.spent, made.before.limit) == (Loss(), None)
    assert made.after.spent.epsilon == Fraction(1, 3)
    assert made.after.unit == USER
    assert [entry.event.kind for entry in ledger.entries()] == ["created", "reserved"]
    assert ledger.balance("taxi") == made.after


def test_an_over_budget_request_changes_nothing(ledger: Ledger) -> None:
    ledger.create("taxi", USER, epsilon=1)
    ledger.reserve("taxi", USER, charge("0.9"), new_dataset=True)
    head = ledger.head()
    for attempt in (
        lambda: ledger.reserve("taxi", USER, charge("0.100000001"), new_dataset=True),
        lambda: ledger.check("taxi", USER, "0.100000001", new_dataset=True),
    ):
        with pytest.raises(OverBudgetError, match="difference 1e-9"):
            attempt()
    assert ledger.head() == head
    assert ledger.check("taxi", USER, "0.1", new_dataset=True).remaining == Loss(Fraction(1, 10))
    ledger.reserve("taxi", USER, charge("0.1"), new_dataset=True)
    assert ledger.balance("taxi").remaining == Loss()


def test_check_of_a_new_name_promises_nothing_and_makes_nothing(ledger: Ledger) -> None:
    assert ledger.check("new", USER, 10**9, new_dataset=True).spent == Loss()
    assert ledger.datasets() == []
    for epsilon in (0, -0.0, "nan", float("inf")):
        with pytest.raises(UsageError):
            ledger.check("new", USER, epsilon, new_dataset=True)


def test_a_limit_on_epsilon_alone_allows_no_delta(ledger: Ledger) -> None:
    ledger.create("pure", USER, epsilon=1)
    with pytest.raises(OverBudgetError, match="without δ"):
        ledger.reserve("pure", USER, charge("0.1", "1e-9"), new_dataset=True)
    with pytest.raises(UsageError, match="give both"):
        ledger.create("odd", USER, delta="1e-9")


def test_create_again(ledger: Ledger) -> None:
    ledger.reserve("free", USER, charge(1), new_dataset=True)
    with pytest.raises(UsageError, match="exists already"):
        ledger.create("free", USER)
    with pytest.raises(UsageError, match="--dataset"):
        ledger.create("free", ROW, epsilon=3)
    assert ledger.create("free", epsilon=3).remaining == Loss(Fraction(2))
    with pytest.raises(UsageError, match=r"exists already.*spent so far ε = 1 of ε = 3"):
        ledger.create("free", epsilon=4)
    assert ledger.set_limit("free", epsilon=4, reason="decided").remaining == Loss(Fraction(3))
    assert ledger.set_limit("free", epsilon=None, reason="decided").remaining is None
    with pytest.raises(UsageError, match=r"no dataset 'fre'.*Did you mean 'free'"):
        ledger.set_limit("fre", epsilon=4, reason="decided")


def test_the_first_charge_binds_the_unit(ledger: Ledger) -> None:
    ledger.create("any", epsilon=1)
    assert ledger.balance("any").unit is None
    ledger.reserve("any", ROW, charge("0.1"), new_dataset=True)
    for attempt in (
        lambda: ledger.reserve("any", USER, charge("0.1"), new_dataset=True),
        lambda: ledger.check("any", USER, "0.1", new_dataset=True),
    ):
        with pytest.raises(UsageError, match=r"'row'.*'user:user_id'.*--dataset NAME"):
            attempt()
    ledger.reserve("history", PrivacyUnit("item"), charge("0.1"), new_dataset=True)
    assert ledger.balance("history").unit == PrivacyUnit("item")


def test_voids(ledger: Ledger) -> None:
    ledger.create("taxi", USER, epsilon=1)
    first, second = (
        ledger.reserve("taxi", USER, charge("1/2"), new_dataset=True) for _ in range(2)
    )
    ledger.mark_published(second.id, SHA)
    for reason in ("", "  "):
        with pytest.raises(UsageError, match="reason"):
            ledger.void(first.id, reason)
    with pytest.raises(UsageError, match="published and cannot be voided"):
        ledger.void(second.id, "certain")
    assert ledger.void(first.id, "the disk was full").spent == Loss(Fraction(1, 2))
    with pytest.raises(UsageError, match="voided and cannot be voided"):
        ledger.void(first.id, "again")
    with pytest.raises(VoidedError, match=r"was voided.*must not be published"):
        ledger.mark_published(first.id, SHA)
    last = ledger.entries("taxi")[-1].event
    assert last == Voided(first.id, "the disk was full", Loss(Fraction(1, 2)))
    assert [(c.state, c.reason) for c in ledger.charges()] == [
        ("voided", "the disk was full"),
        ("published", None),
    ]
    assert ledger.verify().ok


def test_ids_that_name_no_reservation(ledger: Ledger) -> None:
    made = ledger.reserve("taxi", USER, charge(1), new_dataset=True)
    number, digits = made.id.split("-")
    wrong = [f"{number}-{'0' * 8}", f"1-{digits}", f"99-{digits}", ledger.entries()[0].id]
    for unknown in wrong:
        with pytest.raises(UsageError, match="there is no reservation"):
            ledger.void(unknown, "certain")
    for garbage in ("", "2", "x", "2-", f"{made.id} ", "9" * 50 + "-" + digits):
        with pytest.raises(UsageError, match="looks like 17-0123abcd"):
            ledger.void(garbage, "certain")
    with pytest.raises(UsageError):
        ledger.mark_published(wrong[0], SHA)
    assert ledger.balance("taxi").spent == Loss(Fraction(1))


def test_a_charge_pays_for_one_release(ledger: Ledger) -> None:
    made = ledger.reserve("taxi", USER, charge(1), new_dataset=True)
    ledger.mark_published(made.id, SHA)
    head = ledger.head()
    for sha256 in (SHA, "0" * 64):
        with pytest.raises(LedgerError, match=r"marked as published already.*Nothing was changed"):
            ledger.mark_published(made.id, sha256)
    assert ledger.head() == head
    assert [(c.state, c.sha256) for c in ledger.charges()] == [("published", SHA)]


@pytest.mark.parametrize("sha256", ["", "0" * 63, "0" * 65, "A" * 64, f"{'0' * 64}\n", None, 7])
def test_a_mark_needs_the_hash_of_the_release(folder: Path, sha256: object) -> None:
    ledger = Ledger.open(folder / "ledger.sqlite", create=True)
    made = ledger.reserve("taxi", USER, charge(1), new_dataset=True)
    with pytest.raises(UsageError, match="64 hexadecimal digits"):
        ledger.mark_published(made.id, sha256)  # type: ignore[arg-type]
    assert ledger.charges()[0].state == "reserved"


def test_the_charge_of_a_release(ledger: Ledger) -> None:
    assert ledger.charge_of_release("first") is None
    first = ledger.reserve("taxi", USER, charge(1, release="first"), new_dataset=True)
    again, last = (
        ledger.reserve("bus", USER, charge(1, release="twice"), new_dataset=True) for _ in range(2)
    )
    ledger.mark_published(last.id, SHA)
    found = ledger.charge_of_release("first")
    assert found is not None
    assert (found.id, found.state, found.sha256) == (first.id, "reserved", None)
    found = ledger.charge_of_release("twice")
    assert found is not None
    assert again.id != found.id == last.id, "the one that was published"
    assert (found.state, found.sha256) == ("published", SHA)
    assert ledger.charge_of_release("") is None


@pytest.mark.parametrize("name", ["", " x", "x\n", "a\0b", "x" * 501, "\udce9", 7, None])
def test_names_that_are_no_names(location: str, name: object) -> None:
    ledger = Ledger.open(location, create=True)
    with pytest.raises(UsageError, match="--dataset NAME"):
        ledger.reserve(name, USER, charge(1), new_dataset=True)  # type: ignore[arg-type]
    assert ledger.datasets() == []


def test_names_of_every_script(ledger: Ledger) -> None:
    names = sorted(
        ["/data/records.parquet", "données", "数据" * 250, "a'b\"c; DROP TABLE x", "😀%s"]
    )
    for name in names:
        ledger.reserve(name, USER, charge(1), new_dataset=True)
    assert [balance.dataset for balance in ledger.datasets()] == names
    assert len(ledger.entries("données")) == 2
    assert ledger.verify().ok


def test_sums_that_outgrow_pythons_digits_stay_exact(ledger: Ledger) -> None:
    total = Fraction(0)
    for step in range(6):
        epsilon = Fraction(1, 3**1700 + 2**step)
        ledger.reserve("deep", USER, charge(epsilon), new_dataset=True)
        total += epsilon
    assert total.denominator > 10**4300
    assert ledger.balance("deep").spent.epsilon == total
    assert ledger.verify().ok
    ledger.set_limit("deep", epsilon=1, reason="decided")
    with pytest.raises(OverBudgetError, match="remaining about 1"):
        ledger.reserve("deep", USER, charge(1), new_dataset=True)


def test_an_export_can_be_checked_without_our_code(ledger: Ledger) -> None:
    ledger.create("taxi", USER, epsilon=2, delta="1e-6")
    first = ledger.reserve("taxi", USER, charge("1/3", "1e-9"), new_dataset=True)
    ledger.mark_published(first.id, SHA)
    ledger.void(ledger.reserve("taxi", USER, charge("1/7"), new_dataset=True).id, "certain")
    ledger.reserve("other", ROW, charge(5), new_dataset=True)

    found = json.loads(json.dumps(ledger.export()))
    previous, spent = found["genesis"], {}
    assert previous == hashlib.sha256(f"crowdtally-ledger:1:{found['ledger']}".encode()).hexdigest()
    for number, entry in enumerate(found["entries"], 1):
        body = json.dumps(entry["content"], sort_keys=True, separators=(",", ":"))
        assert entry["previous"] == previous
        previous = hashlib.sha256((previous + "\n" + body).encode()).hexdigest()
        assert entry["hash"] == previous
        assert entry["content"]["number"] == number
        event, name = entry["content"]["event"], entry["content"]["dataset"]
        if event["kind"] == "reserved":
            parts = sum(Fraction(part["epsilon"]) for part in event["parts"])
            assert parts == Fraction(event["epsilon"])
            spent[name] = spent.get(name, 0) + parts
        elif event["kind"] == "voided":
            spent[name] -= Fraction(event["given_back"]["epsilon"])
        assert Fraction(entry["content"]["balance"]["spent"]["epsilon"]) == spent.get(name, 0)
    assert found["head"] == {"number": 7, "hash": previous}
    assert spent == {"taxi": Fraction(1, 3), "other": 5}


def test_heads(ledger: Ledger) -> None:
    empty = ledger.head()
    assert empty.number == 0
    ledger.reserve("taxi", USER, charge(1), new_dataset=True)
    kept = Head.of(f" {ledger.head()}\n")
    ledger.reserve("taxi", USER, charge(1), new_dataset=True)
    assert ledger.head().number == kept.number + 1
    for anchor in (None, empty, kept, ledger.head()):
        assert ledger.verify(anchor).ok
    lost = ledger.verify(Head(99, kept.hash))
    assert [p.entry for p in lost.problems] == [99]
    assert "older copy, of 3 entries" in lost.describe()
    other = ledger.verify(Head(kept.number, "0" * 64))
    assert [p.entry for p in other.problems] == [kept.number]
    assert not ledger.verify(Head(0, "0" * 64)).ok
    for garbage in ("", "17", "17:abc", f"-1:{'0' * 64}", f"1:{'0' * 65}"):
        with pytest.raises(UsageError, match="a ledger head looks like"):
            Head.of(garbage)


def test_reopening(location: str) -> None:
    with pytest.raises(MissingLedgerError, match="there is no ledger at"):
        Ledger.open(location, create=False)
    first = Ledger.open(location, create=True)
    assert first.created
    made = first.reserve("taxi", USER, charge(1), new_dataset=True)
    second = Ledger.open(location, create=False)
    assert not second.created
    second.mark_published(made.id, SHA)
    assert first.charges()[0].state == "published"
    kinds = [type(entry.event) for entry in second.entries()]
    assert kinds[:2] == [Created, Reserved]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", second.entries()[0].time)


def test_a_new_file_is_private(folder: Path) -> None:
    Ledger.open(folder / "a" / "b" / "ledger.sqlite", create=True)
    assert (folder / "a").stat().st_mode & 0o777 == 0o700
    assert (folder / "a" / "b").stat().st_mode & 0o777 == 0o700
    assert (folder / "a" / "b" / "ledger.sqlite").stat().st_mode & 0o777 == 0o600
    assert [path.name for path in (folder / "a" / "b").iterdir()] == ["ledger.sqlite"]


def test_the_default_place(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CROWDTALLY_LEDGER", str(folder / "mine.sqlite"))
    assert Ledger.open(create=True).location == str(folder / "mine.sqlite")


@pytest.mark.long
def test_a_hundred_thousand_charges_sum_exactly(folder: Path) -> None:
    ledger = Ledger.open(folder / "ledger.sqlite", create=True)
    ledger.create("d", USER, epsilon="1/3")
    for _ in range(100_000):
        ledger.reserve("d", USER, charge("1/300000"), new_dataset=True)
    assert ledger.balance("d").spent.epsilon == Fraction(1, 3)
    with pytest.raises(OverBudgetError):
        ledger.reserve("d", USER, charge("5e-324"), new_dataset=True)
    assert ledger.verify().ok


def test_an_old_copy_is_found_by_a_head_kept_elsewhere_and_only_by_it(folder: Path) -> None:
    path = folder / "ledger.sqlite"
    ledger = Ledger.open(path, create=True)
    ledger.reserve("taxi", USER, charge(1), new_dataset=True)
    copy = path.read_bytes()
    ledger.reserve("taxi", USER, charge(1), new_dataset=True)
    kept = ledger.head()
    path.write_bytes(copy)
    restored = Ledger.open(path, create=True)
    assert restored.verify().ok  # the documented limit
    assert "older copy" in restored.verify(kept).describe()
    restored.reserve("taxi", USER, charge(2), new_dataset=True)
    assert "another history" in restored.verify(kept).describe()
