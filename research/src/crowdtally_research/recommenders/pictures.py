"""What was found, as pictures: quality against ε, and the error of the counts against ε."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from crowdtally.lab.compared.pictures.axes import Axis, encoded, fitted
from crowdtally.lab.compared.pictures.charts import COLOURS, as_svg, framed
from crowdtally_research.recommenders.found import Found, Quality
from crowdtally_research.recommenders.histories import DRAWN, RANDOM, RAW
from crowdtally_research.recommenders.showing import (
    metrics_of,
    popular_list,
    recommenders_of,
    title,
)

_INK = "#222"
_DASHES = ((1, 0), (6, 3), (2, 2), (8, 3, 2, 3), (1, 0), (6, 3))
_SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
_EPSILON = "ε of one item (larger: less private)"
_WIDTH, _HEIGHT = 330, 320
_PARTS = ("noisy counts", "rebuilt history")

Values = list[dict[str, Any]]


def pictures(found: Found) -> dict[str, str]:
    """Each picture as SVG, by its name."""
    drawn = {metric.replace(" ", "-"): _quality(found, metric) for metric in metrics_of(found)}
    drawn["aggregates"] = _aggregates(found)
    return {name: as_svg(spec, name) for name, spec in drawn.items()}


def _quality(found: Found, metric: str) -> dict[str, Any]:
    """A panel for each recommender; what has no ε is a level line with its name."""
    here = [one for one in found.qualities if one.metric == metric]
    name, base = title(metric, found.facts), popular_list(found, metric)
    y = Axis(name, False, (0.0, 1.06 * max(one.mean + one.standard_error for one in here)))
    panels = []
    for recommender in recommenders_of(found):
        own = [one for one in here if one.recommender == recommender]
        level = [(one.history, one) for one in own if one.history in (RAW, RANDOM)]
        levels = [*level, (base.recommender, base)]
        lines = [one for one in own if one.epsilon is not None]
        panels.append(_panel(recommender, _points(lines), _levels(levels), DRAWN, y))
    words = f"{name[0].upper()}{name[1:]} of what was hidden, by the history that was given"
    return _whole(f"{words}; bars are ± 1 standard error", panels)


def _aggregates(found: Found) -> dict[str, Any]:
    """The errors of the noisy counts and of the rebuilt ones, with both kinds of scales."""
    kinds = list(dict.fromkeys(one.scales for one in found.aggregates))
    panels, each = [], found.aggregates
    everything = [value for one in each for value in (one.measured, one.rebuilt)]
    y = fitted(Axis("mean absolute error, items", True), everything, everything)
    for part in _PARTS:
        noisy = part == _PARTS[0]
        values = [
            _point(
                one.scales, one.epsilon, one.measured if noisy else one.rebuilt,
                one.measured_error if noisy else one.rebuilt_error,
            )
            for one in each
        ]  # fmt: skip
        panels.append(_panel(part, values, [], kinds, y))
    return _whole("Error of the counts of categories; bars are ± 1 standard error", panels)


def _points(lines: Sequence[Quality]) -> Values:
    return [_point(q.history, str(q.epsilon), q.mean, q.standard_error) for q in lines]


def _point(name: str, epsilon: str, mean: float, error: float) -> dict[str, Any]:
    place = float(Fraction(epsilon))
    return {"name": name, "x": place, "value": mean, "low": mean - error, "high": mean + error}


def _levels(levels: Sequence[tuple[str, Quality]]) -> Values:
    return [{"name": name, "value": one.mean} for name, one in levels]


def _panel(
    name: str, values: Values, levels: Values, order: Sequence[str], y: Axis
) -> dict[str, Any]:
    places = sorted({value["x"] for value in values})
    x = encoded("x", fitted(Axis(_EPSILON, True), places, places))
    x["axis"] |= {"values": places, "format": ".4~g"}
    across = {"x": x, "y": encoded("value", y)}
    legend = {"title": None, "orient": "bottom", "columns": 3, "labelLimit": 0, "symbolSize": 90}

    def told(by: str, choices: Sequence[Any], shown: object) -> dict[str, Any]:
        scale = {"domain": list(order), "range": list(choices[: len(order)])}
        return {by: {"field": "name", "type": "nominal", "scale": scale, "legend": shown}}

    colour = told("color", COLOURS, legend)
    bars = across | colour | {"y": across["y"] | {"field": "low"}, "y2": {"field": "high"}}
    dashes, shapes = told("strokeDash", _DASHES, None), told("shape", _SHAPES, legend)
    layers = [
        *_level_layers(levels, across["y"]),
        {"mark": {"type": "line", "strokeWidth": 2}, "encoding": across | colour | dashes},
        {"mark": {"type": "rule", "strokeWidth": 1.5}, "encoding": bars},
        {
            "mark": {"type": "point", "filled": True, "size": 55, "opacity": 1},
            "encoding": across | colour | shapes,
        },
    ]
    return {
        "title": {"text": name, "fontSize": 13, "color": _INK, "anchor": "start"},
        "width": _WIDTH, "height": _HEIGHT, "data": {"values": values}, "layer": layers,
    }  # fmt: skip


def _level_layers(levels: Values, y: dict[str, Any]) -> list[dict[str, Any]]:
    """A level line with its name beside it, to the right of the panel."""
    if not levels:
        return []
    data = {"data": {"values": levels}}
    rule = {"type": "rule", "strokeWidth": 1.5, "color": "#777", "strokeDash": [3, 3]}
    text = {
        "type": "text", "align": "left", "baseline": "middle", "dx": 5, "color": _INK,
        "fontSize": 12,
    }  # fmt: skip
    return [
        data | {"mark": rule, "encoding": {"y": y}},
        data | {
            "mark": text,
            "encoding": {
                "y": y, "x": {"value": _WIDTH}, "text": {"field": "name", "type": "nominal"},
            },
        },
    ]  # fmt: skip


def _whole(words: str, panels: Sequence[dict[str, Any]]) -> dict[str, Any]:
    shared = dict.fromkeys(("color", "shape", "strokeDash"), "shared")
    view = {"hconcat": list(panels), "spacing": 30, "resolve": {"scale": shared}}
    return framed(words, view, labels=12)
