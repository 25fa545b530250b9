"""A figure as one picture: its panels side by side, with one legend for all of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from crowdtally.lab.compared.pictures.axes import Axis, encoded, fitted
from crowdtally.lab.compared.pictures.charts import COLOURS, SHAPES, WARNING, as_svg, framed
from crowdtally_research.reproducing.figure import Figure, Panel
from crowdtally_research.reproducing.numbers import Number, Numbers

MADE_UP = "Computed from made-up records"
"""Above a picture that no real person is in."""
_COLOURS = (*COLOURS, "#999999", "#7A4FBF")
_SHAPES = (*SHAPES, "triangle-left", "circle")
_WIDTH = 330
_HEIGHT = 230
_ABREAST = 3
_FEW = 9
"""So many places have each a label of their own."""
_LETTERS = 34
"""So many letters of names have room side by side below a panel."""


def picture(figure: Figure, numbers: Numbers, name: str, *, is_real: bool) -> str:
    """The figure as SVG.

    Args:
        figure: what is drawn.
        numbers: its numbers.
        name: what its inner names start with.
        is_real: whether somebody's records are in it.
    """
    lines = list(dict.fromkeys(one.line for one in numbers))
    drawn = [_panel(panel, numbers, lines) for panel in figure.panels]
    abreast = 2 if len(drawn) in (2, 4) else _ABREAST
    view = {
        "concat": drawn, "columns": abreast, "spacing": {"row": 30, "column": 40},
        "resolve": {"scale": {"xOffset": "independent"}},  # each panel has bars of its own
    }  # fmt: skip
    warning = WARNING if is_real else MADE_UP
    return as_svg(framed(figure.title, view, warning=warning), name)


def _panel(panel: Panel, numbers: Numbers, lines: Sequence[str]) -> dict[str, Any]:
    own = [one for one in numbers if one.panel == panel.name]
    y = _fitted(panel, own)
    draw = _bars if panel.is_bars else _lines
    return {
        "width": _WIDTH,
        "height": _HEIGHT,
        "title": {"text": panel.title, "fontSize": 12, "anchor": "start", "fontWeight": "normal"},
        "data": {"values": [_value(one, y) for one in own]},
        "layer": draw(panel, own, y, lines),
    }


def _fitted(panel: Panel, own: Iterable[Number]) -> Axis:
    """The axis with room for all numbers; one that is not by ratios begins at 0 with bars."""
    lows = [max(n.mean - n.standard_error, n.mean / 2) if n.mean > 0 else n.mean for n in own]
    highs = [n.mean + n.standard_error for n in own]
    y = fitted(panel.y, lows or [0.0], highs or [1.0])
    if panel.y.domain is not None or y.is_log or min(lows, default=0.0) < 0:
        return y
    return replace(y, domain=(0.0, max(highs, default=1.0) * 1.05 or 1.0))


def _value(one: Number, y: Axis) -> dict[str, Any]:
    assert y.domain is not None
    bottom, top = y.domain
    return {
        "line": one.line,
        "x": one.x,
        "value": one.mean,
        "low": max(one.mean - one.standard_error, bottom),
        "high": min(one.mean + one.standard_error, top),
    }


def _told(by: str, lines: Sequence[str], choices: Sequence[Any], legend: object) -> dict[str, Any]:
    scale = {"domain": list(lines), "range": [choices[i % len(choices)] for i in range(len(lines))]}
    return {by: {"field": "line", "type": "nominal", "scale": scale, "legend": legend}}


def _legend(lines: Sequence[str]) -> dict[str, Any]:
    return {
        "title": None, "orient": "bottom", "labelLimit": 0, "symbolSize": 90,
        "columns": min(len(lines), 6), "symbolStrokeWidth": 0,
    }  # fmt: skip


def _lines(panel: Panel, own: Sequence[Number], y: Axis, lines: Sequence[str]) -> list[Any]:
    places = sorted({float(one.x) for one in own})
    across = encoded("x", fitted(panel.x, places or [0.0], places or [1.0]))
    across["axis"] |= {"format": ",.6~g", "labelOverlap": "greedy", "labelSeparation": 4}
    if len(places) <= _FEW:
        across["axis"] |= {"values": places}
    up = encoded("value", y)
    colour = _told("color", lines, _COLOURS, _legend(lines))
    ends = {"x": across, "y": up | {"field": "low"}, "y2": {"field": "high"}}
    return [
        {"mark": {"type": "line", "strokeWidth": 2}, "encoding": {"x": across, "y": up, **colour}},
        {"mark": {"type": "rule", "strokeWidth": 1.5}, "encoding": ends | colour},
        {
            "mark": {"type": "point", "filled": True, "size": 45, "opacity": 1},
            "encoding": {"x": across, "y": up, **colour}
            | _told("shape", lines, _SHAPES, _legend(lines)),
        },
    ]


def _bars(panel: Panel, own: Sequence[Number], y: Axis, lines: Sequence[str]) -> list[Any]:
    """Bars beside each other; where the axis is by ratios, which has no 0, points."""
    order = [str(one) for one in dict.fromkeys(number.x for number in own)]
    present = [line for line in lines if any(one.line == line for one in own)]
    # Names that would run into each other are written aslant.
    angle = -20 if sum(map(len, order)) > _LETTERS else 0
    title = {"title": panel.x.title, "labelAngle": angle, "labelLimit": 0}
    across = {
        "x": {"field": "x", "type": "nominal", "sort": order, "axis": title},
        "xOffset": {"field": "line", "type": "nominal", "sort": present,
                    "scale": {"domain": present}},
    }  # fmt: skip
    up = encoded("value", y)
    colour = _told("color", lines, _COLOURS, _legend(lines))
    ends = across | {"y": up | {"field": "low"}, "y2": {"field": "high"}}
    if y.is_log:
        mark = {"type": "point", "filled": True, "size": 60, "opacity": 1}
        shown = across | {"y": up} | colour | _told("shape", lines, _SHAPES, _legend(lines))
        return [{"mark": {"type": "rule"}, "encoding": ends | colour},
                {"mark": mark, "encoding": shown}]  # fmt: skip
    return [
        {"mark": {"type": "bar"}, "encoding": across | {"y": up} | colour},
        {"mark": {"type": "rule", "color": "#222"}, "encoding": ends},
    ]
