"""``top``, ``recommend``, ``changes`` and ``describe``: the same answer wherever it goes."""

from __future__ import annotations

import csv
import io
import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import crowdtally as ct
from crowdtally.cli import output
from kit.command import Ended, crowdtally
from kit.processes import top_list
from kit.stored import stored

# ---- Answers on the command line: as a table, CSV or JSON, and as files; with labels -------------


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


# ---- ``crowdtally changes``: as table, CSV, JSON and file; a refusal leaves nothing behind -------


PAIR = (str(stored("sra-one-context")), str(stored("sra-record-id")))


def test_the_command_says_what_python_says(tmp_path: Path) -> None:
    found = ct.changes(*PAIR, fdr="0.9", of="shares", day=["Fri", "Sun"])
    asked = (*PAIR, "--fdr", "0.9", "--of", "shares", "--context", "day=Fri")
    asked = (*asked, "--context", "day=Sun")
    assert crowdtally("changes", *asked).out == f"{found}\n"
    assert json.loads(crowdtally("changes", *asked, "--json").out) == found.to_dicts()
    assert crowdtally("changes", *asked, "--format", "csv").out == found.to_csv()
    ended = crowdtally("changes", *asked, "-o", tmp_path / "changes.json")
    assert ended.code == 0
    assert "False discovery rate 0.9" in ended.err
    assert json.loads((tmp_path / "changes.json").read_text()) == found.to_dicts()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((PAIR[0], PAIR[0]), "the same release"),
        ((PAIR[0], str(stored("sra-items"))), "releases of two domains"),
        ((*PAIR, "--context", "dy=Fri"), "no context 'dy'"),
        ((*PAIR, "--fdr", "2"), "between 0 and 1"),
        ((*PAIR, "--fdr", "x"), "exact finite number"),
        ((*PAIR, "--of", "sums"), "counts or shares"),
        ((*PAIR, "-k", "0"), "at least 1"),
        ((*PAIR, "--context", "day"), "NAME=VALUE"),
        ((*PAIR, "--context", "day=Fridy"), "Did you mean 'Fri'"),
    ],
)
def test_a_refusal_leaves_nothing_behind(
    arguments: tuple[str, ...], words: str, tmp_path: Path
) -> None:
    ended = crowdtally("changes", *arguments, "-o", tmp_path / "changes.csv")
    assert ended.code == 2
    assert words in ended.err
    assert not ended.out
    assert not list(tmp_path.iterdir())


# ---- ``crowdtally describe``: the same words wherever they go ------------------------------------


def test_a_release_is_described() -> None:
    ended = crowdtally("describe", RELEASE)
    assert (ended.code, ended.err) == (0, "")
    titles = [line for line in ended.out.splitlines() if line and not line.startswith(" ")]
    assert titles == [
        "What is counted", "From whom", "How it is protected", "What ε means as odds",
        "What was spent", "What is not covered",
    ]  # fmt: skip
    assert max(map(len, ended.out.splitlines())) <= 88


def test_json_is_for_programs() -> None:
    ended = crowdtally("describe", RELEASE, "--json")
    found = json.loads(ended.out)
    assert (ended.code, ended.err) == (0, "")
    assert found["epsilon"] == "2"
    assert found["delta"] == "0"
    assert found["unit"] == "user"
    assert [entry["before"] for entry in found["beliefs"]] == ["0.01", "0.1", "0.5"]
    assert found["not_covered"]


@pytest.mark.parametrize("columns", [60, 300])
def test_a_terminal_is_filled_and_a_pipe_is_always_the_same(columns: int) -> None:
    environment = {**os.environ, "COLUMNS": str(columns)}
    command = [sys.executable, "-m", "crowdtally", "describe", str(RELEASE)]
    piped = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert piped.stdout == crowdtally("describe", RELEASE).out
    ours, theirs = pty.openpty()
    with subprocess.Popen(command, env=environment, stdout=theirs, stderr=theirs) as running:
        os.close(theirs)
        shown = _all_of(ours)
        assert running.wait() == 0
    longest = max(map(len, shown.splitlines()))
    assert min(columns, 100) - 20 <= longest <= min(columns, 100)
    assert shown.split() == piped.stdout.split()


def _all_of(terminal: int) -> str:
    found = b""
    while True:
        try:
            part = os.read(terminal, 4096)
        except OSError:  # the other end is closed
            part = b""
        if not part:
            os.close(terminal)
            return found.decode()
        found += part


def test_what_is_no_release_is_refused(tmp_path: Path) -> None:
    ended = crowdtally("describe", tmp_path)
    assert ended.code == 4
    assert ended.out == ""
    assert "is not a release: it has no release.json" in ended.err
    assert crowdtally("describe").code == 2
