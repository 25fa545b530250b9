"""``release`` as a scheduler and a person type it: folders, request ids, people."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import crowdtally as ct
from crowdtally.core.privacy import Epsilon, PrivacyUnit
from crowdtally.curator import publish
from crowdtally.errors import CrowdtallyError, UsageError
from crowdtally.ledger import Asked, Charge, Ledger, LedgerError, Part
from kit.command import INPUT, USAGE, Ended, Town, crowdtally

# ---- ``--request-id`` and ``--purpose``, whole: as a scheduler would use them, and in Python -----


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
    assert run(home, "--method", "sra:max-records=10").code == 0
    other = run(home, "--method", "sra:max-records=3")
    assert other.code == 2
    assert "max-records was 10 and is 3" in other.err
    (home / "items.csv").write_text("item\nx\nz\ny\n")
    other = run(home)
    assert other.code == 2
    assert "items was a list of 3 (SHA-256 " in other.err
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
    assert "items was a list of None (SHA-256 5…) and is a list of 3" in other.err
    assert "k\\x1b[2J was \\x1b[31m\\x9b and is not given" in other.err
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
            "epsilon": 1, "output": home / "made", "request_id": KEY, "method": ct.SRA(10),
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
    with pytest.raises(UsageError, match="max-records was 10 and is 3"):
        release(method=ct.SRA(3))
    with pytest.raises(UsageError, match="request_id needs a folder for the release, output=DIR"):
        release(output=None)
    for purpose in ("", 7):
        with pytest.raises(UsageError, match="the purpose must be a non-empty text"):
            release(purpose=purpose)
    assert len(charges(home)) == 1


def test_a_sketch_is_shown_again(home: Path) -> None:
    """Its seed is fresh in each run, and no part of what was asked for."""
    options = ("--transform", "sketch:buckets=2")
    assert run(home, *options).code == 0
    assert run(home, *options).code == 0
    assert len(charges(home)) == 1


# ---- A mistyped output folder is told, and hides no other mistake in the same command ------------


MISTAKES = {
    "epsilon": ({"epsilon": "-1"}, "epsilon"),
    "the bound of records": ({"method": "sra:max-records=0"}, "max_records of SRA"),
    "the rule of bounding": ({"method": "sar"}, "'sar'"),
    "two options at odds": ({"method": "sra:scalings=2"}, "scalings"),
    "the kind of publishing": ({"summary": "filtre"}, "'filtre'"),
    "a size without its publishing": ({"summary": "dense:size=10"}, "size"),
    "no items": ({"items": None}, "--items"),
}


@pytest.mark.parametrize("folder", ["nowhere/out", "taken"])
def test_the_folder_alone(town: Town, folder: str) -> None:
    (town.folder / "taken").mkdir()
    words = "'nowhere' is not a folder" if folder == "nowhere/out" else "'taken' exists"
    town.refuses(town.arguments(output=folder), USAGE, words)


@pytest.mark.parametrize("folder", ["nowhere/out", "taken"])
@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistyped_folder_hides_no_other_mistake(town: Town, folder: str, mistake: str) -> None:
    (town.folder / "taken").mkdir()
    options, words = MISTAKES[mistake]
    town.refuses(town.arguments(**options), USAGE, words)
    town.refuses(town.arguments(**options, output=folder), USAGE, words)


def test_the_folder_is_looked_at_before_the_records(town: Town) -> None:
    """Nothing is read for a release that could not be written."""
    town.write("broken.csv", 'user_id,place\n"Zaphod-1,bar\n')
    town.refuses(town.arguments("broken.csv", output="nowhere/out"), USAGE, "is not a folder")


# ---- Ids of several columns, persons with several ids and quantities, as typed: good and bad
#      input


IDS = [f"Zaphod-{number}" for number in range(37)]


@pytest.fixture
def known(town: Town) -> Town:
    """A town with tables of who is who."""
    persons = [f"Xanadu-{number % 5}" for number in range(37)]
    town.table("who.parquet", user_id=IDS, person=persons)
    town.table("wide.parquet", user_id=IDS, person=persons, since=list(range(37)))
    town.table("twice.parquet", user_id=[*IDS, IDS[3], IDS[4]], person=[*persons, "Qwghlm", "x"])
    town.table("bare.parquet", user_id=IDS)
    town.table("other.parquet", uid=IDS, person=persons)
    return town


def stated(town: Town, name: str = "out") -> dict[str, Any]:
    found: dict[str, Any] = json.loads((town.folder / name / "release.json").read_text())
    return found


def test_a_release_says_what_a_user_is(known: Town) -> None:
    ended = crowdtally(*known.arguments(user="user_id, weekday", dataset="pairs"))
    assert ended.code == 0, ended
    facts = stated(known)
    assert facts["guarantee"]["unit"] == {"kind": "user", "column": "user_id, weekday"}
    assert facts["records"]["user"] == ["user_id", "weekday"]
    words = "A user is one combination of 'user_id' and 'weekday'."
    assert facts["guarantee"]["words"].endswith(words)


def test_a_release_says_that_a_person_is_protected(known: Town) -> None:
    ended = crowdtally(*known.arguments(same_person="wide.parquet:person", dataset="persons"))
    assert ended.code == 0, ended
    facts = stated(known)
    assert facts["guarantee"]["unit"] == {"kind": "same-person", "column": "user_id"}
    assert facts["records"]["same_person"] is True
    assert "all records of one person, under all ids" in facts["guarantee"]["words"]
    again = known.arguments(dataset="persons", output="again")
    known.refuses(again, USAGE, "'same-person:user_id'", "'user:user_id'", "do not add up")


def test_a_ledger_that_counts_by_person(known: Town) -> None:
    create = ["ledger", "create", "city", "--epsilon", "3", "--user", "user_id"]
    ended = crowdtally(*create, "--same-person")
    assert ended.code == 0, ended
    plain = known.arguments(dataset="city")
    known.refuses(plain, USAGE, "'same-person:user_id'", "'user:user_id'")
    ended = crowdtally(*known.arguments(dataset="city", same_person="who.parquet"))
    assert ended.code == 0, ended
    known.refuses(["ledger", "create", "x", "--epsilon", "3", "--same-person"], USAGE, "--user COL")
    ended = crowdtally("ledger", "create", "two", "--epsilon", "3", "--user", "user_id,weekday")
    assert ended.code == 0, ended
    ended = crowdtally(*known.arguments(dataset="two", user="user_id,weekday", output="two"))
    assert ended.code == 0, ended


def test_rows_that_were_bounded_elsewhere(known: Town) -> None:
    """From the command to the reader: each of them says whose statement it is."""
    given = {"user": None, "method": None, "bounded_to": "3", "dataset": "elsewhere"}
    ended = crowdtally(*known.arguments(**given), "--cells-once")
    assert ended.code == 0, ended
    facts = stated(known)
    assert facts["records"]["bounded"] == {"to": 3, "cells_once": True}
    assert facts["tables"][0]["sensitivity"] == 3
    statement = "That nobody has more than 3 rows, and no two of them in one cell, is the publisher"
    told = crowdtally("describe", "out")
    assert statement in " ".join(told.out.split())
    shown = crowdtally("ledger", "show", "elsewhere")
    assert "unit: bounded-elsewhere" in shown.out
    assert "is the publisher's statement, and is not checked" in " ".join(shown.out.split())
    assert "bounded_to=3" in shown.out
    other = {"bounded_to": None, "method": "sra:max-records=3", "dataset": "rows", "output": "rows"}
    arguments = known.arguments(**(given | other))
    known.refuses([*arguments, "--user-per-row"], USAGE, "--bounded-to L instead of --user-per-row")


PEOPLE: dict[str, tuple[dict[str, str | None], int, tuple[str, ...]]] = {
    "a part that does not exist": (
        {"user": "user_id,weekda"}, INPUT, ("'weekda' (the user)", "Did you mean 'weekday'?"),
    ),
    "a part twice": ({"user": "user_id,user_id"}, USAGE, ("names a column twice",)),
    "an empty part": ({"user": "user_id,"}, USAGE, ("--user is A,B,C",)),
    "a fraction as a part": ({"user": "user_id,price"}, INPUT, ("'price'", "cannot be part of")),
    "no such table": ({"same_person": "whom.parquet"}, INPUT, ("no such file", "whom.parquet")),
    "no such person": (
        {"same_person": "wide.parquet:persn"}, INPUT, ("'persn' (the person)", "Did you mean"),
    ),
    "which column": (
        {"same_person": "wide.parquet"}, INPUT,
        ("'person', 'since'", "--same-person FILE:COL"),
    ),
    "the id as the person": (
        {"same_person": "wide.parquet:user_id"}, INPUT, ("is the id itself",),
    ),
    "no person": ({"same_person": "bare.parquet"}, INPUT, ("no column beside the id",)),
    "no id": ({"same_person": "other.parquet"}, INPUT, ("no column 'user_id'", "uid, person")),
    "two persons of an id, and every row is wanted": (
        {"same_person": "twice.parquet", "strict": ""}, INPUT,
        ("without a user or of an id with several persons", "Nothing was charged"),
    ),
    "the table as a list": (
        {"same_person": "who.parquet", "items": "who.parquet:person"}, USAGE,
        ("is read from the users' own table",),
    ),
    "rows that are persons": (
        {"user": None, "user_per_row": "", "same_person": "who.parquet"}, USAGE,
        ("--same-person", "not with --user-per-row"),
    ),
    "no bound": ({"quantity": "count"}, USAGE, ("--quantity and --max-quantity go together",)),
    "no column": ({"max_quantity": "3"}, USAGE, ("--quantity and --max-quantity go together",)),
    "a bound of 0": (
        {"quantity": "count", "max_quantity": "0"}, USAGE, ("between 1 and", "received 0"),
    ),
    "a bound of text": ({"quantity": "count", "max_quantity": "x"}, USAGE, ("--max-quantity",)),
    "a bound that is no bound": (
        {"quantity": "count", "max_quantity": str(2**31 + 1)}, USAGE, ("between 1 and",),
    ),
    "no such quantity": (
        {"quantity": "cuont", "max_quantity": "3"}, INPUT,
        ("'cuont' (the quantity)", "Did you mean 'count'?"),
    ),
    "text as a quantity": (
        {"quantity": "place", "max_quantity": "3", "strict": ""}, INPUT,
        ("240 with a value outside the lists or without a quantity of at least 1",),
    ),
    "users": (
        {"quantity": "count", "max_quantity": "3", "count": "users"}, USAGE,
        ("a user counts once in a cell", "--count records"),
    ),
    "pairs": (
        {"quantity": "count", "max_quantity": "3", "pairs": ""}, USAGE, ("--pairs counts which",),
    ),
    "discovered items": (
        {"quantity": "count", "max_quantity": "3", "items": None, "method": "discover:columns=item",
         "delta": "1e-6"},
        USAGE, ("--discover counts users",),
    ),
    "a quantity of rows": (
        {"user": None, "user_per_row": "", "quantity": "count", "max_quantity": "3"}, USAGE,
        ("--quantity", "not with --user-per-row"),
    ),
    "scaled rows without a cap": (
        {"quantity": "count", "max_quantity": "3", "method": "dpsense"}, USAGE, ("cap=R",),
    ),
    "too much noise": (
        {"quantity": "count", "max_quantity": str(2**31),
        "method": f"sra:max-records={2**31}"}, USAGE,
        ("beyond any count", "the bound or --max-quantity"),
    ),
    "too many cells": (
        {"quantity": "count", "max_quantity": str(2**31), "user": "user_id", "item": None,
         "items": None, "attributes": "visit,place_id", "values": "visit=0..9999999"},
        USAGE, ("beyond 2^62", "lower --max-quantity"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", PEOPLE)
def test_what_is_refused(case: str, known: Town) -> None:
    options, code, words = PEOPLE[case]
    arguments = [word for word in known.arguments(**options) if word]
    if case == "too many cells":
        arguments += ["--values", "place_id=0..999"]
    known.refuses(arguments, code, *words)


def test_words_are_pythons_in_python(known: Town) -> None:
    def records(**more: Any) -> ct.Records:
        return ct.read("records.parquet", item="place", **{"user": "user_id"} | more)

    with pytest.raises(UsageError, match=r"^quantity and max_quantity go together"):
        records(quantity="count")
    with pytest.raises(UsageError, match=r"has a comma cannot be one of several of user"):
        records(user=["a,b", "c"])
    with pytest.raises(UsageError, match=r"user is a column, or several"):
        records(user=["a", ""])
    with pytest.raises(CrowdtallyError, match=r"same_person=\(FILE, COL\)"):
        ct.release(
            records(same_person="wide.parquet"),
            ct.Domain(["bar"]),
            epsilon=1,
            output="o",
            new_dataset=True,
        )


def test_what_is_planned_is_what_is_charged_and_released(known: Town) -> None:
    """l·C in the plan, in the ledger and in the release; a record is worth its quantity."""
    quantity = {"quantity": "place_id", "max_quantity": "3", "method": "sra:max-records=20"}
    given = known.arguments(**quantity, epsilon="1000000", dataset="bought")
    asked = known.arguments(**quantity, epsilon="1000000", output=None)[1:]
    planned = crowdtally("plan", *asked, "--json")
    assert planned.code == 0, planned
    assert json.loads(planned.out)["tables"][0]["sensitivity"] == "60"
    ended = crowdtally(*given)
    assert ended.code == 0, ended
    assert "without a quantity of at least 1" in ended.err
    facts = stated(known)
    assert facts["tables"][0]["sensitivity"] == 60
    assert facts["method"]["bounds"]["items"]["bound"] == 20
    assert facts["records"]["quantity"] == {"column": "place_id", "most": 3}
    assert '"l1_bound": 60' in crowdtally("ledger", "export").out
    counts = {row.item: row.count for row in ct.load(known.folder / "out").top(3)}
    wanted = {"bar": 0, "cafe": 0, "park": 0}
    for i in range(240):
        name = ("bar", "cafe", "park", "Xanadu")[i % 4]
        if name in wanted:
            wanted[name] += min(i % 5, 3)
    assert counts == wanted
