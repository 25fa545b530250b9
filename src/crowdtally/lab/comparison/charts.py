"""Pictures."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
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
"""Numbers whose largest is so many times the smallest are shown by their ratios."""
_FEW_TICKS = 4


@dataclass(frozen=True)
class Axis:
    """One axis of a picture."""

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


# How a picture is drawn: Vega-Lite specifications, turned into SVG without a network or a script.
#
# Lines differ in colour, dash and shape, so that they can be told apart in print and by people
# who do not see all colours; a panel has seven of them at most. A picture of one column is dots
# by name.

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
    point = {"type": "point", "filled": True, "size": 80, "opacity": 1, "color": COLOURS[0]}
    layers = [
        {
            "mark": {"type": "rule", "strokeWidth": 2, "color": COLOURS[0]},
            "encoding": {"y": rows, "x": x | {"field": "low"}, "x2": {"field": "high"}},
        },
        {"mark": point, "encoding": {"y": rows, "x": x}},
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


# From the numbers of a picture to its drawing and the table beside it.

OWN = "its own bound"
"""The head of the numbers that belong to no column."""


@dataclass(frozen=True)
class Column:
    """What stands at one place of the horizontal axis."""

    head: str
    """In a table."""
    place: float
    """On the axis."""
    measure: Measure
    numbers: Sequence[Summary]
    """One number for each method."""

    def of(self, method: str) -> Summary | None:
        """The number of a method."""
        return next((one for one in self.numbers if one.setting.method == method), None)


@dataclass(frozen=True)
class Plot:
    """What a picture is to show."""

    name: str
    """Of its file, without the ending."""
    title: str
    caption: str
    """What to see in it."""
    x: Axis
    """The horizontal axis, where there are several columns."""
    y: Axis
    """What is measured."""
    columns: Sequence[Column]
    flat: Sequence[Summary] = ()
    """Numbers that hold for every column, one for a method."""
    is_one_choice: bool = False
    """Whether a method is used in one of the columns, the best, as with bounds."""


@dataclass(frozen=True)
class Picture:
    """A picture, and the numbers that are in it."""

    name: str
    """Of its file, without the ending."""
    title: str
    caption: str
    """What to see in it."""
    spec: Mapping[str, Any]
    """Vega-Lite."""
    heads: tuple[str, ...]
    """The heads of its numbers: each ε, bound or K."""
    measures: tuple[Measure | None, ...]
    """What is measured under each head; None where numbers are not compared with each other."""
    rows: Mapping[str, tuple[Summary | None, ...]]
    """By method, the best first: a number for each head, or None."""

    def svg(self) -> str:
        return as_svg(self.spec, self.name)


def draw(plot: Plot, facts: Facts, styles: Mapping[str, int]) -> Picture | None:
    """Lines over the columns, or dots where there is one column; None without a number."""
    columns = [column for column in plot.columns if column.numbers]
    flat = {one.setting.method: one for one in plot.flat}
    series: list[Line] = []
    rows: dict[str, tuple[Summary | None, ...]] = {}
    order = _by_best(columns, plot.flat) if plot.is_one_choice else _by_quality(columns)
    for method in order:
        found = [column.of(method) for column in columns]
        points = _points(columns, found if method not in flat else [flat[method]])
        name = label(next(iter(points.values())).setting, facts)
        series.append(Line(name, points, method in flat, styles.get(method, 0)))
        rows[name] = (*found, flat.get(method)) if flat else tuple(found)
    if not series:
        return None
    heads: list[tuple[str, Measure | None]] = [(c.head, c.measure) for c in columns]
    names, kinds = zip(*heads, *([(OWN, None)] if flat else []), strict=True)
    spec = _spec(plot, columns, series)
    return Picture(plot.name, plot.title, plot.caption, spec, names, kinds, rows)


def _points(columns: Sequence[Column], found: Sequence[Summary | None]) -> dict[float, Summary]:
    pairs = zip(columns, found, strict=False)  # a flat line has one number, at the first column
    return {column.place: one for column, one in pairs if one is not None}


def styles_of(summaries: Iterable[Summary]) -> dict[str, int]:
    """The place of each method among all, so that it can look the same in every picture."""
    methods = dict.fromkeys(one.setting.method for one in summaries)
    return {method: place for place, method in enumerate(methods)}


def _spec(plot: Plot, columns: Sequence[Column], series: Sequence[Line]) -> dict[str, Any]:
    if len(columns) > 1:
        return lines(plot.title, plot.x, plot.y, series)
    named = [Line(_with_bound(one), one.points) for one in series]
    return dots(plot.title, "Method (bound)", plot.y, named)


def _with_bound(one: Line) -> str:
    (found,) = one.points.values()
    bound = found.setting.max_records
    return one.name if bound is None else f"{one.name} ({bound:,})"


def _by_best(columns: Sequence[Column], flat: Sequence[Summary]) -> list[str]:
    """Methods by their best number in any column, where all columns measure the same."""
    numbers = [one for column in columns for one in column.numbers]
    best = best_of_each([*numbers, *flat], columns[0].measure) if columns else []
    return [one.setting.method for one in best]


def _by_quality(columns: Sequence[Column]) -> list[str]:
    """Methods by the sum of their ranks over the columns; one that is missing is last there."""
    ranks = [[one.setting.method for one in ranked(c.numbers, c.measure)] for c in columns]
    methods = sorted({method for rank in ranks for method in rank})

    def place(method: str) -> tuple[int, str]:
        return sum(r.index(method) if method in r else len(methods) for r in ranks), method

    return sorted(methods, key=place)


# A comparison as pictures: error against ε, error against the bound, precision against K.

_KINDS = ("error-against-epsilon", "error-against-bound", "precision-against-k")
"""What a picture's name ends in."""
_BARS = "Bars are ± 1 standard error; where none is seen it is smaller than the point."


def write_pictures(folder: Path, summaries: Sequence[Summary], facts: Facts) -> None:
    """Write each picture as an SVG file; those of an earlier question, which it lacks, go."""
    drawn = pictures(summaries, facts)
    for table, kind in product(TABLES, _KINDS):
        if f"{table}-{kind}" not in {picture.name for picture in drawn}:
            (folder / f"{table}-{kind}.svg").unlink(missing_ok=True)
    for picture in drawn:
        (folder / f"{picture.name}.svg").write_text(picture.svg() + "\n", encoding="utf-8")


def pictures(summaries: Sequence[Summary], facts: Facts) -> list[Picture]:
    """Every picture that these numbers allow, table by table."""
    found = measures(summaries)
    plots: list[Plot | None] = []
    for table in TABLES:
        error, lists = error_of(table, found), precisions_of(table, found)
        if error is not None:
            plots.append(_by_epsilon(summaries, facts, error))
            plots.append(_by_bound(summaries, facts, error))
        if lists:
            plots.append(_by_length(summaries, lists))
    styles = styles_of(summaries)
    drawn = [draw(plot, facts, styles) for plot in plots if plot is not None]
    return [picture for picture in drawn if picture is not None]


def _by_epsilon(summaries: Sequence[Summary], facts: Facts, error: Measure) -> Plot:
    epsilons = by_size(one.setting.epsilon for one in of_measure(summaries, error))
    where = f"at ε = {epsilons[0]}" if len(epsilons) == 1 else "by ε"

    def best(epsilon: str) -> list[Summary]:
        return best_of_each(of_measure(summaries, error, epsilon), error)

    return Plot(
        name=f"{error.table}-error-against-epsilon",
        title=f"Error of counts of {TABLES[error.table]}, {where}",
        caption=f"{capital(error.name)} of the released counts of {TABLES[error.table]}: lower is "
        f"better. Each method stands at the bound that served it best at that ε. {_BARS}",
        x=Axis("ε of the whole release (larger: less private)", True),
        y=Axis(error.title(facts.count), True),
        columns=[Column(f"ε = {one}", float(Fraction(one)), error, best(one)) for one in epsilons],
    )


def _by_bound(summaries: Sequence[Summary], facts: Facts, error: Measure) -> Plot | None:
    epsilon = main_epsilon(one.setting.epsilon for one in of_measure(summaries, error))
    curved, flat = _with_curves(of_measure(summaries, error, epsilon))
    bounds = sorted({b for one in curved if (b := one.setting.max_records) is not None})
    if not bounds:
        return None
    caption = (
        f"{capital(error.name)} of the released counts of {TABLES[error.table]} at ε = {epsilon}: "
        "lower is better. To the left more records are cut off, to the right there is more noise."
    )
    if flat:
        caption += " A line without points is a method that was run with one bound, or with none."

    def of_bound(bound: int) -> list[Summary]:
        return [one for one in curved if one.setting.max_records == bound]

    return Plot(
        name=f"{error.table}-error-against-bound",
        title=f"Error of counts of {TABLES[error.table]}, by bound, at ε = {epsilon}",
        caption=f"{caption} {_BARS}",
        x=Axis("Most records of one user that count (max-records)", True),
        y=Axis(error.title(facts.count), True),
        columns=[Column(f"at most {one:,}", float(one), error, of_bound(one)) for one in bounds],
        flat=flat,
        is_one_choice=True,
    )


def _with_curves(numbers: Sequence[Summary]) -> tuple[list[Summary], list[Summary]]:
    """The numbers of methods that were run with several bounds, and the others.

    One bound is M, or the largest to choose from: such a method has no curve.
    """
    tried: dict[str, list[Summary]] = {}
    for one in numbers:
        tried.setdefault(one.setting.method, []).append(one)
    curved = [one for found in tried.values() if len(found) > 1 for one in found]
    flat = [one for found in tried.values() if len(found) == 1 for one in found]
    return curved, flat


def _by_length(summaries: Sequence[Summary], lists: Sequence[Measure]) -> Plot:
    table = lists[0].table
    numbers = [one for each in lists for one in of_measure(summaries, each)]
    epsilon = main_epsilon(one.setting.epsilon for one in numbers)
    which = f"Top {lists[0].k}" if len(lists) == 1 else "Top lists"
    return Plot(
        name=f"{table}-precision-against-k",
        title=f"{which} of {TABLES[table]}, at ε = {epsilon}",
        caption=f"How much of the true top K of {TABLES[table]} is in the released top K, at "
        f"ε = {epsilon}: higher is better, 1 is all of it. Each method stands at the bound that "
        f"served it best at that K. {_BARS}",
        x=Axis("K, the length of the list", True),
        y=Axis("Share of the true top K found (1 is all)", False, (0.0, 1.0)),
        columns=[
            Column(
                f"top {each.k:,}",
                float(each.k or 0),
                each,
                best_of_each(of_measure(summaries, each, epsilon), each),
            )
            for each in lists
        ],
    )
