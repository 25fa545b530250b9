"""Which ledger and dataset are charged, and what is refused because nobody made it."""

from __future__ import annotations

import json
import logging
import os
from pathlib import Path

import pytest

import crowdtally as ct
from crowdtally.errors import CrowdtallyError
from crowdtally.ledger import Ledger, MissingLedgerError
from crowdtally.ledger.database import location
from crowdtally.ledger.database.location import choose
from kit.command import BUDGET, FAILURE, INPUT, USAGE, Ended, Town, at_terminal, crowdtally

# ---- Which ledger is used, and why: what is named and cannot be obeyed is an error ---------------


SECRET = "s3cret"


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The computer's own setting, which names no ledger yet, of an account without a ledger."""
    found = tmp_path / "etc" / "config.toml"
    found.parent.mkdir()
    monkeypatch.setattr(location, "path", lambda: found)
    monkeypatch.delenv("CROWDTALLY_LEDGER", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home" / "data"))
    return found


def test_the_first_that_says_anything(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = choose(None)
    assert (own.by, str(own.place)) == (
        "default", str(tmp_path / "home" / "data" / "crowdtally" / "ledger.sqlite"),
    )  # fmt: skip
    config.write_text('# ours\nledger = "/srv/budget/ledger.sqlite"\n')
    assert (choose(None).by, str(choose(None).place)) == (
        "system-file", "/srv/budget/ledger.sqlite",
    )  # fmt: skip
    monkeypatch.setenv("CROWDTALLY_LEDGER", "/tmp/mine.sqlite")
    assert (choose(None).by, str(choose(None).place)) == ("variable", "/tmp/mine.sqlite")
    assert (choose("/a/b").by, str(choose("/a/b").place)) == ("named", "/a/b")
    monkeypatch.setenv("CROWDTALLY_LEDGER", "")
    assert choose(None).by == "system-file"
    config.write_bytes(b'\xef\xbb\xbfledger = "postgresql://ana:s3cret@budget.example/ledger"\r\n')
    assert str(choose(None).place) == "postgresql://ana@budget.example/ledger"


BROKEN = {
    "no TOML": f"ledger = postgresql://ana:{SECRET}@h/db\n".encode(),
    "an open quote": f'ledger = "postgresql://ana:{SECRET}@h/db\n'.encode(),
    "no UTF-8": b'ledger = "\xff"\n',
    "another key": f'ledgr = "postgresql://ana:{SECRET}@h/db"\n'.encode(),
    "a key more": b'ledger = "/srv/l.sqlite"\nlimit = 3\n',
    "a password as a key": f'"postgresql://ana:{SECRET}@h" = 1\n'.encode(),
    "nothing": b"",
    "a blank name": b'ledger = "  "\n',
    "a number": b"ledger = 5\n",
    "a relative path": b'ledger = "ledger.sqlite"\n',
    "a relative URL": b'ledger = "sqlite:///ledger.sqlite"\n',
    "an account's path": b'ledger = "~/ledger.sqlite"\n',
    "another database": f'ledger = "mysql://ana:{SECRET}@h/db"\n'.encode(),
    "a number beyond measure": b"ledger = " + b"1" * 5000 + b"\n",
    "lists beyond measure": b"ledger = " + b"[" * 5000 + b"\n",
    "an end of text within": f'ledger = "/srv/{SECRET}\\u0000"\n'.encode(),
    "an unreadable URL": f'ledger = "postgresql://ana:{SECRET}@h:port/db"\n'.encode(),
}


@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN)
def test_a_setting_that_cannot_be_obeyed(config: Path, content: bytes) -> None:
    config.write_bytes(content)
    with pytest.raises(CrowdtallyError) as caught:
        choose(None)
    assert str(config) in str(caught.value)
    assert SECRET not in str(caught.value)
    assert choose("/a/b").by == "named"  # whoever names one does not need it


def test_a_setting_that_cannot_be_read(config: Path) -> None:
    config.mkdir()
    with pytest.raises(CrowdtallyError, match="cannot be read"):
        choose(None)


def test_a_broken_setting_charges_no_other_ledger(town: Town, config: Path) -> None:
    os.environ.pop("CROWDTALLY_LEDGER", None)
    config.write_text("ledger = nonsense\n")
    home = config.parent.parent / "home"
    for arguments in (
        town.arguments(), ["plan", *town.arguments(output=None)[1:]], ["ledger", "show"],
        ["ledger", "create", "visits", "--epsilon", "1"],
    ):  # fmt: skip
        town.refuses(arguments, FAILURE, str(config), "no TOML (at line 1, column 10)")
    assert not home.exists()


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """The self-test itself is tested elsewhere."""
    from crowdtally import check

    monkeypatch.setattr(check, "run", lambda: {"exact noise": None})


def checked() -> tuple[Ended, dict[str, object]]:
    ended = crowdtally("check", "--json")
    return ended, json.loads(ended.out)["ledger"]


@pytest.mark.usefixtures("quick")
def test_check_says_which_ledger_and_why(
    town: Town, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended, ledger = checked()
    assert (ended.code, ledger["by"], ledger["exists"]) == (0, "default", False)
    assert "there is none yet" in crowdtally("check").out
    config.write_text(f'ledger = "{town.ledger}"\n')
    assert crowdtally("ledger", "create", "visits", "--epsilon", "1").code == 0
    ended, ledger = checked()
    assert ended.code == 0
    assert ledger == {
        "location": str(town.ledger), "by": "system-file", "exists": True,
        "why": f"as {config} says for every account of this computer", "problem": None,
    }  # fmt: skip
    assert f"ok    ledger in use: {town.ledger} (as {config} says" in crowdtally("check").out
    monkeypatch.setenv("CROWDTALLY_LEDGER", str(town.folder / "places.csv"))
    ended, ledger = checked()
    assert ended.code == FAILURE
    assert ledger["by"] == "variable"
    assert "not a Crowdtally ledger" in str(ledger["problem"]) or "damaged" in str(
        ledger["problem"]
    )
    assert "FAIL  ledger in use" in crowdtally("check").out


@pytest.mark.usefixtures("quick")
def test_check_on_a_broken_setting(config: Path) -> None:
    config.write_text(f'ledger = "postgresql://ana:{SECRET}@h"x\n')
    ended, ledger = checked()
    assert ended.code == FAILURE
    assert ledger["location"] is None
    assert "no TOML" in str(ledger["problem"])
    assert SECRET not in str(ended)
    assert f"FAIL  ledger in use: {config}" in crowdtally("check").out


def test_where_the_setting_is(monkeypatch: pytest.MonkeyPatch) -> None:
    found = {}
    for name in ("linux", "darwin", "win32"):
        monkeypatch.setattr("sys.platform", name)
        monkeypatch.setenv("PROGRAMDATA", r"D:\Data")
        found[name] = str(location.path())
    assert found["linux"] == "/etc/crowdtally/config.toml"
    assert found["darwin"] == "/Library/Application Support/crowdtally/config.toml"
    assert found["win32"].startswith("D:\\Data")


# ---- A ledger or dataset that nobody made is refused, and nothing is left behind -----------------


def closed(town: Town, **options: str | None) -> list[str]:
    """A release that does not say that its dataset is new."""
    return [word for word in town.arguments(**options) if word != "--new-dataset"]


def test_a_ledger_that_does_not_exist(town: Town) -> None:
    town.refuses(closed(town), FAILURE, "there is no ledger at", str(town.ledger), "--new-dataset")
    assert list(town.ledger.parent.iterdir()) == []
    elsewhere = town.folder / "no" / "such" / "l.sqlite"
    town.refuses(closed(town, ledger=str(elsewhere)), FAILURE, "there is no ledger at")


def test_refused_before_a_list_or_a_record_is_read(town: Town) -> None:
    """What cannot be read would be exit code 4."""
    (town.folder / "records.parquet").write_bytes(b"PAR1 damaged")
    town.refuses(closed(town, items="nowhere.csv"), FAILURE, "there is no ledger at")
    assert crowdtally("ledger", "create", "visits", "--epsilon", "1").code == 0
    wrong = closed(town, items="nowhere.csv", dataset="vists")
    town.refuses(wrong, USAGE, "Did you mean 'visits'?", "--new-dataset", "nothing was charged")


def test_a_ledger_with_almost_this_name_is_suggested(town: Town) -> None:
    assert crowdtally("ledger", "create", "visits", "--epsilon", "1").code == 0
    slip = town.ledger.with_name("Ledgre.sqlite")
    town.refuses(closed(town, ledger=str(slip)), FAILURE, f"Did you mean {town.ledger}?")
    town.write("ledgers.sqlite", "not a database")
    beside = str(town.folder / "ledger.sqlite")
    told = town.refuses(closed(town, ledger=beside), FAILURE, "there is no ledger at")
    assert "Did you mean" not in told.err


def test_new_dataset_makes_both_and_is_no_matter_where_they_exist(town: Town) -> None:
    for number in (1, 2):
        ended = crowdtally(*town.arguments(dataset="visits", output=f"out-{number}"))
        assert ended.code == 0, str(ended)
    (balance,) = Ledger.open(town.ledger).datasets()
    assert (balance.dataset, balance.spent.epsilon, balance.limit) == ("visits", 2, None)
    assert crowdtally(*closed(town, dataset="visits", output="out-3")).code == 0
    town.refuses(closed(town, dataset="Visits", output="x"), USAGE, "Did you mean 'visits'?")


@pytest.mark.parametrize(
    ("slip", "code"), [({"records": "recrods.parquet"}, INPUT), ({"dataset": " visits"}, USAGE)]
)
def test_a_slip_leaves_no_empty_ledger(town: Town, slip: dict[str, str], code: int) -> None:
    town.refuses(town.arguments(**slip), code)
    assert list(town.ledger.parent.iterdir()) == []


@pytest.mark.parametrize("records", ["recrods.parquet", "recrods-*.parquet"])
def test_a_slip_without_lists_leaves_no_empty_ledger(town: Town, records: str) -> None:
    arguments = town.arguments(
        records, items=None, delta="1e-6", dataset="visits", method=None, discover="item"
    )
    town.refuses(arguments, INPUT, "recrods")
    assert list(town.ledger.parent.iterdir()) == []


def test_python_is_closed_too(town: Town) -> None:
    records = ct.read("records.parquet", user="user_id", item="place")
    places = ct.Domain(ct.read_list("places.csv", "place"))
    with pytest.raises(MissingLedgerError, match="new_dataset=True") as caught:
        ct.release(records, places, epsilon=1, method=ct.SRA(10))
    assert "--new-dataset" not in str(caught.value)
    assert not town.ledger.exists()
    ct.release(records, places, epsilon=1, dataset="visits", new_dataset=True, method=ct.SRA(10))
    with pytest.raises(ct.UsageError, match="Did you mean 'visits'") as refused:
        ct.release(records, places, epsilon=1, dataset="visit", method=ct.SRA(10))
    assert "new_dataset=True" in str(refused.value)
    assert "--" not in str(refused.value)
    assert ct.release(records, places, epsilon=1, dataset="visits", method=ct.SRA(10)).metadata[
        "charged"
    ]


def test_a_release_says_what_it_charged(town: Town) -> None:
    ended = crowdtally(*town.arguments(dataset="visits"))
    assert f"Charged epsilon 1 to dataset 'visits' of the ledger {town.ledger};" in ended.err


def test_plans_only_look(town: Town) -> None:
    """A named ledger must exist; a dataset that does not is told, and what it takes."""
    options = closed(town, output=None, dataset="vists")[1:]
    for verb in (["plan"], ["release", "--dry-run"]):
        town.refuses([*verb, *options], FAILURE, "there is no ledger at", str(town.ledger))
        ended = crowdtally(*verb, *options, "--new-dataset")
        assert ended.code == 0, str(ended)
        assert "Dataset 'vists' does not exist yet" in ended.out
    assert not town.ledger.exists()
    assert crowdtally("ledger", "create", "visits", "--epsilon", "1").code == 0
    before = town.charged()
    for verb in (["plan"], ["release", "--dry-run"]):
        ended = crowdtally(*verb, *options)
        assert ended.code == 0, str(ended)
        assert "does not exist yet, so nothing was spent. Did you mean 'visits'?" in ended.out
        assert "crowdtally ledger create vists --epsilon E" in ended.out
        told = crowdtally(*verb, *options, "--json")
        assert "does not exist yet" in told.err
    assert town.charged() == before


def alone(town: Town, tmp_path: Path) -> dict[str, str]:
    """An account that named no ledger."""
    return {"HOME": str(tmp_path / "home"), "CROWDTALLY_LEDGER": "", "XDG_DATA_HOME": ""}


def own_ledgers(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "home").rglob("ledger.sqlite"))


def test_ones_own_ledger_is_made_on_first_use_at_a_terminal(town: Town, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    env = alone(town, tmp_path)
    lost = at_terminal(*closed(town, records="recrods.csv"), folder=town.folder, env=env)
    assert lost.code == INPUT, lost.shown
    assert own_ledgers(tmp_path) == []
    first = at_terminal(*closed(town), "--yes", folder=town.folder, env=env)
    assert first.code == 0, first.shown
    (ledger,) = own_ledgers(tmp_path)
    told = first.shown.replace("\r\n", "\n")
    for words in (
        "a ledger was made", str(ledger), "without a limit so far", "ledger limit", "--ledger",
        "CROWDTALLY_LEDGER", "needs --new-dataset",
    ):  # fmt: skip
        assert words in told
    again = at_terminal(
        *closed(town, output="two", dataset="other"), "--yes", folder=town.folder, env=env
    )
    assert again.code == USAGE, again.shown
    assert "--new-dataset" in again.shown
    assert [len(Ledger.open(ledger).charges()), (town.folder / "two").exists()] == [1, False]


def test_a_named_ledger_is_not_made_at_a_terminal(town: Town) -> None:
    session = at_terminal(*closed(town), folder=town.folder)
    assert session.code == FAILURE, session.shown
    assert "there is no ledger at" in session.shown
    assert list(town.ledger.parent.iterdir()) == []


def test_ones_own_ledger_is_not_made_without_a_terminal(
    town: Town, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "home").mkdir()
    for name, value in alone(town, tmp_path).items():
        monkeypatch.setenv(name, value)
    town.refuses(closed(town), FAILURE, "there is no ledger at", "--new-dataset")
    assert list((tmp_path / "home").iterdir()) == []


def test_from_80_percent_on_the_limit_is_spoken_of(
    town: Town, caplog: pytest.LogCaptureFixture
) -> None:
    assert crowdtally("ledger", "create", "visits", "--epsilon", "5").code == 0
    silent = crowdtally(*town.arguments(dataset="visits", epsilon="3.9", output="a"))
    assert silent.code == 0, str(silent)
    assert "% of the" not in silent.err
    words = "80% of the ε that dataset 'visits' may ever spend is spent: 4 of 5."
    told = crowdtally(*town.arguments(dataset="visits", epsilon="0.1", output="b"))
    assert told.err.count(words) == 1
    plan = crowdtally("plan", *town.arguments(dataset="visits", output=None)[1:])
    assert words in plan.out
    assert words in " ".join(crowdtally("ledger", "show").out.split())
    records = ct.read("records.parquet", user="user_id", item="place")
    with caplog.at_level(logging.WARNING, "crowdtally"):
        places = ct.Domain(ct.read_list("places.csv", "place"))
        ct.release(records, places, epsilon="0.5", dataset="visits", method=ct.SRA(10))
    assert any("90% of the ε that dataset 'visits'" in said.message for said in caplog.records)
    assert not any("crowdtally ledger" in said.message for said in caplog.records)


def test_a_source_under_several_names_is_remarked_on(town: Town) -> None:
    alone = crowdtally(*town.arguments(dataset="visits", output="a"))
    assert "were charged to" not in alone.err
    told = crowdtally(*town.arguments(dataset="towns", output="b"))
    assert told.code == 0
    assert "were charged to 'visits' too: the same people have one budget" in told.err
    shown = " ".join(crowdtally("ledger", "show", "visits").out.split())
    assert "were charged to 'towns' too" in shown


def test_a_limit_on_single_releases(town: Town) -> None:
    created = crowdtally("ledger", "create", "visits", "--epsilon", "5", "--each", "1/2")
    assert "A single release may cost ε = 0.5." in created.out
    town.refuses(town.arguments(dataset="visits"), BUDGET, "may cost at most ε = 0.5", "asks for 1")
    assert crowdtally(*town.arguments(dataset="visits", epsilon="1/2")).code == 0
    lifted = crowdtally("ledger", "limit", "visits", "--each", "none", "--reason", "agreed")
    assert "of ε = 5" in lifted.out
    assert "single release" not in lifted.out
    assert crowdtally(*town.arguments(dataset="visits", output="two")).code == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["limit", "visits", "--epsilon", "9"], "--reason"),
        (["limit", "visits", "--epsilon", "9", "--reason", " "], "reason"),
        (["limit", "visits", "--reason", "agreed"], "--epsilon E|none, --each E|none"),
        (
            ["limit", "visits", "--epsilon", "9", "--each-delta", "0", "--reason", "a"],
            "delta needs",
        ),
        (["limit", "visits", "--each", "1", "--delta", "0", "--reason", "a"], "delta needs"),
        (["limit", "visits", "--epsilon", "none", "--delta", "0", "--reason", "a"], "delta needs"),
        (["limit", "vists", "--epsilon", "9", "--reason", "a"], "Did you mean 'visits'?"),
        (["limit", "visits", "--epsilon", "-1", "--reason", "a"], "-1"),
        (["create", "visits", "--epsilon", "9"], "crowdtally ledger limit visits"),
        (["create", "new", "--epsilon", "9", "--each-delta", "1e-9"], "epsilon too"),
        (["void", "2-00000000", "--reason", ""], "reason"),
        (["show", "--by", "persons"], "Did you mean 'person'?"),
        (["show", "visits", "--head"], "--head is about the whole ledger"),
        (["show", "vists"], "Did you mean 'visits'?"),
    ],
)
def test_what_a_ledger_refuses(town: Town, arguments: list[str], words: str) -> None:
    assert crowdtally("ledger", "create", "visits", "--epsilon", "5").code == 0
    town.refuses(["ledger", *arguments], USAGE, words)


@pytest.mark.parametrize("more", [["--epsilon", "much"], ["--epsilon", "1", "--each", "0"]])
def test_a_slip_in_create_makes_no_ledger(town: Town, more: list[str]) -> None:
    town.refuses(["ledger", "create", "visits", *more], USAGE, "epsilon")
    town.refuses(["ledger", "create", " ", "--epsilon", "1"], USAGE, "name")
    assert list(town.ledger.parent.iterdir()) == []
    made = crowdtally("ledger", "create", "visits", "--epsilon", "1")
    assert f"Made the ledger {town.ledger}." in made.err
