"""Help in groups, at 80 columns and in a pipe; completion of values, by the shell's protocol."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from unittest import mock

import pytest

from crowdtally.cli.options import TITLES
from kit.command import COMMANDS, crowdtally, installed
from kit.town import Town

FIRST = {
    "release": ["--epsilon", "--user", "--item", "--items", "--context", "--output"],
    "plan": ["--epsilon", "--user", "--item", "--items", "--context"],
    "inspect": ["--epsilon", "--user", "--item", "--items", "--context"],
}


@pytest.mark.parametrize("name", FIRST)
def test_every_option_of_a_request_has_its_group(name: str) -> None:
    for parameter in COMMANDS[f"crowdtally {name}"].params:
        if parameter.param_type_name == "option" and "--help" not in parameter.opts:
            assert parameter.rich_help_panel in TITLES, parameter.opts


@pytest.mark.parametrize("name", FIRST)
def test_what_everyone_needs_comes_first(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    shown = crowdtally(name, "--help").out
    assert max(map(len, shown.splitlines())) <= 80
    titles = [f"\n{title}:\n" for title in TITLES.values() if f"\n{title}:\n" in shown]
    assert titles[0] == "\nWhat everyone needs:\n"
    assert len(titles) >= 7
    places = [shown.index(title) for title in titles]
    assert places == sorted(places)
    first = [
        p for p in COMMANDS[f"crowdtally {name}"].params
        if getattr(p, "rich_help_panel", None) == "first"
    ]  # fmt: skip
    flags = [flag for p in first for flag in p.opts if flag.startswith("--")]
    assert sorted(flags) == sorted(FIRST[name])
    for flag in flags:
        assert places[0] < shown.index(f"{flag} ") < places[1]


def asking(*words: str, incomplete: str = "") -> dict[str, str]:
    """What bash sets to ask what may follow these words."""
    typed = ["crowdtally", *words, *([incomplete] if incomplete else [])]
    return {
        "_CROWDTALLY_COMPLETE": "complete_bash",
        "COMP_WORDS": " ".join(typed), "COMP_CWORD": str(len(words) + 1),
    }  # fmt: skip


def completed(*words: str, incomplete: str = "") -> list[str]:
    """What bash would offer after these words."""
    with (
        mock.patch.dict(os.environ, asking(*words, incomplete=incomplete)),
        mock.patch.object(sys.modules["__main__"], "__package__", None),  # else called pytest's
    ):
        ended = crowdtally()
    assert ended.err == ""
    return ended.out.split()


def test_the_installed_program_offers_the_same(town: Town) -> None:
    columns = (("plan", "records.csv", "--user"), "u")
    for words, incomplete in ((("release", "x", "--choose"), ""), columns):
        ended = installed(env=asking(*words, incomplete=incomplete))
        assert ended.err == ""
        assert ended.out.split() == completed(*words, incomplete=incomplete) != []


@pytest.mark.parametrize(
    ("option", "incomplete", "offered"),
    [
        ("--bounding", "dp", {"dpsense", "dpsense-s"}),
        ("--choose", "", {"rank", "dpsense", "histogram"}),
        ("--publishing", "f", {"filter", "filter-priority"}),
        ("--transform", "ha", {"haar"}),
        ("--count", "", {"records", "users"}),
        ("--sides", "", {"one", "two"}),
        ("--engine", "s", {"spark"}),
    ],
)
def test_values_that_are_words(option: str, incomplete: str, offered: set[str]) -> None:
    found = completed("release", "x.parquet", option, incomplete=incomplete)
    assert set(found) == offered


def test_columns_of_what_lies_here(town: Town) -> None:
    for records in ("records.parquet", "records.csv"):
        start = ("plan", records)
        assert completed(*start, "--user", incomplete="u") == ["user_id"]
        assert {"place", "place_id", "price"} == set(completed(*start, "--item", incomplete="p"))
    several = completed("release", "records.parquet", "--attributes", incomplete="weekday,no")
    assert several == ["weekday,note"]
    town.write("areas.csv", "place,area\n")
    joined = completed("release", "records.csv", "--join", "areas.csv:place", "--context",
                       incomplete="ar")  # fmt: skip
    assert joined == ["area"]


def test_nothing_is_offered_where_nothing_can_be_seen(town: Town) -> None:
    town.write("broken.parquet", "not parquet")
    for records in ("nowhere.parquet", "broken.parquet", "postgresql://localhost:1/x#t"):
        assert completed("release", records, "--user") == []
    assert completed("release", "--user") == []


def test_datasets_of_the_ledger(town: Town, tmp_path: Path) -> None:
    assert completed("release", "records.parquet", "--dataset") == []
    assert not town.ledger.exists()
    for name in ("visits", "visitors", "other"):
        assert crowdtally("ledger", "create", name, "--epsilon", "1").code == 0
    found = completed("release", "records.parquet", "--dataset", incomplete="vis")
    assert found == ["visitors", "visits"]
    other = str(tmp_path / "none.sqlite")
    assert completed("release", "records.parquet", "--ledger", other, "--dataset") == []
    assert not Path(other).exists()
