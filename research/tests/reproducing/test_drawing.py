"""Pictures of figures: every panel, every line, and what they were computed from."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from unittest import mock

from crowdtally.lab.comparison.charts import Axis
from crowdtally_research.reproducing import writing
from crowdtally_research.reproducing.figure import Number, Numbers, Panel
from reproducing.made_up_paper import PAPER

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
