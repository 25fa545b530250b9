"""``crowdtally inspect``: never a record's value, nothing charged, nothing left behind."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import crowdtally as ct
from kit.command import INPUT, SECRETS, USAGE, Ended, Town, crowdtally


def inspected(town: Town, *more: str, **options: str | None) -> Ended:
    """Inspects, and checks that nothing is told, charged or left."""
    before, entries = town.state(), town.charged()
    held = town.ledger.read_bytes() if town.ledger.exists() else None
    given = {"output": None, "epsilon": None} | options
    ended = crowdtally("inspect", *town.arguments(**given)[1:], *more)
    assert ended.code == 0, str(ended)
    for secret in SECRETS:
        assert secret not in ended.out + ended.err
    assert town.state() == before
    assert town.charged() == entries
    assert (town.ledger.read_bytes() if town.ledger.exists() else None) == held
    return ended


def test_it_says_first_that_it_is_private(town: Town) -> None:
    ended = inspected(town)
    assert ended.out.startswith("For your eyes only: these numbers are exact and private.")
    assert "do not publish" in " ".join(ended.out.split())
    assert "(choose=rank)" in ended.out
    assert "not covered by the guarantee" in " ".join(ended.out.split())
    assert max(map(len, ended.out.splitlines())) < 80
    assert not town.ledger.exists()


def test_types_of_a_csv_file_are_shown_to_copy(town: Town) -> None:
    """Those that all values fit; of a mixed column, or one without values, none."""
    rows = "u,place,stars,day,at,mixed,none", "1,bar,4,2024-01-01,2024-01-01 10:00:00,7,"
    town.write("rows.csv", "\n".join([*rows, "2,bar,4.5,2024-01-02,2024-01-02 11:00:00,x,", ""]))
    ended = crowdtally(
        "inspect", str(town.folder / "rows.csv"), "--user", "u", "--item", "place", "--items",
        str(town.folder / "places.csv"), "--type", "u=text",
    )  # fmt: skip
    assert ended.code == 0, str(ended)
    shown = " ".join(ended.out.split())
    assert shown.endswith("--type stars=float64 --type day=date --type at=timestamp")


def test_the_ledger_that_exists_is_left_as_it_is(town: Town) -> None:
    assert crowdtally(*town.arguments()).code == 0
    inspected(town, epsilon="1000")  # more than any budget: nobody is asked for it


def test_the_command_of_a_release_is_inspected_as_it_is(town: Town) -> None:
    arguments = [*town.arguments(ledger="mine.sqlite", dataset="d"), "--strict", "--yes"]
    plain = inspected(town)
    state = town.state()
    ended = crowdtally("inspect", *arguments[1:])
    assert (ended.code, ended.out) == (0, plain.out)
    assert town.state() == state


def test_numbers(town: Town) -> None:
    town.write("places.csv", "place\nbar\ncafe\nlido\nzoo\nmall\ndome\n")
    found = json.loads(
        inspected(town, "--json", context="weekday", values="weekday=Mon,Tue,Wed").out
    )
    assert (found["rows"], found["left"]) == (240, 80)
    user, place, weekday = found["columns"]
    assert (user["rows"], place["rows"], weekday["rows"]) == (0, 120, 80)
    assert place["list"] == {"listed": 6, "missing": 4, "examples": ["lido", "zoo", "mall"]}
    assert weekday["list"]["examples"] == ["Wed"]
    assert found["spread"]["records"] == 80
    assert sum(bucket["users"] for bucket in found["spread"]["histogram"]) == 37
    shown = [one["limit"] for one in found["spread"]["max_records"]]
    assert shown == [2, 5, 10, 20, 50]
    assert found["warning"].startswith("For your eyes only")


def test_shapes(town: Town) -> None:
    rows = inspected(town, "--user-per-row", user=None, method=None)
    assert "Each row is one person: there is nothing to bound" in rows.out
    stated = inspected(town, user=None, method=None, bounded_to="7")
    assert "nobody is said to have more than 7: there is" in stated.out
    weighed = inspected(town, "--user-per-row", user=None, method=None, weight="count")
    assert "Persons that the rows left stand for: 180." in weighed.out
    assert "Each row is one person" not in weighed.out
    found = inspected(town, items=None, method="discover:columns=item,max-records=10")
    assert "item place" in found.out
    table = inspected(town, item=None, items=None, attributes="weekday", values="weekday=Mon")
    assert "attribute weekday" in table.out
    town.write("areas.csv", "place,area\nbar,north\ncafe,south\n")
    joined = inspected(town, join="areas.csv:place")
    assert "join areas.csv:place" in joined.out


def test_persons_are_called_persons(town: Town) -> None:
    ids = sorted(
        {row["user_id"] for row in pq.read_table(town.folder / "records.parquet").to_pylist()}
    )
    town.write("people.csv", "user_id,who\n" + "".join(f"{one},same\n" for one in ids))
    found = inspected(town, same_person="people.csv").out
    assert "Persons with a row left: 1, who have together" in found
    assert "records per person" in found
    assert "persons cut" in found
    assert " user " not in found.replace("user user_id", "")
    assert " users" not in found
    assert (
        json.loads(inspected(town, "--json", same_person="people.csv").out)["protected"] == "person"
    )


def test_discovery_keeps_different_items(town: Town) -> None:
    rows = pq.read_table(town.folder / "records.parquet").to_pylist()
    different = {(row["user_id"], row["place"]) for row in rows}
    found = json.loads(
        inspected(town, "--json", items=None, method="discover:columns=item,max-records=10").out
    )["spread"]
    assert (found["counted"], found["records"]) == ("items", len(different))
    assert len(different) < len(rows)


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        ({"user": "usr_id"}, INPUT, "Did you mean 'user_id'?"),
        ({"item": "plaec"}, INPUT, "Did you mean 'place'?"),
        ({"items": None}, USAGE, "--items FILE"),
        ({"method": "sra:max-records=0"}, USAGE, "max_records of SRA"),
        ({"method": "sar"}, USAGE, "Did you mean 'sra'?"),
        ({"epsilon": "0"}, USAGE, "epsilon"),
        ({"engine": "sparc"}, USAGE, "there is no engine 'sparc'"),
        ({"engine_setting": "a"}, USAGE, "KEY=VALUE"),
        ({"join": "records.parquet:user_id"}, INPUT, "is in the records and in"),
    ],
)
def test_bad_input(town: Town, options: dict[str, str | None], code: int, words: str) -> None:
    given = {"output": None, "epsilon": None} | options
    town.refuses(["inspect", *town.arguments(**given)[1:]], code, words)


def test_damage_and_missing_files(town: Town) -> None:
    given: dict[str, Any] = {"output": None, "epsilon": None}
    town.refuses(
        ["inspect", *town.arguments("recrods.parquet", **given)[1:]], INPUT, "Did you mean"
    )
    whole = Path("records.parquet").read_bytes()
    town.write("half.parquet", whole[: len(whole) // 2])
    town.refuses(["inspect", *town.arguments("half.parquet", **given)[1:]], INPUT, "damaged")


def test_in_python_it_names_pythons_parameters(town: Town) -> None:
    records = ct.read("records.parquet", user="user_id", item="place")
    found = ct.inspect(records, ct.Domain(["bar"]))
    assert "What the bound would keep" in str(found)
    assert "(choose=rank)" in str(found)
    assert not town.ledger.exists()
    assert ct.inspect(records, ct.Domain(["bar"]), epsilon=1) == found
    with pytest.raises(ct.UsageError, match="discovery needs delta"):
        ct.inspect(records, None, epsilon=1, method=ct.Discover("item"))
    with pytest.raises(ct.UsageError, match="records come from"):
        ct.inspect([1], ct.Domain(["bar"]))  # type: ignore[arg-type]


@pytest.mark.parametrize("command", ["plan", "dry run"])
@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"user": "usr_id"}, "Did you mean 'user_id'?"),
        ({"context": "wekday", "values": "wekday=Mon"}, "Did you mean 'weekday'?"),
        ({"item": "price", "items": "places.csv:place"}, "has type DOUBLE"),
        ({"record_id": "vist"}, "Did you mean 'visit'?"),
    ],
)
def test_a_plan_and_a_dry_run_refuse_a_misspelled_column(
    town: Town, command: str, options: dict[str, str | None], words: str
) -> None:
    given = town.arguments(**options)
    released = town.refuses(given, INPUT, words)
    asked = [*given, "--dry-run"]
    if command == "plan":
        asked = ["plan", *town.arguments(**options | {"output": None})[1:]]
    assert town.refuses(asked, INPUT, words).err == released.err
