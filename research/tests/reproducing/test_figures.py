"""Figures: the data behind them, their means and errors, their pictures."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow.parquet as pq
import pytest

from crowdtally.lab.comparison.charts import Axis
from crowdtally_research.reproducing import writing
from crowdtally_research.reproducing.figure import REAL, Data, Number, Numbers, Panel
from reproducing.made_up_paper import PAPER

# ---- Real files where there are any, look-alikes where there are none ----------------------------


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


# ---- Means with their standard errors, at their places -------------------------------------------


def test_a_mean_has_the_standard_error_of_independent_runs() -> None:
    number = Number.over("items", "sra", 10, [1.0, 2.0, 6.0])
    assert number.mean == pytest.approx(3.0)
    assert number.standard_error == pytest.approx((7.0 / 3) ** 0.5)
    assert number.runs == 3
    assert Number.over("items", "sra", 10, [5.0]).standard_error == 0


def test_numbers_come_back_from_json() -> None:
    for one in (Number("a", "b", 1.5, 2.0, 0.5, 4), Number("a", "b", "week", 1.0, text="Star")):
        assert Number.of(json.loads(json.dumps(one.to_dict()))) == one


@pytest.mark.parametrize(
    "damage", [{"x": None}, {"x": True}, {"mean": "many"}, {"mean": float("nan")}, {"runs": None}]
)
def test_damaged_numbers_are_refused(damage: dict[str, object]) -> None:
    told = Number("a", "b", 1.0, 2.0).to_dict() | damage
    with pytest.raises((TypeError, ValueError)):
        Number.of(told)


def test_numbers_are_asked_by_panel_line_and_place() -> None:
    numbers = Numbers(
        [Number("a", "sra", 10, 3.0), Number("a", "sra", 9, 4.0), Number("a", "hpa", 9, 1.0),
         Number("b", "lpa", "Monday", 2.0), Number("b", "lpa", "Friday", 5.0)]
    )  # fmt: skip
    assert numbers.mean("a", "sra", 9) == 4.0
    assert numbers.lines("a") == ["sra", "hpa"]
    assert list(numbers.curve("a", "sra")) == [9, 10]
    assert list(numbers.curve("b", "lpa")) == ["Monday", "Friday"]
    assert numbers.has("b", "lpa")
    assert not numbers.has("b", "sra")
    with pytest.raises(KeyError):
        numbers.at("b", "sra", 9)


# ---- Pictures of figures: every panel, every line, and what they were computed from --------------


FIGURE = replace(
    PAPER.figures[0],
    panels=(
        Panel("curve", "Over l", Axis("l", True), Axis("MSE", True)),
        Panel("bars", "By data", Axis("data", False), Axis("precision", False), is_bars=True),
        Panel("dots", "By data", Axis("data", False), Axis("MSE", True), is_bars=True),
    ),
)
NUMBERS = Numbers(
    [
        *(Number("curve", "sra", x, 100.0 * x, 5.0, 20) for x in (1.0, 10.0)),
        *(Number("curve", "auto", x, 7.0) for x in (1.0, 10.0)),
        *(Number("bars", line, "netflix", 0.5, 0.1) for line in ("sra", "lpa", "auto")),
        *(Number("dots", line, x, 10.0) for line in ("sra", "lpa") for x in ("a", "b")),
        Number("dots", "auto", "a", 1e6),
    ]
)


def _spec(is_real: bool = False) -> dict[str, Any]:
    with mock.patch.object(writing, "as_svg", lambda spec, name: spec):
        spec: Any = writing.picture(FIGURE, NUMBERS, "x", is_real=is_real)
    return spec  # type: ignore[no-any-return]


def _colours(panel: dict[str, Any]) -> dict[str, str]:
    scale = panel["layer"][0]["encoding"]["color"]["scale"]
    return dict(zip(scale["domain"], scale["range"], strict=True))


def test_a_line_has_one_colour_in_all_panels() -> None:
    panels = _spec()["concat"]
    assert len(panels) == 3
    assert _colours(panels[0]) == _colours(panels[1]) == _colours(panels[2])
    assert len(set(_colours(panels[0]).values())) == 3


def test_bars_begin_at_zero_and_points_stand_for_bars_by_ratios() -> None:
    _, bars, dots = _spec()["concat"]
    assert bars["layer"][0]["mark"]["type"] == "bar"
    assert bars["layer"][0]["encoding"]["y"]["scale"]["domain"][0] == 0
    assert {layer["mark"]["type"] for layer in dots["layer"]} == {"rule", "point"}
    assert dots["layer"][0]["encoding"]["y"]["scale"]["type"] == "log"


def test_every_number_is_drawn_with_its_error() -> None:
    values = _spec()["concat"][0]["data"]["values"]
    assert len(values) == 4
    assert values[0]["low"] == 95.0
    assert values[0]["high"] == 105.0


def test_a_picture_says_whose_records_are_in_it() -> None:
    assert _spec(is_real=True)["title"]["text"].startswith("NOT PRIVATE")
    assert _spec(is_real=False)["title"]["text"] == "Computed from made-up records"


def test_it_is_drawn() -> None:
    drawn = writing.picture(FIGURE, NUMBERS, "x", is_real=False)
    for words in ("Over l", "By data", "sra", "auto", "precision"):
        assert words in drawn
