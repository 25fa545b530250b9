"""Ids of several columns, persons with several ids and quantities, as typed: good and bad input."""

from __future__ import annotations

import json
from typing import Any

import pytest

import crowdtally as ct
from crowdtally.errors import CrowdtallyError, UsageError
from kit.command import crowdtally
from kit.town import Town

USAGE, INPUT = 2, 4
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
    given = {"user": None, "max_records": None, "bounded_to": "3", "dataset": "elsewhere"}
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
    other = {"bounded_to": None, "max_records": "3", "dataset": "rows", "output": "rows"}
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
        {"quantity": "count", "max_quantity": "3", "items": None, "discover_items": "",
         "delta": "1e-6"},
        USAGE, ("--discover counts users",),
    ),
    "a quantity of rows": (
        {"user": None, "user_per_row": "", "quantity": "count", "max_quantity": "3"}, USAGE,
        ("--quantity", "not with --user-per-row"),
    ),
    "scaled rows without a cap": (
        {"quantity": "count", "max_quantity": "3", "bounding": "dpsense"}, USAGE, ("--cap R",),
    ),
    "too much noise": (
        {"quantity": "count", "max_quantity": str(2**31), "max_records": str(2**31)}, USAGE,
        ("beyond any count", "--max-records or --max-quantity"),
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
    quantity = {"quantity": "place_id", "max_quantity": "3", "max_records": "20"}
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
