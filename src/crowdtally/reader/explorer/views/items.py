"""Search, and the page of one item."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from crowdtally.errors import UsageError
from crowdtally.reader.answers.schema import schema_of
from crowdtally.reader.asking.chosen import places_of_items
from crowdtally.reader.asking.sum import Sum
from crowdtally.reader.asking.top import top_in
from crowdtally.reader.asking.top_list import TopItem, TopList
from crowdtally.reader.explorer.asked import Asked, Parameter
from crowdtally.reader.explorer.index import LONGEST, folded, searched
from crowdtally.reader.explorer.opened import Opened
from crowdtally.reader.explorer.tables import item_table, paging
from crowdtally.reader.explorer.view import MOST_ROWS, PAGE, View, has_items, how_many
from crowdtally.reader.lookup import Value
from crowdtally.reader.report.answers import Asking, Distribution
from crowdtally.reader.report.charts import spread_figure
from crowdtally.reader.report.drawing import Figure
from crowdtally.web.charts import Chart
from crowdtally.web.pages import value

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
    found = top_in(source.axes, source.estimator, max(count, 1), {}, only=places)
    if source.labels is not None:
        found = found.with_labels(source.labels)
    rows = tuple(replace(row, rank=first + number) for number, row in enumerate(found.rows, 1))
    return replace(found, rows=rows)


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
        item_table(opened, found, "found, the largest first"),
        "contexts": [] if not text else list(_values(opened, text)),
        "paging": paging(asked, number, more),
        "items": len(opened.item),
        "download": asked.query(k=PAGE),
    }  # fmt: skip


def _search_form(opened: Opened, asked: Asked) -> dict[str, Any]:
    return {"text": asked.text("q", "") or ""}


def _values(opened: Opened, text: str) -> list[tuple[str, str]]:
    """Values of contexts that have the text, each with the address of its list."""
    from urllib.parse import urlencode

    words, found = searched(text), list[tuple[str, str]]()
    for axis in opened.source.axes.contexts.values():
        for one in axis.axis.values[:10_000].tolist():
            name = folded(f"{axis.name} {one}"[:LONGEST])
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
    (_Q, how_many(), _PAGE),
    schema_of(TopItem, many=True),
    None,
    has_items,
    form=_search_form,
)


def _place(opened: Opened, asked: Asked) -> int:
    text = asked.text("item")
    if text is None:
        raise UsageError("say which item: item=NAME.")
    (place,) = places_of_items(opened.item, [text]).tolist()
    return int(place)


def _item_answer(opened: Opened, asked: Asked) -> Sum:
    opened.wait()
    item = opened.item
    named: Any = item.axis.values[_place(opened, asked)]
    return opened.release.sum(None, **{item.name: _plain(named)})


def _plain(named: Any) -> Value:
    plain: Value = named.item() if isinstance(named, np.generic) else named
    return plain


def _item_page(opened: Opened, asked: Asked) -> dict[str, Any]:
    place = _place(opened, asked)
    opened.wait()
    source = opened.source
    try:
        listed = top_in(
            source.axes, source.estimator, 1, {}, only=np.array([place], dtype=np.int64)
        )
    except UsageError:  # lists in contexts alone
        listed = None
    line = None if listed is None or not listed.rows else listed.rows[0]
    named = _plain(opened.item.axis.values[place])
    figures = _spreads(opened, asked, place)
    return {
        "item": value(source.name(named)),
        "typed": str(named),
        "line": line,
        "counted": source.published.counted,
        "notes": [] if listed is None else listed.notes,
        "spreads": figures,
        "has_pairs": source.published.table("pairs") is not None,
    }


def _spreads(opened: Opened, asked: Asked, place: int) -> list[Figure]:
    """How the item is spread over each context."""
    named, counted = _plain(opened.item.axis.values[place]), opened.source.published.counted

    def make() -> list[Distribution]:
        asking = Asking(opened.source.axes, opened.source.estimator)
        axes = opened.source.axes.contexts.values()
        maps = ((axis, asking.heat_map(opened.item, [named], axis, most=_MOST)) for axis in axes)
        return [
            Distribution(axis.name, found.cells[0], found.columns_left_out)
            for axis, found in maps
            if found is not None
        ]

    spreads = opened.remember(("spreads", place), make)  # numbers: each reader writes them anew
    return [spread_figure(one, counted, number) for number, one in enumerate(spreads)]


def _item_chart(opened: Opened, asked: Asked) -> Chart | None:
    opened.wait()
    figures = _spreads(opened, asked, _place(opened, asked))
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
