"""The real tables, and what stands in for them."""

from __future__ import annotations

from pathlib import Path
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from crowdtally_research.reproducing.figure import Data, Given
from crowdtally_research.reproducing.papers.cormode import judging, measuring, tables

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
