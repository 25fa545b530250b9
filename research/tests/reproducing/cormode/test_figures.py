"""Every figure on small tables, and the real tables behind them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from crowdtally_research.reproducing.figure import Data, Figure, Given, Numbers
from crowdtally_research.reproducing.papers.cormode import (
    PAPER,
    figure8,
    judging,
    measuring,
    tables,
)
from crowdtally_research.reproducing.papers.cormode.tables import Sparse

# ---- Every part runs on small tables, and every claim of a figure can be judged from its
#      numbers


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


# ---- The real tables, and what stands in for them ------------------------------------------------


ATTRIBUTES = (
    "workclass", "education", "marital-status", "occupation", "relationship", "race", "gender"
)  # fmt: skip


@pytest.fixture
def there(tmp_path: Path) -> Data:
    """Two small files with the columns of the real ones."""
    work = [440010301001008, 440010301001008, 440010301002000, 440070001001000]
    home = [440010301003019, 440010301004016, 440010301003019, 440010301003019]
    pq.write_table(
        pa.table(
            {"w_geocode": work, "h_geocode": home, "S000": pa.array([1, 2, 3, 4], pa.int16())}
        ),
        tmp_path / "lodes_ri_od_2019.parquet",
    )
    rows: dict[str, list[str]] = {name: ["x", "x", "x"] for name in ATTRIBUTES}
    rows |= {"race": ["a", "b", "a"], "gender": ["f", "g", "f"]}
    pq.write_table(pa.table(rows), tmp_path / "adult.parquet")
    return Data(tmp_path / "made", tmp_path)


def test_blocks(there: Data) -> None:
    """Three places of work times two homes, in the order of their numbers."""
    found = tables.blocks(there)
    assert (found.size, found.cells.tolist(), found.values.tolist()) == (
        6,
        [0, 1, 2, 4],
        [1, 2, 3, 4],
    )


def test_tracts_are_the_first_eleven_digits(there: Data) -> None:
    found = tables.tracts(there)
    assert (found.size, found.cells.tolist(), found.values.tolist()) == (2, [0, 1], [6, 4])


def test_profiles_count_persons(there: Data) -> None:
    found = tables.profiles(there)
    assert (found.size, found.cells.tolist(), found.values.tolist()) == (4, [0, 3], [2, 1])


@pytest.mark.parametrize(
    ("make", "size", "occupied"),
    [
        (tables.blocks, 143_147_466, 372_191),
        (tables.tracts, 58_081, 41_649),
        (tables.profiles, 907_200, 8_619),
    ],
)
def test_made_up_tables_have_the_real_sizes(
    make: object, size: int, occupied: int, tmp_path: Path
) -> None:
    assert callable(make)
    found = make(Data(tmp_path))
    assert (found.size, len(found.cells)) == (size, occupied)
    assert (np.diff(found.cells) > 0).all()
    assert found.values.min() == 1
    assert np.median(found.values) < 5 < found.values.max()


def test_costs_and_what_the_table_is_like(tmp_path: Path) -> None:
    found = judging.cost(Given(Data(tmp_path), tmp_path), table="tracts", runs=2)
    by_place = {(one.panel, one.line, one.x): one.mean for one in found}
    lines = ["geometric", "filter", "priority", "filter-priority", "auto"]
    assert [line for panel, line, _ in by_place if panel == "a"] == lines
    assert by_place["b", "geometric", "publishing"] == 58_081
    assert by_place["data", "data", "cells"] == 58_081
    assert by_place["data", "data", "occupied"] == 41_649
    assert by_place["data", "data", "persons"] > 41_649


def test_accuracy_by_the_share_of_cells(tmp_path: Path) -> None:
    given = Given(Data(tmp_path), tmp_path)
    found = judging.accuracy(given, table="tracts", size=10_890, cut=5, runs=2)
    lines = ["geometric", "filter", "priority", "filter-priority"]
    assert list(dict.fromkeys(one.line for one in found)) == lines
    assert [one.x for one in found if one.line == "filter"] == [0.1, 0.5, 1.0, 5.0, 10.0, 25.0]
    with mock.patch.object(measuring, "auto_estimates", lambda one, runs: [one.truth * 2.0] * runs):
        auto = judging.auto(given, table="tracts", runs=1)
    assert [(one.line, one.x, one.mean) for one in auto] == [
        ("auto", share, pytest.approx(100)) for share in (0.1, 0.5, 1.0, 5.0, 10.0, 25.0)
    ]
