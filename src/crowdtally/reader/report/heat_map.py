"""The heat map of a report: items by contexts, or attributes by each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from crowdtally.reader.asking.top_list import TopList
from crowdtally.reader.report.answers import HeatMap
from crowdtally.reader.report.drawing import LONGEST, Figure, Name, chart_of, drawn, names
from crowdtally.web.charts import PALETTE, label
from crowdtally.web.pages import Shown, between, grouped, value

_COLUMN, _NARROW = 46, 33
"""Widths in pixels: where there are few columns, and where there are many."""
_FEW = 10
DARKEST = 0.45
"""The most that a cell is filled: its number stays readable on it."""
_ACROSS = 8
"""Columns of one table of the numbers."""
_INK, _SOFT, _ACCENT = (PALETTE[name] for name in ("ink", "soft", "accent"))


def heat_figure(
    found: HeatMap, counted: str, number: int, name: Name, top: TopList | None = None
) -> Figure:
    """Items in each value of a context, darker where there are more."""
    across = [label(one, 14) for one in found.column_values]
    if len(set(across)) < len(across):
        across = [f"{place}. {one}" for place, one in enumerate(across, start=1)]
    rows = list(_heat_rows(found, across, name))
    marks = {
        "encoding": {
            "y": names("row"),
            "x": {"field": "column", "type": "nominal", "sort": None, "title": label(found.columns),
                  "axis": {"orient": "top", "labelAngle": _slant(across), "ticks": False,
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
    chart = chart_of(f"heat-{number}", title, words, rows, marks, _heat_width(len(across)))
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


def _heat_width(columns: int) -> int:
    return columns * (_COLUMN if columns <= _FEW else _NARROW)


def _slant(names: Sequence[str]) -> int:
    """Upright where all names fit above their columns, else leaning."""
    return 0 if max(map(len, names), default=0) <= 5 else -40


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
    """A number of few letters, for a cell of a drawing.

    >>> short(12.3), short(1234.0), short(99_950.0), short(2.5e6), short(-0.2)
    ('12', '1.2k', '100k', '2.5M', '0')
    """
    for unit, sign in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(number) >= 0.9995 * unit:
            scaled = number / unit
            return f"{scaled:.0f}{sign}" if abs(scaled) >= 9.95 else f"{scaled:.1f}{sign}"
    return f"{round(number)}"
