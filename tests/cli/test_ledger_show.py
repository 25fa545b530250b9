"""``ledger show``: who spent what, when and what for, and who changed a limit and why."""

from __future__ import annotations

import json
import os
import platform
import pwd
from pathlib import Path
from typing import Any

import pytest

from crowdtally.core.privacy import Delta, Epsilon, PrivacyUnit
from crowdtally.ledger import Asked, Charge, Ledger, Part
from kit.command import crowdtally

UNIT = PrivacyUnit("user", "driver")
ME = f"{pwd.getpwuid(os.getuid()).pw_name}@{platform.node()}"
LONG = "/srv/a very long folder/" + "deep/" * 20 + "trips.parquet"


def charge(ledger: Ledger, dataset: str, epsilon: str, delta: str = "0", **asked: Any) -> str:
    """A charge that was made; its id."""
    share, rest = Epsilon.of(epsilon), Delta.of(delta)
    made = Charge(f"release-{epsilon}", share, (Part("items", share, "laplace", {}, rest),), rest)
    return ledger.reserve(dataset, UNIT, made, asked=Asked(**asked), new_dataset=True).id


@pytest.fixture
def books(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ledger:
    """A ledger in which something of everything happened."""
    where = tmp_path / "ledger.sqlite"
    monkeypatch.setenv("CROWDTALLY_LEDGER", str(where))
    monkeypatch.setenv("USER", "mallory")
    monkeypatch.setenv("LOGNAME", "mallory")
    ledger = Ledger.open(where, create=True)
    ledger.create("taxi", epsilon=10, each_epsilon=5)
    ledger.set_limit("taxi", epsilon=20, delta="1e-3", reason="the board agreed")
    ledger.set_limit("taxi", each_epsilon=None, reason="one large release")
    first = charge(
        ledger, "taxi", "1/3", source=LONG, output="monthly", purpose="monthly report",
        parameters={"max_records": 10, "split": {"items": "1"}},
    )  # fmt: skip
    ledger.start_drawing(first)
    ledger.mark_published(first, "0" * 64)
    ledger.withdraw(ledger.charges()[0].charge.release_id, "a wrong list of places")
    charge(ledger, "taxi", "1/6", "1e-6", purpose="monthly report", request_id="trips-2026-11")
    voided = charge(ledger, "taxi", "7", purpose="a slip")
    ledger.void(voided, "nothing was drawn")
    charge(ledger, "taxi", "1/10")
    charge(ledger, "bikes", "2")
    return ledger


def facts(*arguments: str) -> Any:
    ended = crowdtally("ledger", "show", *arguments, "--json")
    assert ended.code == 0, str(ended)
    return json.loads(ended.out)


def test_each_charge_with_who_and_what_for(books: Ledger) -> None:
    ended = crowdtally("ledger", "show", "taxi")
    assert ended.code == 0, str(ended)
    first, second, third, fourth = books.charges("taxi")
    shown = ended.out
    assert f"{first.id}  {first.time[:10]} {first.time[11:19]} UTC  epsilon 1/3  published" in shown
    assert "published, withdrawn" in shown
    assert "a wrong list of places" in shown
    assert f"source    {LONG}\n" in shown
    assert "output    monthly\n" in shown
    assert shown.count("purpose   monthly report\n") == 2
    assert 'asked     max_records=10, split={"items": "1"}' in shown
    assert f"{second.id}  {second.time[:10]}" in shown
    assert "epsilon 1/6  delta 1e-6  reserved" in shown
    assert "request   trips-2026-11\n" in shown
    assert "voided    nothing was drawn\n" in shown
    assert third.id in shown
    assert fourth.id in shown
    assert shown.count(f"by        {ME}\n") == 7
    assert "mallory" not in shown
    assert "bikes" not in shown


def test_the_history_of_limits(books: Ledger) -> None:
    shown = crowdtally("ledger", "show", "taxi").out
    assert "created: ε = 10 (each ε = 5)\n" in shown
    joined = " ".join(shown.split())
    assert "ε = 10 (each ε = 5) → ε = 20, δ = 0.001 (each ε = 5)" in joined
    assert "reason the board agreed" in joined
    assert "ε = 20, δ = 0.001 (each ε = 5) → ε = 20, δ = 0.001 by" in joined
    created, raised, lifted = facts("taxi")["datasets"][0]["limits"]
    ten, five = {"epsilon": "10", "delta": "0"}, {"epsilon": "5", "delta": "0"}
    twenty = {"epsilon": "20", "delta": "1/1000"}
    assert (created["event"], created["before"]) == ("created", None)
    assert created["after"] == raised["before"] == {"limit": ten, "each": five}
    assert raised["after"] == lifted["before"] == {"limit": twenty, "each": five}
    assert (lifted["event"], lifted["after"]) == ("changed", {"limit": twenty, "each": None})
    assert [one["reason"] for one in (created, raised, lifted)] == [
        None, "the board agreed", "one large release",
    ]  # fmt: skip
    assert raised["by"] == {"account": ME.split("@")[0], "host": platform.node(), "role": None}


def test_lines_fit_a_terminal_but_for_what_is_copied(books: Ledger) -> None:
    reason = "because of a long story " * 20
    books.set_limit("bikes", epsilon=99, reason=reason)
    charge(books, "bikes", "1", purpose="many words " * 30)
    for line in crowdtally("ledger", "show").out.splitlines():
        assert len(line) <= 80 or LONG in line, line


def test_json_is_exact_and_whole(books: Ledger) -> None:
    found = facts()
    assert found.keys() == {"ledger", "head", "datasets"}
    assert found["head"] == str(books.head())
    bikes, taxi = found["datasets"]
    assert (bikes["dataset"], bikes["limit"], bikes["remaining"]) == ("bikes", None, None)
    assert taxi.keys() == {
        "dataset", "unit", "accountant", "spent", "reported", "limit", "each", "remaining",
        "warning", "also_charged_to", "limits", "charges",
    }  # fmt: skip
    assert taxi["spent"] == taxi["reported"] == {"epsilon": "3/5", "delta": "1/1000000"}
    assert (taxi["accountant"], taxi["charges"][0]["rho"]) == ("sequential", "0")
    first, second, third, _ = taxi["charges"]
    assert first["release"] == "release-1/3"
    assert (first["epsilon"], first["state"], first["source"]) == ("1/3", "published", LONG)
    assert first["parameters"] == {"max_records": 10, "split": {"items": "1"}}
    assert first["withdrawn"]["reason"] == "a wrong list of places"
    assert (second["request_id"], second["delta"]) == ("trips-2026-11", "1/1000000")
    assert (third["state"], third["voided"]) == ("voided", "nothing was drawn")


def test_sums_by_purpose_person_and_unit(books: Ledger) -> None:
    """What was voided is not spent; what does not say is a group of its own."""
    found = facts("--by", "purpose")
    assert (found["by"], [one["dataset"] for one in found["datasets"]]) == (
        "purpose", ["bikes", "taxi"],
    )  # fmt: skip
    assert found["datasets"][1]["groups"] == [
        {"name": "monthly report", "charges": 2, "epsilon": "1/2", "delta": "1/1000000",
         "rho": "0"},
        {"name": None, "charges": 1, "epsilon": "1/10", "delta": "0", "rho": "0"},
    ]  # fmt: skip
    (taxi,) = facts("taxi", "--by", "person")["datasets"]
    assert [(one["name"], one["epsilon"]) for one in taxi["groups"]] == [(ME, "3/5")]
    (taxi,) = facts("taxi", "--by", "unit")["datasets"]
    assert [(one["name"], one["charges"]) for one in taxi["groups"]] == [("user:driver", 3)]
    shown = crowdtally("ledger", "show", "--by", "purpose").out
    assert "Dataset 'taxi', by purpose:" in shown
    assert "  ε = 0.5, δ = 1e-6, 2 charges: monthly report\n" in shown
    assert "  ε = 0.1, 1 charge: (no purpose recorded)\n" in shown
    assert "a slip" not in shown


def test_words_of_a_person_move_no_cursor(books: Ledger) -> None:
    charge(books, "taxi", "1/9", purpose="a\x1b[2Jb\n    99-00000000  \u202efake", source="x\ny")
    ended = crowdtally("ledger", "show")
    assert "\x1b" not in ended.out
    assert "\u202e" not in ended.out
    assert "source    x\\ny\n" in ended.out
    assert "\x1b" not in crowdtally("ledger", "show", "--by", "purpose").out


def test_the_head_as_json(books: Ledger) -> None:
    found = json.loads(crowdtally("ledger", "show", "--head", "--json").out)
    assert found == {"ledger": books.location, "head": str(books.head())}
    assert crowdtally("ledger", "show", "--head").out == f"{books.head()}\n"
