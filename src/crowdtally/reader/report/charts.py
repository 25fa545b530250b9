"""The charts of a report, each with the table of its numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

from crowdtally.reader.estimates.cell_sums import TRUE
from crowdtally.reader.questions.top_list import TopList
from crowdtally.reader.report.answers import Distribution, HeatMap
from crowdtally.reader.report.facts import Facts, Step
from crowdtally.web.charts import PALETTE, Chart, label
from crowdtally.web.pages import Shown, between, chance, grouped, percent, value

_INK, _ACCENT, _OTHER = (PALETTE[name] for name in ("ink", "accent", "other"))
WIDTH = 270
_ROW = 22
LONGEST = 22

Name = Callable[[object], str]
"""How an item is shown: by its label, or as it is."""


@dataclass(frozen=True)
class Figure:
    chart: Chart
    numbers: tuple[Shown, ...]
    """The same as tables."""
    warning: str = ""
    """What must be said before it."""


def drawn(item: object, name: Name) -> str:
    """An item where there is little room: by its label alone, which the table has beside it.

    >>> drawn(7, lambda item: f"Fargo ({item})"), drawn(7, str)
    ('Fargo', '7')
    """
    return name(item).removesuffix(f" ({item})")


def amount(counted: str) -> dict[str, Any]:
    axis = {"tickCount": 4, "format": "~s", "labelExpr": "datum.value == 0 ? '0' : datum.label"}
    return {"type": "quantitative", "title": f"Number of {counted}", "axis": axis}


def names(field: str) -> dict[str, Any]:
    return {"field": field, "type": "nominal", "sort": None, "title": None,
            "axis": {"ticks": False, "domain": False, "labelPadding": 6}}  # fmt: skip


def chart_of(
    name: str, title: str, words: str, rows: Sequence[Any], marks: Any, width: int = WIDTH
) -> Chart:
    """A chart with one row of pixels for each row of the data."""
    spec = {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "data": {"values": list(rows)},
        "width": width,
        "height": {"step": _ROW},
        **marks,
    }
    return Chart(name, title, words, spec)


# Heat maps: items by contexts, or attributes by each other.

_COLUMN, _NARROW = 46, 33
"""Widths in pixels: where there are few columns, and where there are many."""
_FEW = 10
DARKEST = 0.45
"""The most that a cell is filled: its number stays readable on it."""
_ACROSS = 8


def heat_figure(
    found: HeatMap, counted: str, number: int, name: Name, top: TopList | None = None
) -> Figure:
    across = [label(one, 14) for one in found.column_values]
    if len(set(across)) < len(across):
        across = [f"{place}. {one}" for place, one in enumerate(across, start=1)]
    rows = list(_heat_rows(found, across, name))
    # Upright where all names fit above their columns, else leaning.
    slant = 0 if max(map(len, across), default=0) <= 5 else -40
    marks = {
        "encoding": {
            "y": names("row"),
            "x": {"field": "column", "type": "nominal", "sort": None, "title": label(found.columns),
                  "axis": {"orient": "top", "labelAngle": slant, "ticks": False,
                           "domain": False}},
        },
        "layer": [
            {"mark": {"type": "rect", "color": _ACCENT},
             "encoding": {"fillOpacity": {"field": "estimate", "type": "quantitative",
                          "legend": None, "scale": {"range": [0.03, DARKEST], "clamp": True}}}},
            {"mark": {"type": "text", "color": _INK, "fontSize": 10},
             "encoding": {"text": {"field": "text", "type": "nominal"}}},
        ],
    }  # fmt: skip
    left = [
        f"{grouped(many)} further values of {value(of)!r}"
        for of, many in ((found.rows, found.rows_left_out), (found.columns, found.columns_left_out))
        if many
    ]
    said = f" Not shown: {' and '.join(left)}." if left else ""
    words = f"What is believed of each combination, in {counted}; darker: more.{said}"
    words += _drawn_down(found, top)
    title = f"Counts by {value(found.rows)} and {value(found.columns)}"
    width = len(across) * (_COLUMN if len(across) <= _FEW else _NARROW)
    chart = chart_of(f"heat-{number}", title, words, rows, marks, width)
    return Figure(chart, tuple(_heat_numbers(found, title, name)))


def _drawn_down(found: HeatMap, top: TopList | None) -> str:
    """Why the cells of an item are together far below its own estimate, where they are."""
    if top is None or found.columns_left_out:
        return ""
    whole = {row.item: row.estimate for row in top.rows}
    cells = zip(found.row_values, found.cells, strict=True)
    known = [(sum(one.estimate for one in row), whole.get(item, 0.0)) for item, row in cells]
    if sum(cell for cell, _ in known) >= sum(one for _, one in known) / 2:
        return ""
    return (
        " The noise of one combination hides most of what is there: estimates are drawn towards "
        "what most combinations have, and add up to less than the items' own."
    )


def _heat_rows(found: HeatMap, across: Sequence[str], name: Name) -> Iterator[dict[str, Any]]:
    for place, (item, cells) in enumerate(zip(found.row_values, found.cells, strict=True), start=1):
        for column, cell in zip(across, cells, strict=True):
            yield {
                "row": f"{place}. {label(drawn(item, name), LONGEST)}",
                "column": column,
                "estimate": max(cell.estimate, 0.0),
                "text": short(cell.estimate),
            }


def _heat_numbers(found: HeatMap, title: str, name: Name) -> Iterator[Shown]:
    """The numbers, in tables of a few columns each, so that they fit on paper."""
    for first in range(0, len(found.column_values), _ACROSS):
        part = slice(first, first + _ACROSS)
        rows = [
            (
                value(name(item)),
                *(f"{grouped(one.estimate)} ({between(one.low, one.high)})" for one in cells[part]),
            )
            for item, cells in zip(found.row_values, found.cells, strict=True)
        ]
        heads = (value(found.rows), *(value(one, 30) for one in found.column_values[part]))
        shown = f", {heads[1]} to {heads[-1]}" if len(found.column_values) > _ACROSS else ""
        caption = f"{title}{shown}: estimates, and their 95% intervals in brackets"
        yield Shown(caption, heads, rows, dense=True)


def short(number: float) -> str:
    """A short number, for a cell of a drawing.

    >>> short(12.3), short(1234.0), short(99_950.0), short(2.5e6), short(-0.2)
    ('12', '1.2k', '100k', '2.5M', '0')
    """
    for unit, sign in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(number) >= 0.9995 * unit:
            scaled = number / unit
            return f"{scaled:.0f}{sign}" if abs(scaled) >= 9.95 else f"{scaled:.1f}{sign}"
    return f"{round(number)}"


def steps_chart(steps: Sequence[Step]) -> Chart | None:
    """What each step took of ε; None where there is one. The table of steps has its numbers."""
    taken = [one for one in steps if one.share > 0]
    if len(taken) < 2:
        return None
    rows = [{"step": f"{one.place}. {label(one.name)}", "share": one.share} for one in taken]
    marks = {
        "encoding": {
            "y": names("step"),
            "x": {"field": "share", "type": "quantitative", "title": "Share of ε",
                  "axis": {"format": ".0%", "tickCount": 5}},
        },
        "layer": [
            {"mark": {"type": "bar", "color": _ACCENT, "height": 12}},
            {"mark": {"type": "text", "align": "left", "dx": 4, "color": _INK},
             "encoding": {"text": {"field": "share", "type": "quantitative", "format": ".3~p"}}},
        ],
    }  # fmt: skip
    words = "How ε was shared between the steps, in their order. Longer bars: less noise there."
    return chart_of("steps", "Share of ε by step", words, rows, marks)


def top_figure(found: TopList, name: Name) -> Figure | None:
    if not found.rows:
        return None
    rows = [
        {
            "item": f"{row.rank}. {label(drawn(row.item, name), LONGEST)}",
            "estimate": row.estimate,
            "low": row.estimate if row.estimate_low is None else row.estimate_low,
            "high": row.estimate if row.estimate_high is None else row.estimate_high,
            "noisy": row.count,
        }
        for row in found.rows
    ]
    x = amount(found.counted)
    layers: list[dict[str, Any]] = [
        {"mark": {"type": "rule", "color": _ACCENT, "strokeWidth": 3, "opacity": 0.55},
         "encoding": {"x": {"field": "low", **x}, "x2": {"field": "high"}}},
        {"mark": {"type": "point", "filled": True, "color": _ACCENT, "size": 55, "opacity": 1},
         "encoding": {"x": {"field": "estimate", **x}}},
        {"mark": {"type": "tick", "color": _OTHER, "thickness": 2, "height": 13},
         "encoding": {"x": {"field": "noisy", **x}}},
    ]  # fmt: skip
    floor = ""
    if found.floor is not None:
        layers.append({
            "data": {"values": [{"floor": found.floor}]},
            "mark": {"type": "rule", "color": _INK, "strokeDash": [4, 3], "strokeWidth": 1.5},
            "encoding": {"x": {"field": "floor", **x}, "y": {}},
        })  # fmt: skip
        floor = (
            f" Dashed line: the noise floor, {grouped(found.floor)}, below which a count cannot "
            "be told apart from noise."
        )
    shared = {"encoding": {"y": names("item")}, "layer": layers}
    words = f"Dot: what is believed. Bar: its 95% interval.{_stroke(found)}{floor}"
    chart = chart_of("top", f"The {len(rows)} largest items", words, rows, shared)
    return Figure(chart, (top_numbers(found, name),), noise_warning(found.rows, "items"))


def noise_warning(rows: Sequence[Any], what: str) -> str:
    """What is said of a list in which nothing is above the noise floor."""
    if not rows or any(row.above_floor for row in rows):
        return ""
    return f"None of these {what} is told apart from noise: their order is mostly chance."


def _stroke(found: TopList) -> str:
    """What the noisy counts are, and why they can be far from the estimates."""
    if all(row.count is None for row in found.rows):
        return ""
    apart = any(
        row.covers == TRUE
        and row.count is not None
        and not (row.estimate_low or 0) <= row.count <= (row.estimate_high or inf)
        for row in found.rows
    )
    why = " It counts only what bounding kept of each user; dots put back what that left out."
    return f" Upright stroke: the noisy count as released.{why if apart else ''}"


def item_cells(row: Any, name: Name) -> tuple[str, str, str, str]:
    """An item, its rank, its estimate and the interval of that."""
    within = between(row.estimate_low, row.estimate_high)
    return value(name(row.item)), grouped(row.rank), grouped(row.estimate), within


def top_numbers(found: TopList, name: Name, where: str = "") -> Shown:
    noisy = any(row.count is not None for row in found.rows)
    told = any(row.chance_in_top is not None for row in found.rows)
    rows = [
        (
            *item_cells(row, name),
            *[chance(row.chance_in_top)] * told,
            *[grouped(row.count), grouped(row.noise_std)][: 2 * noisy],
            "above" if row.above_floor else "not above",
        )
        for row in found.rows
    ]
    heads = (
        "Item", "Rank", f"Estimate ({found.counted})", "95% interval",
        *[f"Chance to be in the top {found.k or len(rows)}"] * told,
        *["Noisy count", "Typical noise"][: 2 * noisy], "Noise floor",
    )  # fmt: skip
    return Shown(f"The largest items{where}", heads, rows)


def spread_figure(found: Distribution, counted: str, number: int) -> Figure:
    total = sum(max(one.estimate, 0.0) for one in found.values)
    labels = [label(one.value, LONGEST) for one in found.values]
    if len(set(labels)) < len(labels):  # cut short, they are the same text for two values
        labels = [f"{place}. {one}" for place, one in enumerate(labels, start=1)]
    rows = [
        {
            "value": shown,
            "estimate": one.estimate,
            "low": one.estimate if one.low is None else one.low,
            "high": one.estimate if one.high is None else one.high,
        }
        for shown, one in zip(labels, found.values, strict=True)
    ]
    x = amount(counted)
    marks = {
        "encoding": {"y": names("value")},
        "layer": [
            {"mark": {"type": "bar", "color": _ACCENT, "height": 12, "opacity": 0.75},
             "encoding": {"x": {"field": "estimate", **x}}},
            {"mark": {"type": "rule", "color": _INK, "strokeWidth": 1.5},
             "encoding": {"x": {"field": "low", **x}, "x2": {"field": "high"}}},
        ],
    }  # fmt: skip
    name = value(found.name)
    left = f" {grouped(found.left_out)} further values are not shown." if found.left_out else ""
    words = f"Bar: what is believed. Thin line: its 95% interval.{left}"
    numbers = Shown(
        f"Counts by {name}",
        (name, f"Estimate ({counted})", "95% interval", "Share of those shown", "Noisy sum"),
        [
            (value(one.value), grouped(one.estimate), between(one.low, one.high),
             percent(max(one.estimate, 0.0) / total if total else None), grouped(one.noisy))
            for one in found.values
        ],
    )  # fmt: skip
    return Figure(chart_of(f"spread-{number}", f"Counts by {name}", words, rows, marks), (numbers,))


def figures(facts: Facts, name: Name) -> dict[str, list[Figure]]:
    """All of them, by the part of the report that they stand in."""
    top = None if facts.top is None else top_figure(facts.top, name)
    spreads, heats = enumerate(facts.distributions), enumerate(facts.heat_maps)
    return {
        "top": [] if top is None else [top],
        "spread": [spread_figure(one, facts.counted, n) for n, one in spreads],
        "heat": [heat_figure(one, facts.counted, n, name, facts.top) for n, one in heats],
    }
