"""The commands of ``ledger``: shown, limited, counted by zCDP, and recovered after a crash."""

from __future__ import annotations

import json
import os
import platform
import pwd
import signal
from pathlib import Path
from typing import Any

import pytest

import crowdtally as ct
from crowdtally.core.privacy import Delta, Epsilon, PrivacyUnit, Rho
from crowdtally.ledger import Asked, Charge, Ledger, Part
from kit.command import USAGE, Town, crowdtally
from kit.warm import start

# ---- ``ledger show``: who spent what, when and what for, and who changed a limit and why ---------


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


# ---- ``ledger`` for datasets that count by zCDP: made, limited, shown, and refused in words ------


LIMIT = ("--epsilon", "1", "--delta", "1e-9", "--accountant", "zcdp")


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    where = tmp_path / "ledger.sqlite"
    monkeypatch.setenv("CROWDTALLY_LEDGER", str(where))
    return where


def spend(path: Path, dataset: str, delta: object = 0) -> None:
    parts = [
        Part("items", None, "discrete-gaussian", {}, Delta.of(delta), rho=Rho.of("0.003")),
        Part("bound", Epsilon.of("0.1"), "exponential", selects=True),
        Part("popularity", Epsilon.of("0.05"), "discrete-laplace"),
    ]
    Ledger.open(path).reserve(dataset, UNIT, Charge.by_rho("release-1", parts))


def shown(*arguments: str) -> Any:
    return json.loads(crowdtally("ledger", "show", *arguments, "--json").out)["datasets"][0]


def test_an_epsilon_delta_budget(path: Path) -> None:
    made = crowdtally("ledger", "create", "taxi", *LIMIT, "--each", "0.9")
    assert made.code == 0, str(made)
    assert "remaining ρ = 0.0149730576735, or else pure ε = 1." in made.out
    assert "A single release may cost ε = 0.9, δ = 1e-9." in made.out
    spend(path, "taxi")
    told = " ".join(crowdtally("ledger", "show").out.split())
    assert "spent so far ε = 0.593578966617, δ = 1e-9 (ρ = 0.00425, pure ε = 0.05) of" in told
    assert "remaining ρ = 0.0094730576735, or else pure ε = 0.137644888561." in told
    assert "accountant: zcdp" in told
    assert "epsilon 0.05 rho 0.00425 reserved" in told
    facts = shown("taxi")
    assert facts["accountant"] == "zcdp"
    assert facts["spent"] == {
        "epsilon": "1/20", "delta": "0", "rho": "17/4000", "pure_rho": "1/800"
    }  # fmt: skip
    assert facts["reported"] == {"epsilon": "593578966617/1000000000000", "delta": "1/1000000000"}
    assert facts["remaining"]["rho"] == "18946115347/2000000000000"
    assert facts["charges"][0]["rho"] == "17/4000"
    groups = crowdtally("ledger", "show", "--by", "unit").out
    assert "ε = 0.05, ρ = 0.00425, 1 charge: user:driver" in groups
    assert crowdtally("ledger", "verify").code == 0


def test_a_budget_of_rho(path: Path) -> None:
    made = crowdtally("ledger", "create", "taxi", "--rho", "0.01", "--delta", "1e-9")
    assert "spent so far ρ = 0 of ρ = 0.01, δ = 1e-9; remaining ρ = 0.01, or" in made.out
    spend(path, "taxi", "1e-10")
    told = crowdtally("ledger", "show", "taxi").out.replace("\n", " ")
    assert "spent so far ρ = 0.0055, δ = 1e-10 (ρ = 0.00425, pure ε = 0.05," in told
    less = crowdtally("ledger", "limit", "taxi", "--rho", "0.006", "--reason", "decided")
    assert "of ρ = 0.006; remaining ρ = 0.0005" in less.out
    limits = crowdtally("ledger", "limit", "taxi", "--each-rho", "0.001", "--reason", "decided")
    assert "A single release may cost ρ = 0.001." in limits.out
    other = crowdtally("ledger", "limit", "taxi", *LIMIT[:4], "--reason", "decided")
    assert other.code == 2
    assert "give --rho R --delta D in place of --epsilon" in other.err
    assert "ρ = 0.01, δ = 1e-9 → ρ = 0.006" in crowdtally("ledger", "show").out
    assert crowdtally("ledger", "verify").code == 0


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        (("--epsilon", "1", "--accountant", "zcdp"), "needs a delta above 0"),
        (("--epsilon", "1", "--delta", "0", "--accountant", "zcdp"), "needs a delta above 0"),
        (("--epsilon", "1", "--delta", "1", "--accountant", "zcdp"), "below 1: received 1"),
        (("--epsilon", "1", "--delta", "0.11", "--accountant", "zcdp"), "one person in ten"),
        (("--epsilon", "1", "--rho", "1"), "received both"),
        (("--rho", "1", "--accountant", "sequential"), "rho does not add to them"),
        (("--rho", "0"), "rho must be greater than 0"),
        (("--rho", "much"), "rho must be an exact finite number"),
        (("--rho", "1", "--each", "1"), "needs a delta above 0"),
        (("--epsilon", "1", "--each-rho", "1", "--accountant", "sequential"), "rho does not add"),
        (("--epsilon", "1", "--delta", "1e-9", "--accountant", "renyi"), "sequential or zcdp"),
        (("--accountant", "zcdp"), "--epsilon E"),
        (("--delta", "1e-9", "--accountant", "zcdp"), "needs one on epsilon"),
    ],
)
def test_slips_leave_nothing_behind(path: Path, typed: tuple[str, ...], words: str) -> None:
    ended = crowdtally("ledger", "create", "taxi", *typed)
    assert ended.code in {1, 2}, str(ended)  # 1 where there is no ledger to look a limit up in
    assert words in ended.err or "there is no ledger" in ended.err
    assert not path.exists()
    crowdtally("ledger", "create", "other", "--epsilon", "1")
    before = path.read_bytes()
    again = crowdtally("ledger", "create", "taxi", *typed)
    assert (again.code, words in again.err) == (2, True), str(again)
    assert path.read_bytes() == before


def test_rho_for_a_pure_dataset(path: Path) -> None:
    crowdtally("ledger", "create", "taxi", "--epsilon", "1")
    before = path.read_bytes()
    for typed in (("--rho", "0.1"), ("--each-rho", "0.1")):
        ended = crowdtally("ledger", "limit", "taxi", *typed, "--reason", "why")
        assert ended.code == 2
        assert "--epsilon E --delta D --accountant zcdp" in ended.err
    assert path.read_bytes() == before


def test_a_release_says_all_that_was_spent(path: Path, tmp_path: Path) -> None:
    """ε and ρ each by itself: neither is the other."""
    records = tmp_path / "trips.csv"
    records.write_text("driver,place\n1,a\n2,b\n")
    (tmp_path / "places.csv").write_text("place\na\nb\n")
    crowdtally("ledger", "create", "taxi", "--epsilon", "9", "--delta", "1e-9", *LIMIT[4:])
    typed = (
        "release", str(records), "--user", "driver", "--item", "place", "--items",
        str(tmp_path / "places.csv"), "--epsilon", "1/2", "--dataset", "taxi",
        "--method", "sra:max-records=1",
    )  # fmt: skip
    first = crowdtally(*typed, "-o", str(tmp_path / "one"))
    assert first.code == 0, str(first)
    charged = json.loads((tmp_path / "one" / "release.json").read_text())["charged"]
    nothing = {"epsilon": "0", "delta": "0", "rho": "0", "pure_rho": "0"}
    assert charged["spent_before"] == nothing
    assert charged["spent_after"] == nothing | {"epsilon": "0.5", "pure_rho": "0.125"}
    spend_unit = PrivacyUnit("user", "driver")
    noise = Part("items", None, "discrete-gaussian", rho=Rho.of("0.003"))
    Ledger.open(path).reserve("taxi", spend_unit, Charge.by_rho("release-1", [noise]))
    second = crowdtally(*typed, "-o", str(tmp_path / "two"))
    assert second.code == 0, str(second)
    charged = json.loads((tmp_path / "two" / "release.json").read_text())["charged"]
    assert charged["spent_before"] == nothing | {
        "epsilon": "0.5", "rho": "0.003", "pure_rho": "0.125"
    }  # fmt: skip
    assert charged["spent_after"] == nothing | {"epsilon": "1", "rho": "0.003", "pure_rho": "0.25"}
    assert charged["limit"] == nothing | {"epsilon": "9", "delta": "1e-9"}


# ---- A run that was killed: how the command line shows it, and how to recover --------------------


DIES = """
import os, signal, sys
from crowdtally import cli
from crowdtally.ledger import Ledger
from crowdtally.format import Staged

owner, name = {"mark": (Ledger, "mark_published"), "rename": (Staged, "commit")}[sys.argv.pop(1)]
setattr(owner, name, lambda *_: os.kill(os.getpid(), signal.SIGKILL))
cli.main()
"""


def killed(town: Town, moment: str) -> tuple[str, Path]:
    """The charge and the folder of a release that was killed just before the mark or the rename."""
    with open(os.devnull, "r+") as nothing:
        fds = (nothing.fileno(),) * 3
        words = [moment, *town.arguments()]
        running = start(words, town.folder, fds, os.environ, script=DIES)
        assert running.wait() == -signal.SIGKILL
    (folder,) = town.folder.glob(".out.*.part")
    (charged,) = Ledger.open(town.ledger, create=True).charges()
    return charged.id, folder


def test_killed_before_the_mark(town: Town) -> None:
    charge, folder = killed(town, "mark")
    shown = crowdtally("ledger", "show").out
    assert f"unfinished: {folder.resolve()} exists" in shown
    assert f"ledger void {charge} --reason TEXT --delete-staged" in shown
    refused = crowdtally("ledger", "void", charge, "--reason", "killed")
    assert refused.code == USAGE
    assert "--delete-staged" in refused.err
    assert folder.exists()
    voided = crowdtally("ledger", "void", charge, "--reason", "killed", "--delete-staged")
    assert voided.code == 0, voided
    assert "spent so far ε = 0" in voided.out
    assert not folder.exists()
    assert f"{charge}" in crowdtally("ledger", "show").out
    assert "unfinished" not in crowdtally("ledger", "show").out


def test_killed_between_the_mark_and_the_rename(town: Town) -> None:
    charge, folder = killed(town, "rename")
    assert "paid for, but not in place" in crowdtally("ledger", "show").out
    refused = crowdtally("ledger", "void", charge, "--reason", "killed", "--delete-staged")
    assert refused.code == USAGE
    assert "published and cannot be voided" in refused.err
    folder.rename(town.folder / "out")
    assert len(ct.load("out").top(3)) == 3
    assert "not in place" not in crowdtally("ledger", "show").out


@pytest.mark.parametrize("moment", ["mark", "rename"])
def test_an_unfinished_folder_is_ones_own(town: Town, moment: str) -> None:
    """Nobody else reads what is not paid for; a finished release has the usual rights."""
    _, folder = killed(town, moment)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert crowdtally(*town.arguments(output="whole")).code == 0
    beside = town.folder / "beside"
    beside.mkdir()
    assert (town.folder / "whole").stat().st_mode == beside.stat().st_mode
