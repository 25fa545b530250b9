"""How a picture is drawn: Vega-Lite specifications, turned into SVG without a network or a script.

Lines differ in colour, dash and shape, so that they can be told apart in print and by people who do
not see all colours; a panel has seven of them at most. A picture of one column is dots by name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

from crowdtally.lab.compared.pictures.axes import Axis, encoded, fitted
from crowdtally.lab.compared.summary import Summary

WARNING = "NOT PRIVATE: computed from the true records"
"""At the top of each picture."""
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#56B4E9", "#E69F00")
"""Okabe and Ito's, which differ for every kind of eye, without the yellow that fades on white."""
_DASHES = ((1, 0), (6, 3), (2, 2), (8, 3, 2, 3), (1, 0), (6, 3), (2, 2))
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right")
"""In the order of the colours."""
_WIDTH = 370
_HEIGHT = 300
_ROW = 24
_SHORT = 26
"""Letters of a name that leave room for another beside it."""
_INK = "#222"


@dataclass(frozen=True)
class Line:
    """One method in a picture."""

    name: str
    """As the legend names it."""
    points: Mapping[float, Summary]
    """What was measured, by its place on the horizontal axis."""
    is_flat: bool = False
    """Whether it is the same everywhere, as it does not know what the axis shows."""
    style: int = 0
    """Its place among all methods: the first seven look the same in every picture."""


def lines(title: str, x: Axis, y: Axis, series: Sequence[Line]) -> dict[str, Any]:
    """Lines over an axis, the best methods in the first panel."""
    size = len(COLOURS)
    parts = [series[start : start + size] for start in range(0, len(series), size)]
    columns = sorted({place for one in series for place in one.points})
    x = fitted(x, columns, columns)
    panels = [
        _panel(part, columns, x, _fitted_to_bars(y, part), _panel_title(number, parts))
        for number, part in enumerate(parts)
    ]
    if len(panels) == 1:
        return framed(title, panels[0])
    own = {"scale": dict.fromkeys(("color", "shape", "strokeDash"), "independent")}
    return framed(title, {"vconcat": panels, "resolve": own})


def dots(title: str, names: str, y: Axis, series: Sequence[Line]) -> dict[str, Any]:
    """A dot for each method, the best on top, for a picture of one column."""
    axis = _fitted_to_bars(y, series)
    values = [
        {"method": one.name, **_bar(found, axis)} for one in series for found in one.points.values()
    ]
    order = [one.name for one in series]
    rows = {
        "field": "method",
        "type": "nominal",
        "sort": order,
        "axis": {"title": names, "labelLimit": 0, "grid": True, "titleAlign": "right",
                 "titleAngle": 0, "titleAnchor": "start", "titleX": -9, "titleY": -8},
    }  # fmt: skip
    x = encoded("value", axis)
    layers = [
        {
            "mark": {"type": "rule", "strokeWidth": 2, "color": COLOURS[0]},
            "encoding": {"y": rows, "x": x | {"field": "low"}, "x2": {"field": "high"}},
        },
        {
            "mark": {
                "type": "point",
                "filled": True,
                "size": 80,
                "opacity": 1,
                "color": COLOURS[0],
            },
            "encoding": {"y": rows, "x": x},
        },
    ]
    return framed(title, {"width": 340, "height": _ROW * max(len(series), 2),
                          "data": {"values": values}, "layer": layers})  # fmt: skip


def as_svg(spec: Mapping[str, Any], name: str) -> str:
    """The drawing, its inner names starting with ``name``: several may stand on one page."""
    import vl_convert

    drawn = str(vl_convert.vegalite_to_svg(dict(spec)))
    drawn = re.sub(r'\bid="', f'id="{name}-', drawn)
    return drawn.replace("url(#", f"url(#{name}-")


def _panel(
    part: Sequence[Line], columns: Sequence[float], x: Axis, y: Axis, title: str | None
) -> dict[str, Any]:
    order = [one.name for one in part]
    styles = _styles(part)
    values = [
        {"method": one.name, "x": place, "measured": not one.is_flat, **_bar(found, y)}
        for one in part
        for place, found in _over(one, columns)
    ]
    legend = {
        "title": "Method, the best first",
        "orient": "bottom",
        "columns": 2 if max(map(len, order)) <= _SHORT else 1,
        "labelLimit": 0,
        "symbolSize": 90,
        "symbolStrokeWidth": 0,
    }
    place = encoded("x", x)
    place["axis"] |= {"values": list(columns), "format": ".4~g", "labelOverlap": "greedy"}
    across = {"x": place, "y": encoded("value", y)}

    def told(by: str, choices: Sequence[Any], shown: object) -> dict[str, Any]:
        scale = {"domain": order, "range": [choices[style] for style in styles]}
        return {by: {"field": "method", "type": "nominal", "scale": scale, "legend": shown}}

    colour = told("color", COLOURS, legend)
    only_measured = [{"filter": "datum.measured"}]
    layers = [
        {
            "mark": {"type": "line", "strokeWidth": 2},
            "encoding": across | colour | told("strokeDash", _DASHES, None),
        },
        {
            "transform": only_measured,
            "mark": {"type": "rule", "strokeWidth": 1.5},
            "encoding": {**across, "y": across["y"] | {"field": "low"}, "y2": {"field": "high"},
                         **colour},
        },
        {
            "transform": only_measured,
            "mark": {"type": "point", "filled": True, "size": 55, "opacity": 1},
            "encoding": across | colour | told("shape", SHAPES, legend),
        },
    ]  # fmt: skip
    panel = {"width": _WIDTH, "height": _HEIGHT, "data": {"values": values}, "layer": layers}
    return panel | ({"title": {"text": title, "fontSize": 12, "color": _INK}} if title else {})


def _styles(part: Sequence[Line]) -> list[int]:
    """A colour, dash and shape for each line of a panel; who comes first keeps its own."""
    free = list(range(len(COLOURS)))
    taken: dict[str, int] = {}
    for one in sorted(part, key=lambda line: line.style):
        taken[one.name] = one.style if one.style in free else free[0]
        free.remove(taken[one.name])
    return [taken[one.name] for one in part]


def _panel_title(number: int, parts: Sequence[Sequence[Line]]) -> str | None:
    if len(parts) == 1:
        return None
    first = sum(len(part) for part in parts[:number]) + 1
    last = first + len(parts[number]) - 1
    which = f"Methods {first} to {last}" if last > first else f"Method {first}"
    return f"{which}, by quality (own scale)"


def _over(one: Line, columns: Sequence[float]) -> list[tuple[float, Summary]]:
    if not one.is_flat:
        return sorted(one.points.items(), key=lambda point: point[0])
    (found,) = one.points.values()
    return [(columns[0], found), (columns[-1], found)]


def _bar(found: Summary, axis: Axis) -> dict[str, float]:
    """A point and one standard error on both sides, within the picture."""
    error = found.standard_error if isfinite(found.standard_error) else 0.0
    assert axis.domain is not None
    bottom, top = axis.domain
    low, high = max(found.mean - error, bottom), min(found.mean + error, top)
    return {"value": found.mean, "low": low, "high": high}


def _fitted_to_bars(axis: Axis, series: Sequence[Line]) -> Axis:
    """The axis with ends that hold all means, and their error bars as far as it can."""
    found = [one for line in series for one in line.points.values()]
    errors = [one.standard_error if isfinite(one.standard_error) else 0.0 for one in found]
    means = [one.mean for one in found]
    lows = [max(m - e, m / 2) if m > 0 else m - e for m, e in zip(means, errors, strict=True)]
    return fitted(axis, lows, [m + e for m, e in zip(means, errors, strict=True)])


def framed(
    title: str, view: Mapping[str, Any], *, labels: int = 13, warning: str = WARNING
) -> dict[str, Any]:
    """A whole picture of the lab, which says first what it was computed from.

    Args:
        title: what it shows.
        view: what is drawn.
        labels: the size of labels.
        warning: that it is not private, or why it is nobody's.
    """
    text = {"labelColor": _INK, "titleColor": _INK, "labelFontSize": labels,
            "titleFontSize": 13, "titleFontWeight": "normal"}  # fmt: skip
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "background": "white",
        "padding": 8,
        "title": {"text": warning, "subtitle": title, "anchor": "start", "frame": "bounds",
                  "fontSize": 11, "color": "#A4262C", "subtitleFontSize": 14,
                  "subtitleColor": _INK, "subtitlePadding": 5, "offset": 14},
        **view,
        "config": {
            "font": "sans-serif",
            "axis": text | {"gridColor": "#e4e4e4", "domainColor": "#777", "tickColor": "#777"},
            "legend": text,
            "view": {"stroke": None},
            "aria": False,
        },
    }  # fmt: skip
