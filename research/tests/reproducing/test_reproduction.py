"""Whole reproductions of a made-up paper: what is kept, gone on with, written and refused."""

from __future__ import annotations

import csv
import json
import os
from dataclasses import replace
from pathlib import Path
from unittest import mock

import pytest

import crowdtally_research
from crowdtally.errors import CrowdtallyError, UsageError
from crowdtally_research.reproducing import reproduction
from crowdtally_research.reproducing.figure import REAL, Part
from kit.command import crowdtally
from reproducing.made_up_paper import PAPER, failing

pytestmark = pytest.mark.usefixtures("made_up")


def _ran(folder: Path) -> list[str]:
    """Which curves were computed, each time that one was."""
    log = folder / "runs" / "made-up" / "ran.txt"
    return [line.split()[0] for line in log.read_text().splitlines()] if log.exists() else []


def test_every_number_is_in_the_frame_the_file_and_the_page(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    frame = crowdtally_research.reproduce(output=folder, jobs=1)
    assert len(frame) == 11
    assert frame.attrs["warning"].startswith("NOT PRIVATE")
    first = frame.attrs["figures"][0]
    claim = {"states": "“A square is larger.”", "verdict": "agrees", "found": "100 against 10."}
    assert first["claims"] == [claim]
    rows = list(csv.DictReader((folder / "numbers.csv").read_text().splitlines()))
    assert [float(row["mean"]) for row in rows] == list(frame["mean"])
    assert all(row["warning"].startswith("NOT PRIVATE") for row in rows)
    page = (folder / "reproduction.md").read_text()
    assert "| linear | 2.0 ± 1.0 | 11.0 ± 1.0 | 101.0 ± 1.0 |" in page
    assert "| 1 | A \\| B |" in page  # a title stays in its cell
    assert "| all | 2 tables and figures | 2 | 0 | 0 |" in page
    drawn = (folder / "pictures" / "made-up-1.svg").read_text()
    assert "Powers of x" in drawn


def test_what_was_done_is_not_done_again(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    crowdtally_research.reproduce("made-up", "1", output=folder, jobs=1)
    assert _ran(folder) == ["linear", "square", "auto"]
    (folder / "runs" / "made-up" / "squares-square.json").write_text("{")  # damaged
    frame = crowdtally_research.reproduce("made-up", "Figure 1", output=folder, jobs=1)
    assert _ran(folder) == ["linear", "square", "auto", "square"]
    assert len(frame) == 9


def test_parts_run_side_by_side_in_processes(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    crowdtally_research.reproduce("made-up", "1", output=folder, jobs=2)
    log = (folder / "runs" / "made-up" / "ran.txt").read_text().split()
    assert sorted(log[::2]) == ["auto", "linear", "square"]
    assert str(os.getpid()) not in log[1::2]


def test_the_page_has_all_that_the_folder_has(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    crowdtally_research.reproduce("made-up", "table2", output=folder, jobs=1)
    assert "Figure 1" not in (folder / "reproduction.md").read_text()
    frame = crowdtally_research.reproduce("made-up", "1", output=folder, jobs=1)
    page = (folder / "reproduction.md").read_text()
    assert "Figure 1: Powers" in page
    assert "Table 2: Titles" in page
    assert set(frame["figure"]) == {"1"}


def test_a_failed_part_keeps_the_others(tmp_path: Path) -> None:
    broken = replace(
        PAPER.figures[0], parts=lambda data, quick: [
            *PAPER.figures[0].parts(data, quick), Part("zz-failing", failing)
        ]
    )  # fmt: skip
    paper = replace(PAPER, figures=(broken,))
    folder = tmp_path / "out"
    with (
        mock.patch.object(reproduction, "papers", return_value=(paper,)),
        pytest.raises(CrowdtallyError, match=r"an unforeseen failure \(ValueError\)") as caught,
    ):
        crowdtally_research.reproduce(output=folder, jobs=2)
    assert "visitor-99" not in str(caught.value)
    assert "the same command goes on from there" in str(caught.value)
    kept, before = len(list((folder / "runs" / "made-up").glob("*.json"))), len(_ran(folder))
    assert kept >= 1  # the other process may have been in the middle of its part
    crowdtally_research.reproduce("made-up", "1", output=folder, jobs=1)
    assert len(_ran(folder)) - before == 3 - kept


def test_other_data_are_other_work(tmp_path: Path) -> None:
    folder, real = tmp_path / "out", tmp_path / "real"
    real.mkdir()
    crowdtally_research.reproduce("made-up", "1", output=folder, data=real, jobs=1)
    page = (folder / "reproduction.md").read_text()
    assert "the look-alike `movielens`, because ml1m_ratings.parquet is missing" in page
    assert "NOT PRIVATE" not in page
    for name in REAL["movielens"].files:
        (real / name).write_bytes(b"other")
    crowdtally_research.reproduce("made-up", "1", output=folder, data=real, jobs=1)
    assert _ran(folder) == ["linear", "square", "auto"] * 2
    page = (folder / "reproduction.md").read_text()
    assert "MovieLens 1M, the paper's own file" in page
    assert "**NOT PRIVATE" in page


def test_a_quick_try_says_so_and_is_not_mixed_with_the_rest(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    crowdtally_research.reproduce("made-up", "1", output=folder, quick=True, jobs=1)
    page = (folder / "reproduction.md").read_text()
    assert "This was a quick try" in page
    assert "nothing was measured at squares, square, 10.0. | *cannot be checked* |" in page
    crowdtally_research.reproduce("made-up", "1", output=folder, jobs=1)
    assert _ran(folder) == ["linear", "linear", "square", "auto"]
    assert "quick try" not in (folder / "reproduction.md").read_text()


@pytest.mark.parametrize("typed", ["1", "fig1", "Figure 1", "Fig. 1", "1(a)", "1b"])
def test_a_figure_is_found_by_what_people_call_it(typed: str) -> None:
    ((paper, figures),) = reproduction.asked_for("made-up", typed)
    assert (paper.name, [figure.name for figure in figures]) == ("made-up", ["1"])


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"paper": "fan-jim"}, ["no paper is called 'fan-jim'", "made-up", "table2  Titles"]),
        ({"paper": "made-op"}, ["Did you mean made-up?"]),
        ({"paper": "made-up", "figure": "9"}, ["no figure '9'", "1       Powers"]),
        ({"data": "nowhere"}, ["--data", "'nowhere' is none"]),
        ({"jobs": 0}, ["jobs"]),
    ],
)
def test_what_does_not_exist_is_refused_before_anything_is_written(
    given: dict[str, object], words: list[str], tmp_path: Path
) -> None:
    with pytest.raises(UsageError) as caught:
        crowdtally_research.reproduce(output=tmp_path / "out", **given)
    for word in words:
        assert word.removeprefix("--") in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_a_folder_of_other_things_is_left(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("mine")
    with pytest.raises(UsageError, match="holds other things, and no reproduction"):
        crowdtally_research.reproduce("made-up", output=tmp_path)
    assert [one.name for one in tmp_path.iterdir()] == ["letter.txt"]


def test_the_command_line_tells_verdicts_and_the_page(tmp_path: Path) -> None:
    ended = crowdtally("lab", "reproduce", "made-up", "1", "-o", str(tmp_path / "out"))
    assert ended.code == 0, str(ended)
    assert "made-up, Figure 1: Powers" in ended.out
    assert "agrees:            “A square is larger.”" in ended.out
    assert f"The page: {tmp_path / 'out' / 'reproduction.md'}" in ended.out
    told = crowdtally("lab", "reproduce", "--all", "-o", str(tmp_path / "out"), "--json")
    assert [one["figure"] for one in json.loads(told.out)["figures"]] == ["1", "table2"]


def test_without_a_paper_what_exists_is_listed(tmp_path: Path) -> None:
    ended = crowdtally("lab", "reproduce")
    assert ended.code == 0
    assert "made-up: A paper that does not exist" in ended.out
    assert "or give --all" in ended.out
    both = crowdtally("lab", "reproduce", "made-up", "--all", "-o", str(tmp_path / "out"))
    assert both.code == 2
    assert "remove made-up, or --all" in both.err
    assert not list(tmp_path.iterdir())


def test_an_interruption_says_what_is_kept(tmp_path: Path) -> None:
    with mock.patch(
        "crowdtally_research.reproducing.reproduction.write", side_effect=KeyboardInterrupt
    ):
        ended = crowdtally("lab", "reproduce", "made-up", "1", "-o", str(tmp_path / "out"))
    assert ended.code == 130
    assert "3 finished parts are kept in" in ended.err
    assert "The same command goes on from there" in ended.err
