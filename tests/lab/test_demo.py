"""The demonstration's visits are the same however they are divided into parts."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import duckdb
import pytest

from crowdtally.lab import demo


def rows(folder: Path) -> list[tuple[object, ...]]:
    return duckdb.sql(f"FROM '{folder / 'visits.parquet'}'").fetchall()


def test_parts_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for part in (1 << 20, 700):
        monkeypatch.setattr(demo, "_PART", part)
        folder = tmp_path / str(part)
        folder.mkdir()
        demo.generate(folder, 5000)
        found.append(rows(folder))
        assert sorted(path.name for path in folder.iterdir()) == ["places.csv", "visits.parquet"]
    assert found[0] == found[1]
    assert [row[0] for row in found[0]] == list(range(len(found[0])))
    assert 4500 < len(found[0]) < 5500


def test_a_visit_takes_few_bytes_of_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What all visits take together; a part takes as much whatever their number."""
    monkeypatch.setattr(demo, "_PART", 1 << 15)
    took = []
    for records in (1 << 18, 1 << 19):
        folder = tmp_path / str(records)
        folder.mkdir()
        tracemalloc.start()
        demo.generate(folder, records)
        took.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert (took[1] - took[0]) / (1 << 18) < 20
