"""``lab compare`` as a person meets it: refusals, what it prints, what it leaves behind."""

from __future__ import annotations

import json
from unittest import mock

import pytest

from crowdtally.lab.methods import CHOSEN_BY_LOOKING, NOT_PRIVATE
from kit.command import COMMANDS, Ended, crowdtally
from kit.town import Town

USAGE, INPUT = 2, 4


def arguments(records: str = "records.parquet", **options: str | None) -> list[str]:
    given = {
        "user": "user_id", "item": "place", "items": "places.csv", "epsilon": "1",
        "output": "cmp", "jobs": "1", "runs": "2", "methods": "sra,lpa", "max_records": "2",
    } | options  # fmt: skip
    pairs = [(f"--{k.replace('_', '-')}", v) for k, v in given.items() if v is not None]
    return ["lab", "compare", records, *(word for pair in pairs for word in pair)]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"epsilon": "1,,2"}, "--epsilon has an empty entry: received '1,,2'"),
        ({"epsilon": "0"}, "epsilon must be greater than 0"),
        ({"epsilon": "abc"}, "received 'abc'"),
        ({"epsilon": "1,2/2"}, "--epsilon names 1 twice"),
        ({"runs": "1"}, "--runs must be 2 or more"),
        ({"jobs": "0"}, "--jobs must be a whole number between 1"),
        ({"max_records": "1,x"}, "received 'x'"),
        ({"methods": "srra"}, "Did you mean 'sra'?"),
        ({"methods": "dpsense-s", "scalings": "3"}, "'dpsense-s' cannot run on these data"),
        ({"bounding": "sra"}, "tries every --bounding itself"),
        ({"size": "1"}, "no method that is compared takes --size"),
        ({"engine": "spark"}, "a comparison runs on DuckDB"),
        ({"items": None}, "--items FILE"),
        ({"output": "records.csv"}, "is a file"),
        ({"output": "no/such"}, "there is no folder"),
        ({"output": "."}, "holds other things"),
        ({"epsilon": "1e-30"}, "'sra' cannot run on these data"),
    ],
)
def test_bad_input_is_refused_and_leaves_nothing(
    town: Town, options: dict[str, str | None], words: str
) -> None:
    ended = town.refuses(arguments(**options), USAGE, words)
    assert ended.err.startswith(NOT_PRIVATE)


def test_records_that_cannot_be_read_are_refused(town: Town) -> None:
    town.refuses(arguments("recrods.parquet"), INPUT, "Did you mean 'records.parquet'?")
    town.refuses(arguments(user="usr_id"), INPUT, "user_id")
    town.refuses([*arguments(), "--pairs"], USAGE, "remove --pairs")
    town.refuses(
        [*arguments(items=None), "--discover-items"], USAGE, "remove --discover"
    )  # fmt: skip


def test_a_release_is_no_place_for_it(town: Town) -> None:
    assert crowdtally(*town.arguments()).code == 0
    town.refuses(arguments(output="out"), USAGE, "lies in the release")
    town.refuses(arguments(output="out/cmp"), USAGE, "lies in the release")


def _compare(*words: str) -> Ended:
    """Without the pictures, which take longest."""
    with mock.patch("crowdtally.lab.comparison.compare.write"):
        return crowdtally(*arguments(), *words)


def test_what_it_prints_begins_with_the_warning(town: Town) -> None:
    shown = _compare()
    assert shown.code == 0, str(shown)
    for printed in (shown.out, shown.err):
        assert printed.splitlines()[:2] == [NOT_PRIVATE, CHOSEN_BY_LOOKING]
    assert "epsilon 1, items (3 cells), 2 runs each:" in shown.out
    assert "method  best l" in shown.out
    assert "Of 240 rows, 60 have no user or a value outside the lists" in shown.out
    assert "At ε = 1, take sra with at most 2 records per user" in shown.out
    assert shown.out.endswith("The page: cmp/comparison.html\n")
    assert not town.charged()
    assert not list(town.scratch.iterdir())
    assert ((town.folder / "cmp").stat().st_mode & 0o077) == 0

    told = json.loads(_compare("--json").out)
    assert next(iter(told)) == "warning"
    assert told["warning"].startswith(NOT_PRIVATE)
    assert told["recommendation"] in shown.out
    assert told["facts"]["command"].startswith("crowdtally lab compare records.parquet --user")
    assert {row["method"] for row in told["rows"]} == {"sra", "lpa"}

    (town.folder / "records.parquet").rename(town.folder / "moved.parquet")
    town.refuses(arguments(), INPUT, "records.parquet")
    with mock.patch("crowdtally.lab.comparison.compare.write"):
        assert crowdtally(*arguments("moved.parquet")).code == 0  # the same records elsewhere
    town.refuses(arguments("moved.parquet", count="users"), USAGE, "count: records there, users h")
    town.table("moved.parquet", user_id=["a", "b"], place=["bar", "cafe"])
    town.refuses(arguments("moved.parquet"), USAGE, "other data", "are 2 of 2 here", "-o DIR")


def test_a_password_is_not_written_down(town: Town, monkeypatch: pytest.MonkeyPatch) -> None:
    from crowdtally.cli.lab import typed

    monkeypatch.setattr("sys.argv", ["x", "lab", "compare", "postgresql://me:secret@host/db#t"])
    assert typed() == "crowdtally lab compare 'postgresql://host/db#t'"


def test_options_of_a_release_that_mean_nothing_here_are_not_offered() -> None:
    options = {o for p in COMMANDS["crowdtally lab compare"].params for o in p.opts if not p.hidden}
    assert {"--user", "--items", "--cap", "--count", "--methods", "--runs", "--jobs"} <= options
    assert not options & {"--bounding", "--choose", "--split", "--delta", "--ledger"}
