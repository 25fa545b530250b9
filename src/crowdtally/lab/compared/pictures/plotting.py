"""From the numbers of a picture to its drawing and the table beside it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from crowdtally.lab.compared.facts import Facts
from crowdtally.lab.compared.measures import Measure
from crowdtally.lab.compared.pictures.axes import Axis
from crowdtally.lab.compared.pictures.charts import Line, as_svg, dots, lines
from crowdtally.lab.compared.ranking import best_of_each, ranked
from crowdtally.lab.compared.releasable import label
from crowdtally.lab.compared.summary import Summary

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
    """What is measured there."""
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
    """What it shows."""
    caption: str
    """What to see in it."""
    x: Axis
    """The horizontal axis, where there are several columns."""
    y: Axis
    """What is measured."""
    columns: Sequence[Column]
    """Its numbers."""
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
    """What it shows."""
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
        """The drawing."""
        return as_svg(self.spec, self.name)


def draw(plot: Plot, facts: Facts, styles: Mapping[str, int]) -> Picture | None:
    """Lines over the columns, or dots where there is one column; None without a number."""
    columns = [column for column in plot.columns if column.numbers]
    flat = {one.setting.method: one for one in plot.flat}
    series: list[Line] = []
    rows: dict[str, tuple[Summary | None, ...]] = {}
    for method in _ordered(plot, columns):
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


def _ordered(plot: Plot, columns: Sequence[Column]) -> list[str]:
    return _by_best(columns, plot.flat) if plot.is_one_choice else _by_quality(columns)


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
