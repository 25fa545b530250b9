"""Real files where there are any, look-alikes where there are none."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from crowdtally_research.reproducing.figure import REAL, Data


def test_a_lookalike_is_made_once(tmp_path: Path) -> None:
    data = Data(tmp_path / "made", is_quick=True)
    path = data.lookalike("foursquare")
    before = path.stat().st_mtime_ns
    assert data.lookalike("foursquare") == path
    assert path.stat().st_mtime_ns == before
    assert {one.name for one in path.parent.iterdir()} == {
        "foursquare-0.01.parquet", "foursquare-0.01.items.parquet",
    }  # fmt: skip
    assert pq.read_metadata(path).num_rows == 12_770


def test_a_dataset_is_real_only_with_all_of_its_files(tmp_path: Path) -> None:
    data = Data(tmp_path / "made", tmp_path)
    for name in REAL["movielens"].files[:-1]:
        (tmp_path / name).write_bytes(b"1")
    assert not data.is_real("movielens")
    (tmp_path / REAL["movielens"].files[-1]).write_bytes(b"2")
    assert Data(tmp_path / "made", tmp_path).is_real("movielens")
    assert not data.is_real("netflix")
    with pytest.raises(FileNotFoundError):
        Data(tmp_path).files("movielens")


def test_data_are_known_by_their_content(tmp_path: Path) -> None:
    (tmp_path / "adult.parquet").write_bytes(b"1")
    first = Data(tmp_path / "made", tmp_path).known_by("adult")
    (tmp_path / "adult.parquet").write_bytes(b"2")
    assert Data(tmp_path / "made", tmp_path).known_by("adult") != first
    quick, whole = Data(tmp_path, is_quick=True), Data(tmp_path)
    assert quick.known_by("netflix") != whole.known_by("netflix")


def test_what_stands_in_is_said(tmp_path: Path) -> None:
    data = Data(tmp_path, is_quick=True)
    assert data.said("netflix") == "the look-alike `netflix` at 0.01 of its size"
    assert data.said("lodes") == "made-up data, because lodes_ri_od_2019.parquet is missing"
