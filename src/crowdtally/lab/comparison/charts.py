"""Pictures of a comparison: error against ε, error against the bound, precision against K.

A picture is a Vega-Lite specification, turned into SVG without a network or a script. Its lines
differ in colour, dash and shape, so that they differ in print too, and for people who do not see
all colours; a panel has seven of them at most. A picture of one column is dots by name.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import groupby, product
from math import ceil, floor, isfinite, log10
from pathlib import Path
from typing import Any

from crowdtally.lab.comparison.advice import best_of_each, by_size, main_epsilon, of_measure, ranked
from crowdtally.lab.comparison.summary import (
    TABLES,
    Facts,
    Measure,
    Summary,
    capital,
    error_of,
    label,
    measures,
    precisions_of,
)

# The axes of a picture: from where to where, by ratios or by differences, with round ticks.

_WIDE = 3
"""Numbers are shown by their ratios where the largest is so many times the smallest."""
_FEW_TICKS = 4


@dataclass(frozen=True)
class Axis:
    title: str
    """What it shows, with its unit."""
    is_log: bool
    """Whether equal steps are equal ratios."""
    domain: tuple[float, float] | None = None
    """From where to where; None for what the numbers need."""


def fitted(axis: Axis, lows: Sequence[float], highs: Sequence[float]) -> Axis:
    """The axis from the lowest to the highest, with a little air on both sides."""
    if axis.domain is not None:
        return axis
    low, high = min(lows), max(highs)
    if axis.is_log and low > 0 and high / low >= _WIDE:
        air = (high / low) ** 0.04
        return Axis(axis.title, True, (low / air, high * air))
    air = 0.06 * (high - low) or 0.1 * abs(high) or 1.0
    return Axis(axis.title, False, (low - air, high + air))


def encoded(field: str, axis: Axis) -> dict[str, Any]:
    """A field on an axis, in the words of Vega-Lite."""
    scale: dict[str, Any] = {"type": "log" if axis.is_log else "linear", "nice": False}
    if axis.domain is not None:
        scale |= {"domain": list(axis.domain), "zero": False}
    shown: dict[str, Any] = {"title": axis.title, "format": ",.12~g", "labelOverlap": "greedy"}
    ticks = _ticks(axis)
    shown |= {"tickCount": 6} if ticks is None else {"values": ticks}
    return {"field": field, "type": "quantitative", "scale": scale, "axis": shown}


def _ticks(axis: Axis) -> list[float] | None:
    """Round places on an axis of ratios: powers of ten, or more where these are too few."""
    if not axis.is_log or axis.domain is None:
        return None
    low, high = axis.domain
    powers = range(floor(log10(low)), ceil(log10(high)) + 1)
    ticks: list[float] = []
    for steps in ((1,), (1, 2, 5), (1, 1.5, 2, 3, 4, 5, 7)):
        every = [step * 10.0**power for power in powers for step in steps]
        ticks = [tick for tick in every if low <= tick <= high]
        if len(ticks) >= _FEW_TICKS:
            break
    return ticks


# What all pictures of the lab have in common.

WARNING = "NOT PRIVATE: computed from the true records"
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#56B4E9", "#E69F00")
"""Okabe and Ito's, which differ for every kind of eye, without the yellow that fades on white."""
DASHES = ((1, 0), (6, 3), (2, 2), (8, 3, 2, 3), (1, 0), (6, 3), (2, 2))
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right")
INK = "#222"


def as_svg(spec: Mapping[str, Any], name: str) -> str:
    """The drawing; its inner names start with ``name``, because a page has several drawings."""
    import vl_convert

    drawn = str(vl_convert.vegalite_to_svg(dict(spec)))
    drawn = re.sub(r'\bid="', f'id="{name}-', drawn)
    return drawn.replace("url(#", f"url(#{name}-")


def styled(
    by: str, field: str, names: Sequence[str], choices: Sequence[Any], legend: object
) -> dict[str, Any]:
    """A colour, dash or shape for each name."""
    scale = {"domain": list(names), "range": list(choices)}
    return {by: {"field": field, "type": "nominal", "scale": scale, "legend": legend}}


def curves(
    x: dict[str, Any],
    y: dict[str, Any],
    colour: dict[str, Any],
    dashes: dict[str, Any],
    shapes: dict[str, Any],
    size: int = 55,
) -> list[dict[str, Any]]:
    """Lines, with error bars from ``low`` to ``high``, and points."""
    across = {"x": x, "y": y, **colour}
    bars = across | {"y": {**y, "field": "low"}, "y2": {"field": "high"}}
    point = {"type": "point", "filled": True, "size": size, "opacity": 1}
    return [
        {"mark": {"type": "line", "strokeWidth": 2}, "encoding": across | dashes},
        {"mark": {"type": "rule", "strokeWidth": 1.5}, "encoding": bars},
        {"mark": point, "encoding": across | shapes},
    ]


def framed(
    title: str, view: Mapping[str, Any], *, labels: int = 13, warning: str = WARNING
) -> dict[str, Any]:
    """A whole picture of the lab, which begins with a warning of what it was computed from."""
    text = {"labelColor": INK, "titleColor": INK, "labelFontSize": labels,
            "titleFontSize": 13, "titleFontWeight": "normal"}  # fmt: skip
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "background": "white",
        "padding": 8,
        "title": {"text": warning, "subtitle": title, "anchor": "start", "frame": "bounds",
                  "fontSize": 11, "color": "#A4262C", "subtitleFontSize": 14,
                  "subtitleColor": INK, "subtitlePadding": 5, "offset": 14},
        **view,
        "config": {
            "font": "sans-serif",
            "axis": text | {"gridColor": "#e4e4e4", "domainColor": "#777", "tickColor": "#777"},
            "legend": text,
            "view": {"stroke": None},
            "aria": False,
        },
    }  # fmt: skip


# A picture: its numbers, as a drawing and as a table.

OWN = "its own bound"
"""The head of the numbers that belong to no column."""
_WIDTH = 370
_HEIGHT = 300
_ROW = 24
_SHORT = 26
"""Letters of a name that leave room for another beside it."""


@dataclass(frozen=True)
class Column:
    """One place of the horizontal axis, or the numbers that hold everywhere on it."""

    head: str
    """In a table."""
    place: float | None
    """On the axis; None for numbers that hold everywhere."""
    measure: Measure | None
    """None where numbers are not compared with each other."""
    numbers: Sequence[Summary]
    """One number for each method."""


@dataclass(frozen=True)
class Line:
    name: str
    """As the legend names it."""
    numbers: tuple[Summary | None, ...]
    """For each column."""
    style: int
    """Its place among all methods: the first seven look the same in every picture."""


@dataclass(frozen=True)
class Picture:
    name: str
    """Of its file, without the ending."""
    title: str
    caption: str
    x: Axis
    """The horizontal axis, where there are several columns."""
    y: Axis
    columns: Sequence[Column]
    order: Sequence[str]
    """The methods, the best first."""
    methods: Sequence[str]
    """All methods of the comparison."""
    facts: Facts

    @cached_property
    def lines(self) -> list[Line]:
        by_method = [{one.setting.method: one for one in c.numbers} for c in self.columns]
        lines = []
        for method in self.order:
            numbers = tuple(column.get(method) for column in by_method)
            setting = next(one.setting for one in numbers if one is not None)
            lines.append(Line(label(setting, self.facts), numbers, self.methods.index(method)))
        return lines

    @property
    def spec(self) -> dict[str, Any]:
        """Vega-Lite: lines over the columns, or dots where there is one column."""
        if len(self.columns) == 1:
            return framed(self.title, _dots(self.lines, self.y))
        size, places = len(COLOURS), [column.place for column in self.columns]
        parts = [self.lines[start : start + size] for start in range(0, len(self.lines), size)]
        panels = [_panel(part, places, self.x, self.y) for part in parts]
        if len(panels) == 1:
            return framed(self.title, panels[0])
        for number, part in enumerate(parts):
            first, last = number * size + 1, number * size + len(part)
            which = f"Methods {first} to {last}" if last > first else f"Method {first}"
            title = f"{which}, by quality (own scale)"
            panels[number]["title"] = {"text": title, "fontSize": 12, "color": INK}
        own = {"scale": dict.fromkeys(("color", "shape", "strokeDash"), "independent")}
        return framed(self.title, {"vconcat": panels, "resolve": own})

    def svg(self) -> str:
        return as_svg(self.spec, self.name)


def _dots(lines: Sequence[Line], y: Axis) -> dict[str, Any]:
    """A dot for each method, the best on top."""
    axis, values = _fitted_to_bars(y, lines), []
    for one in lines:
        for number in filter(None, one.numbers):
            bound = number.setting.max_records
            name = one.name if bound is None else f"{one.name} ({bound:,})"
            values.append({"method": name, **_bar(number, axis)})
    rows = {
        "field": "method",
        "type": "nominal",
        "sort": [value["method"] for value in values],
        "axis": {"title": "Method (bound)", "labelLimit": 0, "grid": True, "titleAlign": "right",
                 "titleAngle": 0, "titleAnchor": "start", "titleX": -9, "titleY": -8},
    }  # fmt: skip
    x = encoded("value", axis)
    point = {"type": "point", "filled": True, "size": 80, "opacity": 1, "color": COLOURS[0]}
    layers = [
        {
            "mark": {"type": "rule", "strokeWidth": 2, "color": COLOURS[0]},
            "encoding": {"y": rows, "x": x | {"field": "low"}, "x2": {"field": "high"}},
        },
        {"mark": point, "encoding": {"y": rows, "x": x}},
    ]
    return {"width": 340, "height": _ROW * max(len(lines), 2),
            "data": {"values": values}, "layer": layers}  # fmt: skip


def _panel(
    part: Sequence[Line], places: Sequence[float | None], x: Axis, y: Axis
) -> dict[str, Any]:
    y, names, styles = _fitted_to_bars(y, part), [one.name for one in part], _styles(part)
    axis = [place for place in places if place is not None]
    values = []
    for one in part:
        for place, number in zip(places, one.numbers, strict=True):
            if number is not None:
                bar = {"method": one.name, "measured": place is not None, **_bar(number, y)}
                ends = (axis[0], axis[-1]) if place is None else (place,)
                values += [{"x": end, **bar} for end in ends]
    legend = {
        "title": "Method, the best first",
        "orient": "bottom",
        "columns": 2 if max(map(len, names)) <= _SHORT else 1,
        "labelLimit": 0,
        "symbolSize": 90,
        "symbolStrokeWidth": 0,
    }
    across = encoded("x", fitted(x, axis, axis))
    across["axis"] |= {"values": axis, "format": ".4~g", "labelOverlap": "greedy"}
    colour, dashes, shapes = (
        styled(by, "method", names, [choices[style] for style in styles], shown)
        for by, choices, shown in (
            ("color", COLOURS, legend), ("strokeDash", DASHES, None), ("shape", SHAPES, legend),
        )
    )  # fmt: skip
    line, rule, point = curves(across, encoded("value", y), colour, dashes, shapes)
    only_measured = {"transform": [{"filter": "datum.measured"}]}
    layers = [line, rule | only_measured, point | only_measured]
    return {"width": _WIDTH, "height": _HEIGHT, "data": {"values": values}, "layer": layers}


def _styles(part: Sequence[Line]) -> list[int]:
    """A colour, dash and shape for each line of a panel; who comes first keeps its own."""
    free = list(range(len(COLOURS)))
    taken: dict[str, int] = {}
    for one in sorted(part, key=lambda line: line.style):
        taken[one.name] = one.style if one.style in free else free[0]
        free.remove(taken[one.name])
    return [taken[one.name] for one in part]


def _error(number: Summary) -> float:
    return number.standard_error if isfinite(number.standard_error) else 0.0


def _bar(found: Summary, axis: Axis) -> dict[str, float]:
    """A point and one standard error on both sides, within the picture."""
    error = _error(found)
    assert axis.domain is not None
    bottom, top = axis.domain
    low, high = max(found.mean - error, bottom), min(found.mean + error, top)
    return {"value": found.mean, "low": low, "high": high}


def _fitted_to_bars(axis: Axis, lines: Sequence[Line]) -> Axis:
    """The axis with room for all means, and for their error bars down to half of the mean."""
    bars = [(one.mean, _error(one)) for line in lines for one in filter(None, line.numbers)]
    lows = [max(m - e, m / 2) if m > 0 else m - e for m, e in bars]
    return fitted(axis, lows, [m + e for m, e in bars])


def _by_quality(columns: Sequence[Column]) -> list[str]:
    """Methods by the sum of their ranks over the columns; one that is missing is last there."""
    ranks = [
        [one.setting.method for one in ranked(column.numbers, column.measure)]
        for column in columns
        if column.measure is not None
    ]
    methods = sorted({method for rank in ranks for method in rank})

    def place(method: str) -> int:
        return sum(r.index(method) if method in r else len(methods) for r in ranks)

    return sorted(methods, key=place)


# A comparison as pictures.

_KINDS = ("error-against-epsilon", "error-against-bound", "precision-against-k")
_BARS = "Bars are ± 1 standard error; where none is seen it is smaller than the point."


def write_pictures(folder: Path, summaries: Sequence[Summary], facts: Facts) -> None:
    """Write each picture as an SVG file; remove an earlier question's that this one lacks."""
    drawn = {picture.name: picture for picture in pictures(summaries, facts)}
    for table, kind in product(TABLES, _KINDS):
        if f"{table}-{kind}" not in drawn:
            (folder / f"{table}-{kind}.svg").unlink(missing_ok=True)
    for name, picture in drawn.items():
        (folder / f"{name}.svg").write_text(picture.svg() + "\n", encoding="utf-8")


def pictures(summaries: Sequence[Summary], facts: Facts) -> list[Picture]:
    """Every picture that these numbers allow, table by table."""
    known = measures(summaries)
    drawn: list[Picture] = []
    for table in TABLES:
        error, lists = error_of(table, known), precisions_of(table, known)
        if error is not None:
            drawn += [_by_epsilon(summaries, facts, error), _by_bound(summaries, facts, error)]
        if lists:
            drawn.append(_by_length(summaries, facts, lists))
    return [picture for picture in drawn if picture.columns]


def _by_epsilon(summaries: Sequence[Summary], facts: Facts, error: Measure) -> Picture:
    epsilons = by_size(one.setting.epsilon for one in of_measure(summaries, error))
    where = f"at ε = {epsilons[0]}" if len(epsilons) == 1 else "by ε"
    columns = [
        Column(
            f"ε = {epsilon}", float(Fraction(epsilon)), error,
            best_of_each(of_measure(summaries, error, epsilon), error),
        )
        for epsilon in epsilons
    ]  # fmt: skip
    return Picture(
        name=f"{error.table}-error-against-epsilon",
        title=f"Error of counts of {TABLES[error.table]}, {where}",
        caption=f"{capital(error.name)} of the released counts of {TABLES[error.table]}: lower is "
        f"better. Each method stands at the bound that served it best at that ε. {_BARS}",
        x=Axis("ε of the whole release (larger: less private)", True),
        y=Axis(error.title(facts.count), True),
        columns=columns,
        order=_by_quality(columns),
        methods=_methods(summaries),
        facts=facts,
    )


def _by_bound(summaries: Sequence[Summary], facts: Facts, error: Measure) -> Picture:
    epsilon = main_epsilon(one.setting.epsilon for one in of_measure(summaries, error))
    numbers = of_measure(summaries, error, epsilon)
    curved, flat = _with_curves(numbers)
    caption = (
        f"{capital(error.name)} of the released counts of {TABLES[error.table]} at ε = {epsilon}: "
        "lower is better. To the left more records are cut off, to the right there is more noise."
    )
    if flat:
        caption += " A line without points is a method that was run with one bound, or with none."
    columns = [
        Column(f"at most {bound:,}", float(bound), error, list(at))
        for bound, at in groupby(curved, lambda one: one.setting.max_records or 0)
    ]
    if columns and flat:
        columns.append(Column(OWN, None, None, flat))
    return Picture(
        name=f"{error.table}-error-against-bound",
        title=f"Error of counts of {TABLES[error.table]}, by bound, at ε = {epsilon}",
        caption=f"{caption} {_BARS}",
        x=Axis("Most records of one user that count (max-records)", True),
        y=Axis(error.title(facts.count), True),
        columns=columns,
        order=[one.setting.method for one in best_of_each(numbers, error)],
        methods=_methods(summaries),
        facts=facts,
    )


def _with_curves(numbers: Sequence[Summary]) -> tuple[list[Summary], list[Summary]]:
    """The numbers of methods with several bounds, by bound, and those of the others."""
    tried = Counter(one.setting.method for one in numbers)
    # One bound is M, or the largest to choose from: such a method has no curve.
    curved = [one for one in numbers if tried[one.setting.method] > 1]
    flat = [one for one in numbers if tried[one.setting.method] == 1]
    return sorted(curved, key=lambda one: one.setting.max_records or 0), flat


def _by_length(summaries: Sequence[Summary], facts: Facts, lists: Sequence[Measure]) -> Picture:
    table = lists[0].table
    numbers = [one for each in lists for one in of_measure(summaries, each)]
    epsilon = main_epsilon(one.setting.epsilon for one in numbers)
    which = f"Top {lists[0].k}" if len(lists) == 1 else "Top lists"
    columns = [
        Column(f"top {each.k:,}", float(each.k or 0), each, best)
        for each in lists
        if (best := best_of_each(of_measure(summaries, each, epsilon), each))
    ]
    return Picture(
        name=f"{table}-precision-against-k",
        title=f"{which} of {TABLES[table]}, at ε = {epsilon}",
        caption=f"How much of the true top K of {TABLES[table]} is in the released top K, at "
        f"ε = {epsilon}: higher is better, 1 is all of it. Each method stands at the bound that "
        f"served it best at that K. {_BARS}",
        x=Axis("K, the length of the list", True),
        y=Axis("Share of the true top K found (1 is all)", False, (0.0, 1.0)),
        columns=columns,
        order=_by_quality(columns),
        methods=_methods(summaries),
        facts=facts,
    )


def _methods(summaries: Sequence[Summary]) -> list[str]:
    return list(dict.fromkeys(one.setting.method for one in summaries))
