"""Answers on the command line: as a table, CSV or JSON, and as files; with labels."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import crowdtally as ct
from crowdtally.cli import output
from kit.answered import top_list
from kit.command import Ended, crowdtally
from kit.stored import stored

RELEASE = stored("sra-one-context")
ITEMS = ["zoo", "arena", "O'Brien's", "café, old", "mill", "quay", "北京", "pier"]


@pytest.fixture(scope="module")
def release() -> ct.Release:
    return ct.load(RELEASE)


@pytest.fixture
def labels(tmp_path: Path) -> Path:
    path = tmp_path / "places.csv"
    rows = [
        f'"{item}","=1+<b>{n}</b>",{"even" if n % 2 else "odd"}' for n, item in enumerate(ITEMS)
    ]
    path.write_text("\n".join(["place,title,kind", *rows]), encoding="utf-8")
    return path


def refuses(ended: Ended, code: int, *words: str) -> None:
    assert (ended.code, ended.out) == (code, ""), ended
    assert "Traceback" not in ended.err
    for word in words:
        assert word in ended.err, ended


@pytest.mark.parametrize("command", ["top", "sum"])
def test_formats_on_stdout(command: str, release: ct.Release) -> None:
    answer = release.top(10) if command == "top" else release.sum()
    printed = {
        words: crowdtally(command, RELEASE, *words)
        for words in [(), ("--format", "table"), ("--format", "csv"), ("--format", "json"),
                      ("--json",), ("--json", "--format", "json")]
    }  # fmt: skip
    assert {(one.code, one.err) for one in printed.values()} == {(0, "")}
    assert printed[()].out == printed["--format", "table"].out == f"{answer}\n"
    assert printed["--format", "csv"].out == answer.to_csv()
    assert json.loads(printed["--json",].out) == json.loads(answer.to_json())
    assert len({printed[w].out for w in printed if "json" in " ".join(w)}) == 1


def test_json_has_the_fields_that_it_always_had() -> None:
    """Programs read them: labels add two, and nothing else changes."""
    (row, *_) = json.loads(crowdtally("top", RELEASE, "--json").out)
    assert list(row) == [
        "rank", "item", "estimate", "estimate_low", "estimate_high", "covers", "median",
        "chance_in_top", "count", "noise_std", "low", "high", "standard_error", "floor",
        "above_floor",
    ]  # fmt: skip
    assert list(json.loads(crowdtally("sum", RELEASE, "--json").out)) == [
        "estimate", "estimate_error", "estimate_low", "estimate_high", "covers", "value",
        "standard_error", "low", "high", "cells", "table", "counted", "unbiased_for",
        "what_counts", "estimate_words", "assumes",
    ]  # fmt: skip


def test_labels_in_every_output(labels: Path, tmp_path: Path) -> None:
    asked = ("top", RELEASE, "-k", 2, "--labels", f"{labels}:title,kind")
    rows = json.loads(crowdtally(*asked, "--json").out)
    assert [(row["label"], row["category"]) for row in rows] == [
        ("=1+<b>0</b>", "odd"), ("=1+<b>1</b>", "even"),
    ]  # fmt: skip
    text = crowdtally(*asked).out
    assert "=1+<b>0</b>" in text
    assert "category" in text.splitlines()[0]
    as_csv = list(csv.DictReader(io.StringIO(crowdtally(*asked, "--format", "csv").out)))
    assert [row["label"] for row in as_csv] == ["'=1+<b>0</b>", "'=1+<b>1</b>"]
    crowdtally(*asked, "-o", tmp_path / "a.parquet")
    assert pq.read_table(tmp_path / "a.parquet").to_pylist() == rows


def test_sums_by_category(labels: Path, release: ct.Release) -> None:
    asked = ("sum", RELEASE, "--labels", f"{labels}:title,kind", "--where")
    even = crowdtally(*asked, "category = 'even'", "--json")
    assert json.loads(even.out) == json.loads(release.sum(place=ITEMS[1::2]).to_json())
    refuses(crowdtally(*asked, "category = 'evn'"), 2, "Did you mean 'even'?")


@pytest.mark.parametrize("suffix", [".csv", ".json", ".parquet", ".xlsx"])
def test_files(suffix: str, tmp_path: Path, release: ct.Release) -> None:
    path = tmp_path / f"answer{suffix}"
    ended = crowdtally("top", RELEASE, "-o", path)
    assert (ended.code, ended.out) == (0, "")
    notes = release.top(10).notes
    assert ended.err.splitlines() == [f"wrote {str(path)!r}", *notes]
    assert path.stat().st_size > 100
    refuses(crowdtally("top", RELEASE, "-o", path), 2, "exists", "another name")
    assert [one.name for one in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("command", ["top", "sum"])
@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["-o", "{}/a.doc"], 2, [".csv, .json, .parquet, .xlsx"]),
        (["-o", "{}/nowhere/a.csv"], 2, ["is not a folder"]),
        (["-o", "{}/a.csv", "--format", "json"], 2, ["leave out --format"]),
        (["-o", "{}/a.csv", "--json"], 2, ["--json"]),
        (["--json", "--format", "csv"], 2, ["--json is --format json"]),
        (["--format", "xml"], 2, ["'xml'", "table, csv, json"]),
        (["--labels", "{}/nowhere.csv:title", "-o", "{}/a.csv"], 4, ["is not a file"]),
        (["--labels", "{}/few.csv", "-o", "{}/a.csv"], 4, ["misses 7 items", "'arena'"]),
        (["--labels", "{}/twice.csv", "-o", "{}/a.csv"], 4, ["1 item", "'zoo'", "more than once"]),
    ],
)
def test_bad_input(
    command: str, words: list[str], code: int, told: list[str], tmp_path: Path
) -> None:
    (tmp_path / "few.csv").write_text("place,t\nzoo,x\n")
    (tmp_path / "twice.csv").write_text("place,t\n" + "zoo,x\n" * 2)
    before = sorted(tmp_path.iterdir())
    ended = crowdtally(command, RELEASE, *(word.format(tmp_path) for word in words))
    refuses(ended, code, *told)
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("k", ["0", "-3", "ten", "1.5"])
def test_a_bad_k_writes_nothing(k: str, tmp_path: Path) -> None:
    refuses(crowdtally("top", RELEASE, "-k", k, "-o", tmp_path / "a.csv"), 2, "whole number")
    assert list(tmp_path.iterdir()) == []


def test_a_huge_k_is_all_items(tmp_path: Path) -> None:
    assert crowdtally("top", RELEASE, "-k", 10**9, "-o", tmp_path / "a.parquet").code == 0
    assert pq.read_table(tmp_path / "a.parquet").num_rows == len(ITEMS)


def test_what_is_wrong_is_told_before_the_release_is_read(tmp_path: Path) -> None:
    refuses(crowdtally("top", tmp_path / "no-release", "-o", tmp_path / "a.doc"), 2, ".parquet")


def test_a_terminal_gets_csv_spelled_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = top_list(["a\x1b[2Jb"])
    output.Showing("csv", False, None).show(answer)
    assert "\x1b" in capsys.readouterr().out
    monkeypatch.setattr(output.sys.stdout, "isatty", lambda: True, raising=False)
    output.Showing("csv", False, None).show(answer)
    told = capsys.readouterr().out
    assert "\x1b" not in told
    assert "\\x1b" in told
