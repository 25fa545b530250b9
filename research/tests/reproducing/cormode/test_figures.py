"""Every part runs on small tables, and every claim of a figure can be judged from its numbers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest

from crowdtally_research.reproducing.figure import Data, Figure, Given, Numbers
from crowdtally_research.reproducing.papers.cormode import PAPER, figure8, measuring
from crowdtally_research.reproducing.papers.cormode.tables import Sparse

FIGURES = {figure.name: figure for figure in PAPER.figures}


def test_the_figures_of_the_paper() -> None:
    assert PAPER.name == "cormode"
    assert list(FIGURES) == ["3", "4", "5", "6", "7", "8"]


def test_parts_have_names_of_their_own(tmp_path: Path) -> None:
    parts = [part for one in PAPER.figures for part in one.parts(Data(tmp_path), False)]
    assert len({part.name for part in parts}) == len(parts)


def test_parts_that_measure_time_run_alone(tmp_path: Path) -> None:
    parts = [part for one in PAPER.figures for part in one.parts(Data(tmp_path), False)]
    timed = {part.name for part in parts if part.is_timed}
    assert timed == {
        *(f"figure4-{power}" for power in range(1, 6)), "figure6-cost", "figure7-cost",
        *(f"figure8-time-{power}" for power in range(1, 4)),
    }  # fmt: skip


@pytest.mark.parametrize("figure", ["6", "7"])
def test_real_data_decide_whether_work_is_old(figure: str, tmp_path: Path) -> None:
    dataset = {"6": "lodes", "7": "adult"}[figure]
    parts = FIGURES[figure].parts(Data(tmp_path), True)
    assert {part.datasets for part in parts} == {(dataset,)}


def test_accuracy_has_fifty_runs(tmp_path: Path) -> None:
    for figure in PAPER.figures:
        for part in figure.parts(Data(tmp_path), False):
            least = 5 if part.is_timed else 20 if "auto" in part.name else 50
            assert part.arguments["runs"] >= least, part.name


def _exact(sparse: Sparse, runs: int) -> Iterator[object]:
    """In place of ``auto``, whose engine takes a second to start: ``test_accuracy`` runs it."""
    for _ in range(runs):
        yield sparse.truth + 0.5


@pytest.mark.parametrize("name", ["3", "5", "8"])
def test_quick_figures_can_be_judged(name: str, tmp_path: Path) -> None:
    figure = FIGURES[name]
    with (
        mock.patch.object(measuring, "auto_estimates", _exact),
        mock.patch.object(figure8, "auto_estimates", _exact),
    ):
        numbers = _numbers(figure, tmp_path)
    for panel in figure.panels:
        assert numbers.lines(panel.name), panel.name
    assert any(one.line == "auto" for one in numbers)
    assert list(dict.fromkeys(one.line for one in numbers))[-1] == "auto"
    assert {one.panel for one in numbers} == {panel.name for panel in figure.panels}
    for claim in figure.claims:
        judged = claim.judge(numbers)
        assert judged.found
        assert judged.found[-1] in ".%"


def _numbers(figure: Figure, folder: Path) -> Numbers:
    given = Given(Data(folder, is_quick=True), folder)
    parts = figure.parts(given.data, True)
    return Numbers(one for part in parts for one in part.run(given, **part.arguments))


def test_consistency_is_shown_by_what_it_leaves(tmp_path: Path) -> None:
    """Both lines of a run have the same noise, so that much of it cancels in their ratio."""
    given = Given(Data(tmp_path), tmp_path)
    found = figure8.ranges(given, panel="skewed", cells=10_000, runs=2)
    lines = {one.line for one in found if one.panel == "consistent-skewed"}
    assert lines == {"d-filter", "d-filter-priority"}
    assert all(0 < one.mean < 130 for one in found if one.panel == "consistent-skewed")
    assert not any(one.line.endswith("consistent") for one in found)
