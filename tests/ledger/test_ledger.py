"""The ledger, on each kind of database."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import pwd
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from crowdtally.core.numbers import show
from crowdtally.core.privacy import Epsilon, PrivacyUnit
from crowdtally.errors import UsageError
from crowdtally.ledger import (
    Asked,
    Author,
    Created,
    DrawnBeforeError,
    Head,
    Ledger,
    LedgerError,
    LimitSet,
    Loss,
    MissingLedgerError,
    OverBudgetError,
    Reserved,
    TooMuchAtOnceError,
    Voided,
    VoidedError,
)
from crowdtally.ledger.book import Book
from kit.ledgers import ROW, SHA, USER, PostgresServer, alter, charge, publish


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
    ledger.reserve("taxi", USER, charge("0.9"))
    head = ledger.head()
    for attempt in (
        lambda: ledger.reserve("taxi", USER, charge("0.100000001")),
        lambda: ledger.check("taxi", USER, "0.100000001"),
    ):
        with pytest.raises(OverBudgetError, match="difference 1e-9"):
            attempt()
    assert ledger.head() == head
    assert ledger.check("taxi", USER, "0.1").remaining == Loss(Fraction(1, 10))
    ledger.reserve("taxi", USER, charge("0.1"))
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
        ledger.reserve("pure", USER, charge("0.1", "1e-9"))
    with pytest.raises(UsageError, match="give both"):
        ledger.create("odd", USER, delta="1e-9")


def test_create_again(ledger: Ledger) -> None:
    ledger.reserve("free", USER, charge(1), new_dataset=True)
    with pytest.raises(UsageError, match="exists already"):
        ledger.create("free", USER)
    with pytest.raises(UsageError, match=r"exists already.*no limit is set"):
        ledger.create("free", ROW, epsilon=3)
    assert ledger.balance("free").limit is None, "a limit that nobody gave a reason for"
    assert ledger.set_limit("free", epsilon=3, reason="decided").remaining == Loss(Fraction(2))
    how = r"exists already.*spent so far ε = 1 of ε = 3.*To change its limit: crowdtally ledger "
    with pytest.raises(UsageError, match=how + r"limit free --epsilon E --reason TEXT --ledger "):
        ledger.create("free", epsilon=4)
    assert ledger.set_limit("free", epsilon=4, reason="decided").remaining == Loss(Fraction(3))
    assert ledger.set_limit("free", epsilon=None, reason="decided").remaining is None
    with pytest.raises(UsageError, match=r"no dataset 'fre'.*Did you mean 'free'"):
        ledger.set_limit("fre", epsilon=4, reason="decided")


def test_the_first_charge_binds_the_unit(ledger: Ledger) -> None:
    ledger.create("any", epsilon=1)
    assert ledger.balance("any").unit is None
    ledger.reserve("any", ROW, charge("0.1"))
    for attempt in (
        lambda: ledger.reserve("any", USER, charge("0.1")),
        lambda: ledger.check("any", USER, "0.1"),
    ):
        with pytest.raises(UsageError, match=r"'row'.*'user:user_id'.*--dataset NAME"):
            attempt()
    ledger.reserve("history", PrivacyUnit("item"), charge("0.1"), new_dataset=True)
    assert ledger.balance("history").unit == PrivacyUnit("item")


def test_voids(ledger: Ledger) -> None:
    ledger.create("taxi", USER, epsilon=1)
    first, second = (ledger.reserve("taxi", USER, charge("1/2")) for _ in range(2))
    publish(ledger, second.id)
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
    for unknown in wrong:
        with pytest.raises(UsageError, match="there is no reservation"):
            ledger.mark_published(unknown, SHA)
        with pytest.raises(UsageError, match="there is no reservation"):
            ledger.start_drawing(unknown)
    assert ledger.balance("taxi").spent == Loss(Fraction(1))


def test_a_charge_pays_for_one_release(ledger: Ledger) -> None:
    made = ledger.reserve("taxi", USER, charge(1), new_dataset=True)
    publish(ledger, made.id)
    head = ledger.head()
    for sha256 in (SHA, "0" * 64):
        with pytest.raises(
            LedgerError, match=r"is published, .*one charge pays for one release.*Nothing was chang"
        ):
            ledger.mark_published(made.id, sha256)
    assert ledger.head() == head
    assert [(c.state, c.sha256) for c in ledger.charges()] == [("published", SHA)]


def test_a_charge_pays_for_one_draw(ledger: Ledger) -> None:
    made = ledger.reserve("taxi", USER, charge(1), new_dataset=True)
    head = ledger.head()
    with pytest.raises(LedgerError, match=r"is reserved, .*start_drawing comes first.*Nothing was"):
        ledger.mark_published(made.id, SHA)
    assert ledger.head() == head
    ledger.start_drawing(made.id)
    assert ledger.charges()[0].state == "drawing"
    for state in ("drawing", "published"):
        head = ledger.head()
        with pytest.raises(DrawnBeforeError, match=rf"it is {state}.*another one needs a new char"):
            ledger.start_drawing(made.id)
        assert ledger.head() == head
        if state == "drawing":
            ledger.mark_published(made.id, SHA)
    assert ledger.balance("taxi").spent == Loss(Fraction(1))
    assert ledger.verify().ok


def test_what_was_drawn_for_nobody_can_be_given_back(ledger: Ledger) -> None:
    made = ledger.reserve("taxi", USER, charge(1), new_dataset=True)
    ledger.start_drawing(made.id)
    assert ledger.void(made.id, "the disk was full").spent == Loss()
    for then in (
        lambda: ledger.start_drawing(made.id),
        lambda: ledger.mark_published(made.id, SHA),
    ):
        with pytest.raises(VoidedError, match="must not be published"):
            then()
    assert ledger.verify().ok


@pytest.mark.parametrize("sha256", ["", "0" * 63, "0" * 65, "A" * 64, f"{'0' * 64}\n", None, 7])
def test_a_mark_needs_the_hash_of_the_release(folder: Path, sha256: object) -> None:
    ledger = Ledger.open(folder / "ledger.sqlite", create=True)
    made = ledger.reserve("taxi", USER, charge(1), new_dataset=True)
    ledger.start_drawing(made.id)
    with pytest.raises(UsageError, match="64 hexadecimal digits"):
        ledger.mark_published(made.id, sha256)  # type: ignore[arg-type]
    assert ledger.charges()[0].state == "drawing"


def test_the_charge_of_a_release(ledger: Ledger) -> None:
    assert ledger.charge_of_release("first") is None
    first = ledger.reserve("taxi", USER, charge(1, release="first"), new_dataset=True)
    again, last = (
        ledger.reserve("bus", USER, charge(1, release="twice"), new_dataset=True) for _ in range(2)
    )
    publish(ledger, last.id)
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
        ledger.reserve(name, USER, charge(1))  # type: ignore[arg-type]
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


def test_coprime_amounts_do_not_make_a_sum_grow_without_end(ledger: Ledger) -> None:
    """Whoever charges next must be able to read, judge and show what was spent before."""
    exact, made = Fraction(0), []
    for step in range(12):
        epsilon = Fraction(3**899, 3**900 + 2**step)
        made.append(ledger.reserve("deep", USER, charge(epsilon), new_dataset=True))
        exact += epsilon
    spent = ledger.balance("deep").spent.epsilon
    assert exact < spent < exact * (1 + Fraction(1, 10**50))
    assert len(show(spent)) < 1500
    for reservation in made:
        ledger.void(reservation.id, "nothing left the machine")
    assert 0 <= ledger.balance("deep").spent.epsilon < Fraction(1, 10**50)
    assert ledger.verify().ok
    ledger.set_limit("deep", epsilon=1, reason="decided")
    with pytest.raises(OverBudgetError, match="ledger limit deep --epsilon E --reason TEXT"):
        ledger.reserve("deep", USER, charge(2))


def test_an_amount_of_too_many_digits_is_refused(ledger: Ledger) -> None:
    long = Epsilon(Fraction(1, 3**7000))  # a product, say: nobody can type it
    with pytest.raises(UsageError, match="more than 3,000 digits"):
        ledger.reserve("deep", USER, charge(long), new_dataset=True)
    assert ledger.head().number == 0


def test_an_export_can_be_checked_without_our_code(ledger: Ledger) -> None:
    ledger.create("taxi", USER, epsilon=2, delta="1e-6")
    first = ledger.reserve("taxi", USER, charge("1/3", "1e-9"))
    publish(ledger, first.id)
    ledger.withdraw("release-1", "a wrong list")
    ledger.void(ledger.reserve("taxi", USER, charge("1/7")).id, "certain")
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
    assert found["head"] == {"number": 9, "hash": previous}
    assert spent == {"taxi": Fraction(1, 3), "other": 5}


def test_heads(ledger: Ledger) -> None:
    empty = ledger.head()
    assert empty.number == 0
    ledger.reserve("taxi", USER, charge(1), new_dataset=True)
    kept = Head.of(f" {ledger.head()}\n")
    ledger.reserve("taxi", USER, charge(1))
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
    publish(second, made.id)
    assert first.charges()[0].state == "published"
    kinds = [type(entry.event) for entry in second.entries()]
    assert kinds[:2] == [Created, Reserved]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", second.entries()[0].time)


def test_nothing_is_charged_to_a_dataset_that_nobody_made(ledger: Ledger) -> None:
    ledger.create("taxi", USER, epsilon=1)
    head = ledger.head()
    for attempt in (
        lambda: ledger.reserve("taxl", USER, charge(1)),
        lambda: ledger.check("taxl", USER, 1),
    ):
        with pytest.raises(
            UsageError,
            match=r"no dataset 'taxl' .*nothing was charged.*Did you mean 'taxi'.*--new-dataset",
        ) as caught:
            attempt()
        assert caught.value.exit_code == 2
    assert ledger.head() == head
    assert ledger.names() == ["taxi"]
    assert ledger.reserve("taxi", USER, charge(1)).after.remaining == Loss()


def test_no_ledger_is_made_that_nobody_asked_for(folder: Path) -> None:
    (folder / "budget.sqlite").mkdir()  # a folder, which is no ledger either
    for path in (folder / "ledger.sqlite", folder / "new" / "ledger.sqlite"):
        with pytest.raises(MissingLedgerError, match="there is no ledger at"):
            Ledger.open(path)
    assert [path.name for path in folder.iterdir()] == ["budget.sqlite"]


def test_a_server_without_a_ledger_stays_so(server: PostgresServer) -> None:
    url = server.new_schema()
    with pytest.raises(MissingLedgerError):
        Ledger.open(url)
    schema = url.rpartition("%3D")[2]
    query = f"SELECT tablename FROM pg_tables WHERE schemaname = '{schema}'"
    assert server.execute(query) == []


def test_a_closed_ledger_is_read_and_not_written(location: str) -> None:
    ledger = Ledger.open(location, create=True)
    made = ledger.reserve("taxi", USER, charge(1), new_dataset=True)
    alter(location, "UPDATE crowdtally_ledger SET closed = 'this is a copy; charge the original'")
    head = ledger.head()
    for attempt in (
        lambda: ledger.reserve("taxi", USER, charge(1)),
        lambda: ledger.start_drawing(made.id),
        lambda: ledger.void(made.id, "certain"),
        lambda: ledger.create("bus"),
        lambda: ledger.set_limit("taxi", epsilon=9, reason="decided"),
    ):
        with pytest.raises(LedgerError, match=r"nothing can be added .*charge the original"):
            attempt()
    assert ledger.head() == head
    assert ledger.verify().ok
    assert Ledger.open(location).balance("taxi").spent == Loss(Fraction(1))


def test_a_withdrawal_is_on_the_record_and_gives_nothing_back(ledger: Ledger) -> None:
    made = ledger.reserve("taxi", USER, charge(1, release="r-1"), new_dataset=True)
    for state in ("reserved", "drawing"):
        with pytest.raises(UsageError, match=rf"is {state}, and only what was published"):
            ledger.withdraw("r-1", "a wrong list")
        if state == "reserved":
            ledger.start_drawing(made.id)
    ledger.mark_published(made.id, SHA)
    for reason in ("", "  "):
        with pytest.raises(UsageError, match="reason of a withdrawal"):
            ledger.withdraw("r-1", reason)
    found = ledger.withdraw("r-1", "a wrong list")
    assert (found.state, found.sha256) == ("published", SHA)
    assert found.withdrawn is not None
    assert found.withdrawn.reason == "a wrong list"
    head = ledger.head()
    again = ledger.withdraw("r-1", "another reason")
    assert again.withdrawn == found.withdrawn, "what was said first stands"
    assert ledger.head() == head
    with pytest.raises(UsageError, match="published and cannot be voided"):
        ledger.void(made.id, "withdrawn")
    assert ledger.balance("taxi").spent == Loss(Fraction(1))
    with pytest.raises(UsageError, match="knows no release 'r-2'"):
        ledger.withdraw("r-2", "a wrong list")
    assert ledger.verify().ok


def test_limits_change_with_a_reason_one_by_one(ledger: Ledger) -> None:
    ledger.create("taxi", USER, epsilon=2, delta="1e-6", each_epsilon=1)
    third, millionth = Fraction(1, 3), Fraction(1, 10**6)
    found = ledger.balance("taxi")
    assert (found.limit, found.each) == (Loss(Fraction(2), millionth), Loss(Fraction(1), millionth))
    found = ledger.set_limit("taxi", epsilon=3, reason="more people")
    assert (found.limit, found.each) == (Loss(Fraction(3)), Loss(Fraction(1), millionth))
    found = ledger.set_limit("taxi", each_epsilon="1/3", reason="smaller steps")
    assert (found.limit, found.each) == (Loss(Fraction(3)), Loss(third))
    with pytest.raises(TooMuchAtOnceError, match=r"at most ε = 1/3 .*asks for 1\. Nothing was ch"):
        ledger.reserve("taxi", USER, charge(1))
    ledger.reserve("taxi", USER, charge("1/3"))
    found = ledger.set_limit("taxi", each_epsilon=None, reason="no more steps")
    assert (found.limit, found.each) == (Loss(Fraction(3)), None)
    found = ledger.set_limit("taxi", epsilon=None, each_epsilon=1, reason="no total")
    assert (found.limit, found.each) == (None, Loss(Fraction(1)))
    head = ledger.head()
    for wrong in ({}, {"delta": 0}, {"each_delta": 0}, {"epsilon": None, "delta": "1e-9"}):
        with pytest.raises(UsageError, match=r"which limit|give both|say which"):
            ledger.set_limit("taxi", reason="decided", **wrong)  # type: ignore[arg-type]
    for reason in ("", "  "):
        with pytest.raises(UsageError, match="reason of a limit"):
            ledger.set_limit("taxi", epsilon=4, reason=reason)
    assert ledger.head() == head
    reasons = [e.event.reason for e in ledger.entries() if isinstance(e.event, LimitSet)]
    assert reasons == ["more people", "smaller steps", "no more steps", "no total"]
    assert ledger.verify().ok


def test_a_request_id_is_charged_once(location: str) -> None:
    ledger, other = Ledger.open(location, create=True), Ledger.open(location)
    ledger.create("taxi", USER, epsilon=1)
    wanted = Asked("records.csv", "/out", {"method": "known"}, "weekly", "week-46")
    assert ledger.request("week-46") is None
    first = ledger.reserve("taxi", USER, charge(1), asked=wanted)
    head = ledger.head()
    again = other.reserve("taxi", USER, charge(1, release="release-2"), asked=wanted)
    assert (again.id, again.taken_up, first.taken_up) == (first.id, True, False)
    assert again.charge.release_id == "release-1", "that of the charge"
    assert (again.before.spent, again.after.spent) == (Loss(), Loss(Fraction(1)))
    for attempt in (  # what each is told is tried in test_book.py
        lambda: other.reserve("taxi", USER, charge("1/2"), asked=wanted),
        lambda: other.reserve("taxi", USER, charge(1), asked=replace(wanted, source="other.csv")),
        lambda: other.reserve("bus", USER, charge(1), asked=wanted, new_dataset=True),
        lambda: other.reserve("taxi", ROW, charge(1), asked=wanted),
    ):
        with pytest.raises(UsageError, match="'week-46' was used for another request before"):
            attempt()
    other.start_drawing(first.id)
    assert ledger.head().number == head.number + 1
    with pytest.raises(DrawnBeforeError):
        ledger.reserve("taxi", USER, charge(1), asked=wanted)
    found = ledger.request("week-46")
    assert found is not None
    assert (found.id, found.state, found.asked) == (first.id, "drawing", wanted)
    assert ledger.balance("taxi").spent == Loss(Fraction(1))
    assert ledger.verify().ok


def test_the_database_keeps_request_ids_apart(
    location: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even where a run does not find the charge of an earlier one."""
    ledger = Ledger.open(location, create=True)
    ledger.create("taxi", USER)
    ledger.reserve("taxi", USER, charge(1), asked=Asked(request_id="week-46"))
    head = ledger.head()
    monkeypatch.setattr(Book, "request", lambda *_: None)
    with pytest.raises(LedgerError):
        ledger.reserve("taxi", USER, charge(1), asked=Asked(request_id="week-46"))
    assert ledger.head() == head
    ledger.reserve("taxi", USER, charge(1), asked=Asked(request_id="week-47"))
    assert ledger.verify().ok


@pytest.mark.parametrize("wrong", ["", " x", "x\n", "a\0b", "x" * 201, 7, "\udce9"])
def test_request_ids_that_are_none(wrong: object) -> None:
    with pytest.raises(UsageError, match="--request-id is one line of at most 200"):
        Asked(request_id=wrong)  # type: ignore[arg-type]


def test_who_charged_is_what_the_system_says(
    location: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("USER", "LOGNAME", "USERNAME", "LNAME"):
        monkeypatch.setenv(variable, "somebody-else")
    ledger = Ledger.open(location, create=True)
    made = ledger.reserve("taxi", USER, charge(1), new_dataset=True)
    publish(ledger, made.id)
    ledger.withdraw("release-1", "a wrong list")
    ledger.set_limit("taxi", epsilon=4, reason="decided")
    role = "postgres" if location.startswith("postgresql:") else None
    me = Author(pwd.getpwuid(os.getuid()).pw_name, platform.node(), role)
    assert {entry.by for entry in ledger.entries()} == {me}
    (found,) = ledger.charges()
    assert found.by == me
    assert found.withdrawn is not None
    assert found.withdrawn.by == me


def test_an_account_without_a_name_is_known_by_its_number(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 4_000_000_123)
    monkeypatch.setenv("USER", "somebody-else")
    ledger = Ledger.open(folder / "ledger.sqlite", create=True)
    ledger.create("taxi")
    (entry,) = ledger.entries()
    assert entry.by == Author("uid 4000000123", platform.node())
    assert ledger.verify().ok


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
    ledger.reserve("taxi", USER, charge(1))
    kept = ledger.head()
    path.write_bytes(copy)
    restored = Ledger.open(path)
    assert restored.verify().ok  # the documented limit
    assert "older copy" in restored.verify(kept).describe()
    restored.reserve("taxi", USER, charge(2))
    assert "another history" in restored.verify(kept).describe()
