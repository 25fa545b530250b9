"""``lab recommend`` as a person meets it: refusals, what it prints, what it leaves behind."""

from __future__ import annotations

import importlib.util
import json
from unittest import mock

import pytest

from crowdtally.lab.methods import NOT_PRIVATE
from kit.command import Ended, Town, crowdtally

USAGE, INPUT = 2, 4
PLACES = "place,kind\nbar,evening\ncafe,day\ncafe,food\npark,day\n"


@pytest.fixture
def listed(town: Town) -> Town:
    town.write("kinds.csv", PLACES)
    return town


def arguments(records: str = "records.parquet", **options: str | None) -> list[str]:
    given = {
        "user": "user_id", "item": "place", "catalogue": "kinds.csv", "output": "out",
        "people": "12", "hidden": "1", "length": "1", "draws": "1", "epsilon": "1",
    } | options  # fmt: skip
    pairs = [(f"--{k.replace('_', '-')}", v) for k, v in given.items() if v is not None]
    return ["lab", "recommend", records, *(word for pair in pairs for word in pair)]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"epsilon": "1,,2"}, "--epsilon has an empty entry: received '1,,2'"),
        ({"epsilon": "0"}, "epsilon must be greater than 0"),
        ({"epsilon": "1,1"}, "--epsilon names 1 twice"),
        ({"people": "1"}, "--people must be a whole number between 2"),
        ({"people": "many"}, "'many' is not a whole number"),
        ({"hidden": "0"}, "--hidden must be a whole number between 1"),
        ({"draws": "0"}, "--draws must be a whole number between 1"),
        ({"length": "4"}, "--length 4 is longer than the catalogue's 3 items"),
        ({"output": "records.csv"}, "records.csv exists"),
        ({"output": "no/such"}, "there is no folder"),
        ({"catalogue": "kinds.csv:plaze"}, "Did you mean 'place'?"),
        ({"category": "sort"}, "no column 'sort'"),
        ({"catalogue": "kinds.xlsx"}, "is no table that can be read"),
        ({"catalogue": None}, "--catalogue"),
    ],
)
def test_bad_input_is_refused_and_leaves_nothing(
    listed: Town, options: dict[str, str | None], words: str
) -> None:
    listed.refuses(arguments(**options), USAGE, words)


@pytest.mark.parametrize(
    ("records", "options", "words"),
    [
        ("recrods.parquet", {}, "Did you mean 'records.parquet'?"),
        ("records.parquet", {"user": "usr_id"}, "user_id"),
        ("records.parquet", {"item": "plase", "catalogue": "kinds.csv:place"}, "place"),
        ("records.parquet", {"catalogue": "kins.csv"}, "'kins.csv' is not a file"),
        ("records.parquet", {"people": "30"}, "--people 27 or fewer"),
        ("records.parquet", {"hidden": "3"}, "Give records of more people"),
        ("records.parquet", {"where": "false"}, "none of the 0 rows"),
    ],
)
def test_input_that_breaks_its_declaration_is_refused(
    listed: Town, records: str, options: dict[str, str], words: str
) -> None:
    listed.refuses(arguments(records, **options), INPUT, words)


def test_items_that_are_not_in_the_catalogue_are_told(listed: Town) -> None:
    listed.write("other.csv", "place,kind\nbeach,day\ncinema,evening\n")
    listed.refuses(arguments(catalogue="other.csv"), INPUT, "none of the 240 rows", "same ids")


def test_a_release_is_no_place_for_it(listed: Town) -> None:
    assert crowdtally(*listed.arguments()).code == 0
    listed.refuses(arguments(output="out/here"), USAGE, "lies in the release")


def test_without_implicit_it_says_what_to_install(
    listed: Town, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(
        "crowdtally_research.recommenders.experiment.find_spec",
        lambda name: None if name == "implicit" else found(name),
    )
    listed.refuses(arguments(), USAGE, "pip install 'crowdtally-research[recommenders]'")


def _recommend(*words: str) -> Ended:
    """Without the pictures, which take longest."""
    with mock.patch("crowdtally_research.recommenders.writing.pictures", return_value={}):
        return crowdtally(*arguments(), *words)


def test_what_it_prints_begins_with_the_warning(listed: Town) -> None:
    shown = _recommend()
    assert shown.code == 0, str(shown)
    for printed in (shown.out, shown.err):
        assert printed.splitlines()[0] == NOT_PRIVATE
    assert "12 people to recommend to, 2.0 items in a history and 1 hidden of each" in shown.out
    assert "Of 240 rows, 60 have no person or an item that is not in the catalogue" in shown.out
    assert "hit rate@1, factorisation:" in shown.out
    assert shown.out.endswith("The page: out/recommend.md\n")
    assert not listed.charged()
    assert not list(listed.scratch.iterdir())
    names = sorted(path.name for path in (listed.folder / "out").iterdir())
    assert names == ["aggregates.csv", "recommend.csv", "recommend.json", "recommend.md"]
    told = json.loads((listed.folder / "out" / "recommend.json").read_text())
    assert told["facts"]["command"].startswith("crowdtally lab recommend records.parquet --user")


def test_json_is_what_is_written(listed: Town) -> None:
    told = json.loads(_recommend("--json").out)
    assert next(iter(told)) == "warning"
    assert told == json.loads((listed.folder / "out" / "recommend.json").read_text())


def test_an_interruption_leaves_nothing(listed: Town) -> None:
    with mock.patch(
        "crowdtally_research.recommenders.experiment.run", side_effect=KeyboardInterrupt
    ):
        ended = crowdtally(*arguments())
    assert ended.code == 130
    assert "interrupted: nothing was written, and nothing was charged" in ended.err
    assert not (listed.folder / "out").exists()
