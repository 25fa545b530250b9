"""``lab compare`` and ``lab audit`` as a stranger types them."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow as pa
import pytest

import crowdtally as ct
from crowdtally import lab
from crowdtally.curator.summaries import base
from crowdtally.errors import UsageError
from crowdtally.lab.auditing import attack
from crowdtally.lab.auditing.certify import ABOUT
from crowdtally.lab.methods import CHOSEN_BY_LOOKING, NOT_PRIVATE
from kit.command import COMMANDS, INPUT, USAGE, Ended, Town, crowdtally

# ---- ``lab compare`` as a person meets it: refusals, what it prints, what it leaves behind -------


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
        (
            {"methods": "dpsense-s", "fields": "scalings=3"},
            "'dpsense-s' cannot run on these data",
        ),
        ({"fields": "choose=rank"}, "tries every choose itself"),
        ({"fields": "size=1"}, "no method that is compared has a field size"),
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
    town.refuses(arguments(items=None), USAGE, "--items FILE")


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
    assert {"--user", "--items", "--fields", "--count", "--methods", "--runs", "--jobs"} <= options
    assert not options & {"--method", "--summary", "--discover", "--split", "--delta", "--ledger"}


# ---- ``crowdtally lab audit`` and ``lab audit-request``, as a stranger types them ----------------


def test_a_table_of_what_is_certified_is_printed_and_written(tmp_path: Path) -> None:
    page = tmp_path / "audit.md"
    ended = crowdtally("lab", "audit", "rows", "--seconds", 1, "-o", page, "--processes", 1)
    assert ended.code == 0, ended
    about, head, row, *_ = ended.out.splitlines()
    assert about == ABOUT
    assert head.split() == ["method", "claim", "certified", "ratio", "delta", "runs"]
    assert row.split()[:2] == ["rows", "1"]
    assert 0 <= float(row.split()[2]) <= 1
    assert "attacking rows" in ended.err
    written = page.read_text()
    assert ABOUT in written
    assert "| rows | 1 |" in written


def test_json_says_the_same_and_what_it_means() -> None:
    ended = crowdtally("lab", "audit", "rows", "--seconds", 1, "--json", "--quiet")
    assert (ended.code, ended.err) == (0, "")
    found = json.loads(ended.out)
    assert (found["about"], found["confidence"]) == (ABOUT, 0.999)
    (row,) = found["rows"]
    assert row["name"] == "rows"
    assert row["claim"] == 1
    assert row["runs"] >= 100
    assert row["pair"] == "a user alone, one row"


def test_a_leak_is_told_in_a_sentence_and_by_the_exit_code(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    right = base.dense

    def quarter(counts: Any, epsilon: Any, draws: Any) -> Any:
        return right(replace(counts, l1_bound=1), epsilon * 4, draws)

    monkeypatch.setattr(base, "dense", quarter)
    ended = crowdtally("lab", "audit", "rows", "--seconds", 2, "--processes", 1)
    assert ended.code == 1, ended
    assert "rows leaks at least" in ended.err
    assert "where 1 is claimed" in ended.err


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        (["sraa"], "Did you mean 'sra'"),
        (["sra", "--epsilon", "0"], "epsilon must be greater than 0"),
        (["sra", "--epsilon", "-1"], "epsilon must be greater than 0"),
        (["sra", "--epsilon", "0.5,1"], "one epsilon"),
        (["sra", "--seconds", "0"], "at least 1"),
        (["sra", "--seconds", "-3"], "at least 1"),
        (["sra", "--seconds", "soon"], "--seconds must be an exact finite number"),
        (["sra/sketch/filter"], "is not offered, so there is nothing to audit"),
        (["sra", "--all"], "--all is every method"),
        (["sra", "-o", "."], "-o names the file to write"),
    ],
)
def test_bad_input_is_refused_before_anything_is_attacked(typed: list[str], words: str) -> None:
    ended = crowdtally("lab", "audit", *typed)
    assert ended.code == 2, ended
    assert words in ended.err
    assert ended.out == ""


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy", None)
    for command in (["audit", "sra"], ["audit-request", "r.parquet", "--epsilon", "1"]):
        ended = crowdtally("lab", *command)
        assert (ended.code, ended.out) == (2, "")
        assert "the lab needs scipy: pip install 'crowdtally[lab]'." in ended.err
    monkeypatch.delitem(vars(lab), "audit", raising=False)
    with pytest.raises(UsageError, match="the lab needs scipy"):
        lab.audit("sra")


def test_a_page_is_not_written_into_a_release(tmp_path: Path) -> None:
    (tmp_path / "release.json").write_text("{}")
    ended = crowdtally("lab", "audit", "rows", "-o", tmp_path / "audit.md")
    assert ended.code == 2
    assert "lies in the release" in ended.err
    assert [path.name for path in tmp_path.iterdir()] == ["release.json"]


REQUEST = ("--user", "who", "--item", "place", "--method", "sra:max-records=3", "--epsilon", "2")


@pytest.fixture
def few_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each case is attacked with two pairs of databases: which are tried is tested elsewhere."""
    right = attack._tried
    monkeypatch.setattr(attack, "_tried", lambda case: right(case)[:2])


@pytest.mark.usefixtures("few_pairs")
def test_a_request_of_ones_own_is_attacked_and_its_records_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "places.csv").write_text("place\n" + "\n".join(f"p{n}" for n in range(10)) + "\n")
    (tmp_path / "records.parquet").write_bytes(b"not one row of this can be read")
    ended = crowdtally(
        "lab", "audit-request", tmp_path / "records.parquet", *REQUEST, "--context", "day",
        "--values", "day=0..6", "--items", tmp_path / "places.csv", "--seconds", 1, "--json",
    )  # fmt: skip
    assert ended.code == 0, ended
    found = json.loads(ended.out)
    assert [row["name"] for row in found["rows"]] == [
        "your request", "your request: items", "your request: edges"
    ]  # fmt: skip
    assert [row["claim"] for row in found["rows"]] == [2, 1, 1]
    assert "lower than for the same method" in found["remarks"][0]


@pytest.mark.usefixtures("few_pairs")
def test_the_same_in_python() -> None:
    records = ct.read(pa.table({}), user="who", item="place")
    domain = ct.Domain(["a", "b"])
    found = lab.audit_request(records, domain, epsilon=1, method=ct.SRA(1), seconds=1)
    (row,) = found.rows
    assert row.name == "your request"
    assert 0 <= row.certified <= 1
    assert str(found).startswith(ABOUT)
    with pytest.raises(UsageError, match="seconds is how long each row is attacked"):
        lab.audit("sra", seconds=0)
    with pytest.raises(UsageError, match="SRA has no field 'popularity_records'"):
        lab.audit_request(records, domain, epsilon=1, method=ct.SRA(popularity_records=3))
    with pytest.raises(UsageError, match="epsilon"):
        lab.audit("sra", epsilon=[1, 2])


def test_a_request_needs_its_epsilon(tmp_path: Path) -> None:
    ended = crowdtally("lab", "audit-request", tmp_path / "r.parquet", *REQUEST[:-2])
    assert ended.code == 2
    assert "--epsilon E" in ended.err
