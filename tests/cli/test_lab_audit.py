"""``crowdtally lab audit`` and ``lab audit-request``, as a stranger types them."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import crowdtally as ct
from crowdtally import lab
from crowdtally.curator.summaries import base
from crowdtally.errors import UsageError
from crowdtally.lab.auditing import attack
from crowdtally.lab.auditing.certify import ABOUT
from kit.command import crowdtally


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


REQUEST = ("--user", "who", "--item", "place", "--max-records", "3", "--epsilon", "2")


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
    found = lab.audit_request(records, domain, epsilon=1, max_records=1, seconds=1)
    (row,) = found.rows
    assert row.name == "your request"
    assert 0 <= row.certified <= 1
    assert str(found).startswith(ABOUT)
    with pytest.raises(UsageError, match="seconds is how long each row is attacked"):
        lab.audit("sra", seconds=0)
    with pytest.raises(UsageError, match="popularity_records is for bounding"):
        lab.audit_request(records, domain, epsilon=1, popularity_records=3)
    with pytest.raises(UsageError, match="epsilon"):
        lab.audit("sra", epsilon=[1, 2])


def test_a_request_needs_its_epsilon(tmp_path: Path) -> None:
    ended = crowdtally("lab", "audit-request", tmp_path / "r.parquet", *REQUEST[:-2])
    assert ended.code == 2
    assert "--epsilon E" in ended.err
