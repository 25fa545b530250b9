from __future__ import annotations

import csv
import json
from dataclasses import replace
from math import inf, isnan, nan
from pathlib import Path
from typing import Any

import pandas
import pytest
from pyarrow import parquet

from crowdtally.lab.comparison.page import COLUMNS, as_frame, write_tables
from crowdtally.lab.methods import CHOSEN_BY_LOOKING, NOT_PRIVATE
from kit.compared import FACTS, summary

SUMMARIES = [
    summary("sra", 234.125, 0.1, bound=30),
    summary("lpa", nan, nan, bound=None, epsilon="1/3"),
    summary("hpa", 0.9, 0.0, metric="precision", k=10, epsilon="0.1"),
    summary("hpa", inf, nan, metric="kl"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("compared")
    write_tables(place, SUMMARIES, replace(FACTS, source='=cmd|"<b>é'))
    return place


def plain(row: dict[str, Any]) -> dict[str, Any]:
    """A row with None for what is missing."""
    return {name: None if pandas.isna(value) else value for name, value in row.items()}


def test_every_form_holds_the_same_rows(folder: Path) -> None:
    from_csv = pandas.read_csv(folder / "comparison.csv").drop(columns="warning")
    from_json = json.loads((folder / "comparison.json").read_text(encoding="utf-8"))["rows"]
    from_parquet = parquet.read_table(folder / "comparison.parquet").to_pylist()
    wanted = [plain(row) for row in as_frame(SUMMARIES).to_dict("records")]
    assert [plain(row) for row in from_csv.to_dict("records")] == wanted
    assert from_json == wanted
    assert from_parquet == wanted
    assert list(from_csv) == list(COLUMNS) == list(from_json[0]) == list(from_parquet[0])


def test_numbers_are_those_of_the_summaries_to_the_last_bit(folder: Path) -> None:
    rows = json.loads((folder / "comparison.json").read_text(encoding="utf-8"))["rows"]
    assert rows[0] == {
        "method": "sra", "max_records": 30, "epsilon": 1.0, "table": "items", "metric": "mae",
        "k": None, "mean": 234.125, "standard_error": 0.1, "keys": 5, "runs": 20,
    }  # fmt: skip
    assert rows[1]["epsilon"] == 1 / 3
    assert rows[1]["mean"] is rows[3]["mean"] is None


def test_a_spreadsheet_sees_numbers_a_header_and_the_warning_in_each_row(folder: Path) -> None:
    with (folder / "comparison.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == [*COLUMNS, "warning"]
    assert rows[1] == [*"sra,30,1.0,items,mae,,234.125,0.1,5,20".split(","), rows[1][-1]]
    assert all(row[-1] == "NOT PRIVATE: computed from the true records" for row in rows[1:])
    # No cell is a formula, and none is a date such as 1/3.
    assert not any(cell[:1] in "=+-@" or "/" in cell for row in rows[1:] for cell in row if cell)


def test_json_and_parquet_carry_the_whole_warning_and_the_facts(folder: Path) -> None:
    document = json.loads((folder / "comparison.json").read_text(encoding="utf-8"))
    notes = parquet.read_schema(folder / "comparison.parquet").metadata
    assert next(iter(document)) == "warning"
    assert document["warning"] == f"{NOT_PRIVATE} {CHOSEN_BY_LOOKING}"
    assert notes[b"warning"].decode() == document["warning"]
    assert json.loads(notes[b"facts"]) == document["facts"]
    assert document["facts"]["source"] == '=cmd|"<b>é'
    assert document["facts"]["baselines"] == ["gs", "lpa"]
    assert document["facts"]["started"] == "2026-03-01T09:30:00+00:00"


def test_a_frame_has_whole_numbers_where_they_are_whole() -> None:
    frame = as_frame(SUMMARIES)
    assert frame["max_records"].tolist()[0] == 30
    assert str(frame["max_records"].dtype) == str(frame["k"].dtype) == "Int64"
    assert isnan(frame["mean"][1])
    assert frame.attrs["warning"].startswith("NOT PRIVATE")
    assert list(as_frame([])) == list(COLUMNS)


def test_a_frame_says_what_to_take_and_what_was_left_out() -> None:
    attrs = as_frame(SUMMARIES, replace(FACTS, notes=("a note",))).attrs
    assert attrs["recommendation"].startswith("At ε = 1, take sra with at most 30 records")
    assert attrs["skipped"] == {"sra/haar": "the domain has no ordered attribute"}
    assert attrs["notes"] == ["a note"]


def test_a_comparison_without_numbers_is_written(tmp_path: Path) -> None:
    write_tables(tmp_path, [], FACTS)
    assert len(pandas.read_csv(tmp_path / "comparison.csv")) == 0
    assert parquet.read_table(tmp_path / "comparison.parquet").num_rows == 0
