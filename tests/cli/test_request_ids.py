"""``--request-id`` and ``--purpose``, whole: as a scheduler would use them, and in Python."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import crowdtally as ct
from crowdtally.core.privacy import Epsilon, PrivacyUnit
from crowdtally.curator import publish
from crowdtally.errors import UsageError
from crowdtally.ledger import Asked, Charge, Ledger, LedgerError, Part
from kit.command import Ended, crowdtally

KEY = "visits-week-47"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Records, a list, and a ledger with room for one release."""
    (tmp_path / "visits.csv").write_text("who,item,day\na,x,Mon\na,y,Tue\nb,x,Mon\nc,y,Mon\n")
    (tmp_path / "items.csv").write_text("item\nx\ny\nz\n")
    with Ledger.open(tmp_path / "ledger.sqlite", create=True) as ledger:
        ledger.create("town", epsilon=1)
    return tmp_path


def run(home: Path, *more: str, key: str | None = KEY) -> Ended:
    typed = ["--epsilon", "1", "-o", home / "out", *(["--request-id", key] if key else [])]
    return crowdtally(
        "release", home / "visits.csv", "--user", "who", "--item", "item", "--items",
        home / "items.csv", "--dataset", "town", "--ledger", home / "ledger.sqlite", *typed, *more,
    )  # fmt: skip


def charges(home: Path) -> list[Any]:
    with Ledger.open(home / "ledger.sqlite") as ledger:
        return ledger.charges()


def test_a_job_that_is_run_again(home: Path) -> None:
    first = run(home, "--json", "--purpose", "weekly report")
    assert first.code == 0, first.err
    again = run(home, "--json")
    assert (again.code, again.out) == (0, first.out)
    assert "This request was made before" in again.err
    assert "Nothing was charged and no record was read" in again.err
    assert "Charged epsilon" in first.err
    assert "Charged epsilon" not in again.err
    (charged,) = charges(home)
    assert charged.asked.purpose == "weekly report"
    assert charged.asked.source == str((home / "visits.csv").resolve())
    assert charged.asked.output == str(home.resolve() / "out")
    assert charged.asked.parameters["items"]["size"] == 3
    assert json.loads(first.out)["charged"]["entry"] == charged.id


def test_a_charge_that_is_taken_up_is_not_said_to_be_another(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise LedgerError("the disk reports an error.")

    with monkeypatch.context() as here:
        here.setattr(Ledger, "start_drawing", fails)
        assert run(home).code == 1
    again = run(home)
    assert again.code == 0
    (charged,) = charges(home)
    assert f"(entry {charged.id}): nothing more was charged now" in again.err


def test_another_request_under_the_same_id(home: Path) -> None:
    assert run(home, "--max-records", "10").code == 0
    other = run(home, "--max-records", "3")
    assert other.code == 2
    assert "--max-records was 10 and is 3" in other.err
    (home / "items.csv").write_text("item\nx\nz\ny\n")
    other = run(home)
    assert other.code == 2
    assert "--items was a list of 3 (SHA-256 " in other.err
    assert len(charges(home)) == 1


def test_what_others_recorded_under_the_id_is_only_text(home: Path) -> None:
    """A terminal obeys nothing of it, and no field of it has to be there."""
    share = Epsilon.of("1/2")
    parameters = {"items": {"sha256": 5}, "k\x1b[2J": "\x1b[31m\x9b"}
    with Ledger.open(home / "ledger.sqlite") as ledger:
        ledger.reserve(
            "town", PrivacyUnit("user", "who"), Charge("r", share, (Part("items", share, "any"),)),
            asked=Asked(parameters=parameters, request_id=KEY),
        )  # fmt: skip
    other = run(home)
    assert other.code == 2
    assert "--items was a list of None (SHA-256 5…) and is a list of 3" in other.err
    assert "--k\\x1b[2J was \\x1b[31m\\x9b and is not given" in other.err
    assert not {"\x1b", "\x9b"} & set(other.err)


def test_a_new_id_finds_the_budget_spent_or_the_folder_taken(home: Path) -> None:
    assert run(home).code == 0
    both = run(home, key="another")  # told together, as without an id
    assert both.code == 2
    assert "never replaces anything" in both.err
    assert "The budget is used up" in both.err
    (home / "out").rename(home / "aside")
    assert run(home, key="another").code == 3
    (home / "aside").rename(home / "out")
    with Ledger.open(home / "ledger.sqlite") as ledger:
        ledger.set_limit("town", epsilon=2, reason="one more")
    taken = run(home, key="another")
    assert taken.code == 2
    assert "never replaces anything" in taken.err
    assert len(charges(home)) == 1


def test_a_release_that_was_moved_or_changed(home: Path) -> None:
    assert run(home).code == 0
    (home / "out").rename(home / "moved")
    gone = run(home)
    assert gone.code == 1
    assert "it was moved or deleted" in gone.err
    (home / "moved").rename(home / "out")
    table = home / "out" / "items.parquet"
    table.write_bytes(table.read_bytes()[:-1] + b"?")
    assert run(home).code == 4


@pytest.mark.parametrize("key", ["", " x", "x" * 201])
def test_ids_that_are_no_ids(home: Path, key: str) -> None:
    refused = run(home, "--request-id", key, key=None)
    assert refused.code == 2
    assert "--request-id is one line" in refused.err
    assert charges(home) == []


def test_a_dry_run_of_a_request_that_was_made(home: Path) -> None:
    assert run(home, "--dry-run").code == 0
    assert run(home).code == 0
    again = run(home, "--dry-run")
    assert again.code == 0
    assert "is not charged again" in again.err


def test_in_python(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = pa.table({"who": list("aabbc"), "item": list("xyxyx")})

    def release(**more: Any) -> ct.Release:
        given: dict[str, Any] = {
            "epsilon": 1, "output": home / "made", "request_id": KEY, "max_records": 10,
        }  # fmt: skip
        return ct.release(
            ct.read(rows, user="who", item="item"), ct.Domain(["x", "y"]), dataset="town",
            ledger=home / "ledger.sqlite", **given | more,
        )  # fmt: skip

    first = release()
    monkeypatch.setattr(publish, "prepare", lambda *_: pytest.fail("records were read"))
    again = release()
    assert again.metadata == first.metadata
    assert again.top(2).rows == first.top(2).rows
    with pytest.raises(UsageError, match="max_records was 10 and is 3"):
        release(max_records=3)
    with pytest.raises(UsageError, match="request_id needs a folder for the release, output=DIR"):
        release(output=None)
    for purpose in ("", 7):
        with pytest.raises(UsageError, match="the purpose must be a non-empty text"):
            release(purpose=purpose)
    assert len(charges(home)) == 1


def test_a_sketch_is_shown_again(home: Path) -> None:
    """Its seed is fresh in each run, and no part of what was asked for."""
    options = ("--transform", "sketch", "--buckets", "2")
    assert run(home, *options).code == 0
    assert run(home, *options).code == 0
    assert len(charges(home)) == 1
