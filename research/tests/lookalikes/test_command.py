"""``crowdtally lab lookalike``: what it says, what it refuses, and that its command works."""

from __future__ import annotations

import re
import shlex
import sys

import pytest

from crowdtally_research.lookalikes import writing
from crowdtally_research.lookalikes.statistics import LOOKALIKES
from kit.command import COMMANDS, Town, at_terminal, crowdtally

USAGE = 2
REFUSED = {
    "a misspelled name": (["netflx", "-o", "a.parquet"], ["'netflx'", "Did you mean 'netflix'?"]),
    "no such name": (["imdb", "-o", "a.parquet"], ["'imdb'", "gowalla", "kosarak"]),
    "no file": (["netflix"], ["--output"]),
    "nothing": (["netflix", "-o", "a.parquet", "--scale", "0"], ["--scale", "received 0."]),
    "less": (["netflix", "-o", "a.parquet", "--scale", "-1/2"], ["--scale", "received -0.5."]),
    "more": (["netflix", "-o", "a.parquet", "--scale", "1.01"], ["at most 1", "received 1.01."]),
    "no number": (["netflix", "-o", "a.parquet", "--scale", "nan"], ["--scale", "'nan'"]),
    "a percentage": (["netflix", "-o", "a.parquet", "--scale", "10%"], ["such as 0.1", "'10%'"]),
    "too small": (
        ["gowalla", "-o", "a.parquet", "--scale", "1e-4"],
        ["--scale 0.0001", "fewer than 10 of 12,579 users", "give 0.0008 or more"],
    ),
    "a seed": (["netflix", "-o", "a.parquet", "--seed", "-1"], ["--seed", "received -1."]),
    "no seed": (["netflix", "-o", "a.parquet", "--seed", "one"], ["'one'", "whole number"]),
    "another format": (["netflix", "-o", "a.csv"], ["'a.csv'", "ends in .parquet"]),
    "a file": (["netflix", "-o", "records.parquet"], ["'records.parquet' exists", "another file"]),
    "a folder": (["netflix", "-o", "."], ["'.' exists"]),
    "no folder": (["netflix", "-o", "nowhere/a.parquet"], ["'nowhere' is not a folder"]),
}


@pytest.mark.parametrize("mistake", REFUSED)
def test_bad_input_is_refused(town: Town, mistake: str) -> None:
    arguments, words = REFUSED[mistake]
    town.refuses(["lab", "lookalike", *arguments], USAGE, *words)


def test_the_scale_that_is_named_instead_is_accepted(town: Town) -> None:
    ended = crowdtally("lab", "lookalike", "gowalla", "-o", "a.parquet", "--scale", "0.0008")
    assert ended.code == 0, str(ended)
    assert "592 records of 10 users and 15,200 items; 1 to 148 records per user" in ended.err


def test_an_existing_list_is_not_replaced(town: Town) -> None:
    town.write("a.items.parquet", "mine")
    town.refuses(["lab", "lookalike", "aol", "-o", "a.parquet"], USAGE, "'a.items.parquet' exists")


def test_a_release_folder_is_no_place(town: Town) -> None:
    town.folder.joinpath("out").mkdir()
    town.write("out/release.json", "{}")
    town.refuses(
        ["lab", "lookalike", "aol", "-o", "out/a.parquet"], USAGE, "lies in the release", "outside"
    )


def test_without_the_extra_it_says_what_to_install(
    town: Town, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "scipy", None)
    town.refuses(
        ["lab", "lookalike", "aol", "-o", "a.parquet"], USAGE, "pip install 'crowdtally[lab]'"
    )


@pytest.mark.parametrize("name", ["movielens", "foursquare"])
def test_the_printed_command_releases_it(town: Town, name: str) -> None:
    ended = crowdtally("lab", "lookalike", name, "-o", "my records.parquet", "--scale", "0.01")
    assert ended.code == 0, str(ended)
    assert ended.out == "my records.parquet\n"
    told = ended.err.splitlines()
    assert told[0].startswith("Made up: ")
    assert f"{LOOKALIKES[name].items:,} items" in ended.err
    assert "(2015), Table" in ended.err
    assert ("60.2" in ended.err) == (name == "foursquare")
    program, *arguments = shlex.split(told[-1])
    assert program == "crowdtally"
    released = crowdtally(*arguments)
    assert released.code == 0, str(released)
    assert released.out == "my records-release\n"
    assert "dropped" not in released.err


def test_quiet_prints_the_file_alone(town: Town) -> None:
    ended = crowdtally(
        "lab", "lookalike", "kosarak", "-o", "k.parquet", "--scale", "0.001", "--quiet"
    )
    assert (ended.code, ended.out, ended.err) == (0, "k.parquet\n", "")


SLOW = """
import time
from crowdtally import cli
from crowdtally_research.lookalikes import writing

make, writing._BLOCK = writing.Maker._block, 4000

def slowly(*given):
    time.sleep(0.6)
    return make(*given)

writing.Maker._block = slowly
cli.main()
"""


def test_at_a_terminal_it_says_how_far_it_has_come(town: Town) -> None:
    session = at_terminal(
        "lab", "lookalike", "foursquare", "-o", "n.parquet", "--scale", "0.01",
        folder=town.folder, script=SLOW,
    )  # fmt: skip
    assert session.code == 0, session.shown
    assert re.search(r"making 12,770 records, [3-9]\d% done … \d+ s", session.shown)
    assert re.search(r"making 12,770 records, 100% done: \d+ s", session.shown)


def test_help_names_every_look_alike() -> None:
    [argument] = [
        p for p in COMMANDS["crowdtally lab lookalike"].params if p.param_type_name == "argument"
    ]
    named = re.findall(r"[\w-]+", argument.help.replace(" or ", ", "))
    assert named == list(LOOKALIKES)


def test_an_interruption_names_no_ledger(town: Town, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*given: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(writing.Maker, "_block", interrupted)
    ended = crowdtally("lab", "lookalike", "gowalla", "-o", "a.parquet", "--scale", "0.0008")
    assert (ended.code, ended.err.splitlines()[-1]) == (
        130, "crowdtally: interrupted: nothing was written."
    )  # fmt: skip
    assert not list(town.folder.glob("*a.*"))
