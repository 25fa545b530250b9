"""Sums over ranges and subsets, and the map whose cells lead to them."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from crowdtally.errors import UsageError, did_you_mean
from crowdtally.reader.answers.schema import schema_of
from crowdtally.reader.asking.sum import Sum, range_of, stated_by, sum_over
from crowdtally.reader.explorer.asked import Asked, Parameter, texts
from crowdtally.reader.explorer.opened import Opened
from crowdtally.reader.explorer.switching import FEW, choices
from crowdtally.reader.explorer.view import View
from crowdtally.reader.lookup import AxisLookup
from crowdtally.reader.report.answers import Asking, HeatMap
from crowdtally.reader.report.heat_map import heat_figure, short
from crowdtally.reader.stated import all_of
from crowdtally.web.charts import Chart
from crowdtally.web.pages import between, grouped, value

_WHERE = Parameter(
    "where",
    "A condition, such as day = 'Friday' and age between 30 and 40; as in `crowdtally sum`.",
    {"type": "string"},
)
_VALUE = texts("value", "COLUMN=VALUE: this value. Several of one column count together.")
_FROM = texts("from", "COLUMN=VALUE: from this value on, in the order of the list.")
_TO = texts("to", "COLUMN=VALUE: up to this value, which is included.")
_SHADES = 9
ROWS, COLUMNS = 20, 24
"""Of a map."""


def _sum_answer(opened: Opened, asked: Asked) -> Sum:
    opened.wait()
    source = opened.source
    parts = [stated_by(source.axes, asked.text("where"), asked.pairs("value"), source.labels)]
    starts, ends = _ends(asked, "from"), _ends(asked, "to")
    parts += [
        range_of(source.axes, name, starts.get(name), ends.get(name))
        for name in dict.fromkeys([*starts, *ends])
    ]
    return sum_over(source.axes, source.estimator, all_of(parts))


def _ends(asked: Asked, name: str) -> dict[str, str]:
    """The end of a range in each column."""
    found = asked.pairs(name)
    for column, values in found.items():
        if len(values) > 1:
            raise UsageError(f"a range of {column!r} has one end {name!r}: give one value.")
    return {column: values[0] for column, values in found.items()}


@dataclass(frozen=True)
class Ends:
    """What a form offers as the ends of a range."""

    name: str
    """The column, as it is shown."""
    column: str
    """The column itself."""
    values: Sequence[tuple[str, str]]
    """As typed in an address, and as shown; none where they are too many."""
    first: str
    """The end that was asked for, as typed."""
    last: str
    """The other end."""


def _sum_page(opened: Opened, asked: Asked) -> dict[str, Any]:
    found = _sum_answer(opened, asked)
    return {"found": found, "facts": _facts(found)}


def _sum_form(opened: Opened, asked: Asked) -> dict[str, Any]:
    axes, values = _asked_about(opened), asked.pairs("value")
    few = [axis for axis in axes if len(axis) <= FEW]
    starts, ends = _ends(asked, "from"), _ends(asked, "to")
    return {
        "where": asked.text("where") or "",
        "choices": choices(few, values),
        "hidden": _unlisted(values, {axis.name for axis in few}),
        "ends": [_offered(axis, starts, ends) for axis in axes if len(axis) > 2],
        "typed": [value(axis.name, 40) for axis in axes if len(axis) > FEW],
        "columns": [value(axis.name, 40) for axis in axes],
    }


def _unlisted(values: Mapping[str, list[str]], listed: Container[str]) -> list[str]:
    """Values that were asked for, of columns that have too many to tick."""
    return [f"{name}={one}" for name, found in values.items() for one in found
            if name not in listed]  # fmt: skip


def _asked_about(opened: Opened) -> list[AxisLookup]:
    """The columns of the tables, items last: a form begins with what has few values."""
    axes = list(opened.source.axes.by_name.values())
    return sorted(axes, key=len)


def _offered(axis: AxisLookup, starts: dict[str, str], ends: dict[str, str]) -> Ends:
    values = [str(one) for one in axis.axis.values.tolist()] if len(axis) <= 500 else []
    typed = [(f"{axis.name}={one}", value(one, 40)) for one in values]
    first, last = (
        f"{axis.name}={chosen[axis.name]}" if axis.name in chosen else ""
        for chosen in (starts, ends)
    )
    return Ends(value(axis.name, 40), axis.name, typed, first, last)


def _facts(found: Sum) -> list[tuple[str, str]]:
    """What is known of a sum, for people."""
    told = [
        ("Estimate", f"{grouped(found.estimate)} {found.counted}"),
        ("95% interval", between(found.estimate_low, found.estimate_high)),
        ("It covers", found.covers),
    ]
    if found.value is not None:
        told += [
            ("Noisy sum", f"{grouped(found.value)}, typically off by "
                          f"{grouped(found.standard_error)}"),
            ("Noise interval", between(found.low, found.high)),
            ("The noisy sum is right on average about", found.unbiased_for),
        ]  # fmt: skip
    return [*told, ("Cells added up", grouped(found.cells)), ("Table", value(found.table))]


SUM = View(
    "sum",
    "Sums",
    "The sum over the cells that satisfy a condition, or have these values.",
    _sum_page,
    (_WHERE, _VALUE, _FROM, _TO),
    _sum_answer,
    (_WHERE, _VALUE, _FROM, _TO),
    schema_of(Sum, many=False),
    form=_sum_form,
)

_COLUMNS = Parameter("columns", "The context, or attribute, of the columns.", {"type": "string"})


@dataclass(frozen=True)
class Cell:
    """One cell of a map."""

    text: str
    """Its estimate, short."""
    words: str
    """The same with its interval, for those who point at it or hear it."""
    shade: int
    """How dark, from 0 on."""
    link: str
    """The sum that it is."""


def _heat_map(opened: Opened, asked: Asked) -> HeatMap:
    opened.wait()
    source, known = opened.source, _across(opened)
    name = asked.text("columns") or (known[0].name if known else "")
    axis = next((one for one in known if one.name == name), None)
    if axis is None:
        told = [one.name for one in known]
        raise UsageError(f"no column {name[:60]!r} has a map. {did_you_mean(name[:60], told)}")

    def make() -> HeatMap | None:
        asking = Asking(source.axes, source.estimator)
        rows = next(iter(source.axes.by_name.values()))
        largest = asking.top() if source.has_items else None
        first: list[Any] = rows.axis.values[:ROWS].tolist()
        values = first if largest is None else [row.item for row in largest][:ROWS]
        return asking.heat_map(rows, values, axis, most=COLUMNS)

    found = opened.remember(("map", name), make)
    if found is None:
        raise UsageError(
            f"this release does not say how its counts are spread over {name!r}: ask for sums."
        )
    return found


def _across(opened: Opened) -> list[AxisLookup]:
    """What the columns of a map may be: contexts; of attributes, all but the first."""
    source = opened.source
    if source.published.domain.has_items:
        return list(source.axes.contexts.values())
    return list(source.axes.by_name.values())[1:]


def _map_page(opened: Opened, asked: Asked) -> dict[str, Any]:
    found = _heat_map(opened, asked)
    most = max((cell.estimate for row in found.cells for cell in row), default=0.0)

    def cell(item: object, one: Any) -> Cell:
        share = max(one.estimate, 0.0) / most if most > 0 else 0.0
        query = urlencode([("value", f"{found.rows}={item}"),
                           ("value", f"{found.columns}={one.value}")])  # fmt: skip
        words = f"{grouped(one.estimate)} ({between(one.low, one.high)})"
        return Cell(short(one.estimate), words, round(share * _SHADES), f"sum?{query}")

    rows = zip(found.row_values, found.cells, strict=True)
    return {
        "rows": [(value(opened.source.name(item), 60), [cell(item, one) for one in cells])
                 for item, cells in rows],
        "heads": [value(one, 30) for one in found.column_values],
        "row_name": value(found.rows, 40),
        "columns": value(found.columns, 40),
        "left": (found.rows_left_out, found.columns_left_out),
        "counted": opened.source.published.counted,
    }  # fmt: skip


def _map_form(opened: Opened, asked: Asked) -> dict[str, Any]:
    known = _across(opened)
    name = asked.text("columns") or (known[0].name if known else "")
    links = [(value(one.name, 40), urlencode({"columns": one.name}), one.name == name)
             for one in known]  # fmt: skip
    return {"others": links}


def _map_chart(opened: Opened, asked: Asked) -> Chart | None:
    found = _heat_map(opened, asked)
    return heat_figure(found, opened.source.published.counted, 0, opened.source.name).chart


MAP = View(
    "map",
    "Map",
    "",
    _map_page,
    (_COLUMNS,),
    picture=_map_chart,
    is_there=lambda opened: bool(_across(opened)),
    form=_map_form,
)
