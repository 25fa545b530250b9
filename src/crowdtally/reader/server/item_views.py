"""Views of items: search, one item, sums, and the map."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

import numpy as np

from crowdtally.errors import UsageError, did_you_mean
from crowdtally.reader.answers.columns import schema_of
from crowdtally.reader.axes import AxisLookup, Value
from crowdtally.reader.conditions import all_of
from crowdtally.reader.questions.chosen import places_of_items
from crowdtally.reader.questions.sum import Sum, range_of, stated_by, sum_over
from crowdtally.reader.questions.top import top_in
from crowdtally.reader.questions.top_list import TopItem, TopList
from crowdtally.reader.report.answers import Asking, Distribution, HeatMap
from crowdtally.reader.report.charts import Figure, heat_figure, short, spread_figure
from crowdtally.reader.server import view as shared
from crowdtally.reader.server.parameters import FEW, Asked, Parameter, choices, texts
from crowdtally.reader.server.releases import LONGEST_SEARCH, Opened, folded, searched
from crowdtally.reader.server.view import MOST_ROWS, PAGE, View, has_items
from crowdtally.web.charts import Chart
from crowdtally.web.pages import between, grouped, value

_Q = Parameter(
    "q", "Words: parts of an item's name or label, without accents or cases.", {"type": "string"}
)
_PAGE = Parameter(
    "page", "Which page of rows.", {"type": "integer", "minimum": 1, "maximum": MOST_ROWS}
)
_ITEM = Parameter("item", "The item, as it stands in the list.", {"type": "string"})
_MOST = 24
"""Values of a context that an item's page shows."""


def _matching(opened: Opened, asked: Asked, first: int, count: int) -> TopList:
    source, text = opened.source, asked.text("q", "") or ""
    places = np.array(opened.index.found(text, first, count), dtype=np.int64)
    found = top_in(source.view, max(count, 1), {}, only=places)
    return shared.ranked_from(first, source.labelled(found))


def _search_answer(opened: Opened, asked: Asked) -> TopList:
    k, number = asked.whole("k", 10, most=MOST_ROWS), asked.whole("page", 1, most=MOST_ROWS)
    return _matching(opened, asked, (number - 1) * k, k)


def _search_page(opened: Opened, asked: Asked) -> dict[str, Any]:
    text, number = asked.text("q", "") or "", asked.whole("page", 1, most=MOST_ROWS)
    found, more = None, False
    if text:
        listed = _matching(opened, asked, (number - 1) * PAGE, PAGE + 1)
        more = len(listed.rows) > PAGE
        found = replace(listed, rows=listed.rows[:PAGE])
    return {
        "found": None if found is None or not found.rows else
        shared.item_table(opened, found, "found, the largest first"),
        "contexts": [] if not text else list(_values(opened, text)),
        "paging": shared.paging(asked, number, more),
        "items": len(opened.item),
        "download": asked.query(k=PAGE),
    }  # fmt: skip


def _values(opened: Opened, text: str) -> list[tuple[str, str]]:
    """Values of contexts that have the text, each with the address of its list."""
    words, found = searched(text), list[tuple[str, str]]()
    for axis in opened.source.view.contexts.values():
        for one in axis.axis.values[:10_000].tolist():
            name = folded(f"{axis.name} {one}"[:LONGEST_SEARCH])
            if all(word in name for word in words):
                query = urlencode({"context": f"{axis.name}={one}"})
                found.append((f"{value(axis.name, 40)} = {value(one, 40)}", f"top?{query}"))
    return found[:PAGE]


SEARCH = View(
    "search",
    "Search",
    "Items whose names have all words of a text, the largest first; rank counts the matches.",
    _search_page,
    (_Q, _PAGE),
    _search_answer,
    (_Q, shared.how_many(), _PAGE),
    schema_of(TopItem, many=True),
    None,
    has_items,
    form=lambda opened, asked: {"text": asked.text("q", "") or ""},
)


def _place(opened: Opened, asked: Asked) -> int:
    text = asked.text("item")
    if text is None:
        raise UsageError("say which item: item=NAME.")
    (place,) = places_of_items(opened.item, [text]).tolist()
    return int(place)


def _item_answer(opened: Opened, asked: Asked) -> Sum:
    opened.wait()
    named = _plain(opened.item.axis.values[_place(opened, asked)])
    return opened.release.sum(None, **{opened.item.name: named})


def _plain(named: Any) -> Value:
    plain: Value = named.item() if isinstance(named, np.generic) else named
    return plain


def _item_page(opened: Opened, asked: Asked) -> dict[str, Any]:
    place = _place(opened, asked)
    opened.wait()
    source = opened.source
    try:
        only = np.array([place], dtype=np.int64)
        listed = top_in(source.view, 1, {}, only=only)
    except UsageError:  # lists in contexts alone
        listed = None
    named = _plain(opened.item.axis.values[place])
    return {
        "item": value(source.name(named)),
        "typed": str(named),
        "line": None if listed is None or not listed.rows else listed.rows[0],
        "counted": source.published.counted,
        "notes": [] if listed is None else listed.notes,
        "spreads": _spreads(opened, place),
        "has_pairs": source.published.table("pairs") is not None,
    }


def _spreads(opened: Opened, place: int) -> list[Figure]:
    named, counted = _plain(opened.item.axis.values[place]), opened.source.published.counted

    def make() -> list[Distribution]:
        asking = Asking(opened.source.view)
        axes = opened.source.view.contexts.values()
        maps = ((axis, asking.heat_map(opened.item, [named], axis, most=_MOST)) for axis in axes)
        return [
            Distribution(axis.name, found.cells[0], found.columns_left_out)
            for axis, found in maps
            if found is not None
        ]

    spreads = opened.kept.get(("spreads", place), make)  # numbers: each reader writes them anew
    return [spread_figure(one, counted, number) for number, one in enumerate(spreads)]


def _item_chart(opened: Opened, asked: Asked) -> Chart | None:
    opened.wait()
    figures = _spreads(opened, _place(opened, asked))
    return figures[0].chart if figures else None


ITEM = View(
    "item",
    "One item",
    "What is believed of one item, as the sum over its cells.",
    _item_page,
    (_ITEM,),
    _item_answer,
    (replace(_ITEM, schema={"type": "string", "minLength": 1}),),
    schema_of(Sum, many=False),
    _item_chart,
    has_items,
)

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


def _sum_answer(opened: Opened, asked: Asked) -> Sum:
    opened.wait()
    source = opened.source
    parts = [stated_by(source.view, asked.text("where"), asked.pairs("value"), source.labels)]
    starts, ends = _ends(asked, "from"), _ends(asked, "to")
    parts += [
        range_of(source.view, name, starts.get(name), ends.get(name))
        for name in dict.fromkeys([*starts, *ends])
    ]
    return sum_over(source.view, all_of(parts))


def _ends(asked: Asked, name: str) -> dict[str, str]:
    found = asked.pairs(name)
    for column, values in found.items():
        if len(values) > 1:
            raise UsageError(f"a range of {column!r} has one end {name!r}: give one value.")
    return {column: values[0] for column, values in found.items()}


@dataclass(frozen=True)
class Ends:
    name: str
    """The column, as it is shown."""
    column: str
    values: Sequence[tuple[str, str]]
    """As typed in an address, and as shown; none where they are too many."""
    first: str
    """The end that was asked for, as typed."""
    last: str


def _sum_page(opened: Opened, asked: Asked) -> dict[str, Any]:
    found = _sum_answer(opened, asked)
    return {"found": found, "facts": _facts(found)}


def _sum_form(opened: Opened, asked: Asked) -> dict[str, Any]:
    # The columns of the tables, items last: a form begins with what has few values.
    axes = sorted(opened.source.view.by_name.values(), key=len)
    values = asked.pairs("value")
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


def _offered(axis: AxisLookup, starts: dict[str, str], ends: dict[str, str]) -> Ends:
    values = [str(one) for one in axis.axis.values.tolist()] if len(axis) <= 500 else []
    typed = [(f"{axis.name}={one}", value(one, 40)) for one in values]
    first, last = (
        f"{axis.name}={chosen[axis.name]}" if axis.name in chosen else ""
        for chosen in (starts, ends)
    )
    return Ends(value(axis.name, 40), axis.name, typed, first, last)


def _facts(found: Sum) -> list[tuple[str, str]]:
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
    text: str
    words: str
    """The same with its interval, for those who point at it or hear it."""
    shade: int
    link: str


def _heat_map(opened: Opened, asked: Asked) -> HeatMap:
    opened.wait()
    source, known = opened.source, _across(opened)
    name = asked.text("columns") or (known[0].name if known else "")
    axis = next((one for one in known if one.name == name), None)
    if axis is None:
        told = [one.name for one in known]
        raise UsageError(f"no column {name[:60]!r} has a map. {did_you_mean(name[:60], told)}")

    def make() -> HeatMap | None:
        asking = Asking(source.view)
        rows = next(iter(source.view.by_name.values()))
        largest = asking.top() if source.has_items else None
        first: list[Any] = rows.axis.values[:ROWS].tolist()
        values = first if largest is None else [row.item for row in largest][:ROWS]
        return asking.heat_map(rows, values, axis, most=COLUMNS)

    found = opened.kept.get(("map", name), make)
    if found is None:
        raise UsageError(
            f"this release does not say how its counts are spread over {name!r}: ask for sums."
        )
    return found


def _across(opened: Opened) -> list[AxisLookup]:
    """What the columns of a map may be: contexts; of attributes, all but the first."""
    source = opened.source
    if source.published.domain.has_items:
        return list(source.view.contexts.values())
    return list(source.view.by_name.values())[1:]


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
