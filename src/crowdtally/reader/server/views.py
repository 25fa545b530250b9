"""All views of a release: lists, overview, report and downloads."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from crowdtally.core.numbers import show
from crowdtally.laws.conversion import odds_words
from crowdtally.reader.answers.columns import schema_of
from crowdtally.reader.page_parts import special_numbers, top_picture
from crowdtally.reader.questions.chosen import chosen_contexts
from crowdtally.reader.questions.recommendations import (
    POPULAR,
    SPECIAL,
    Recommendation,
    Recommendations,
)
from crowdtally.reader.questions.top import top_in
from crowdtally.reader.questions.top_list import TopItem, TopList
from crowdtally.reader.report.answers import TOP as FIRST
from crowdtally.reader.report.charts import item_cells, noise_warning, spread_figure
from crowdtally.reader.server import view as shared
from crowdtally.reader.server.item_views import ITEM, MAP, SEARCH, SUM
from crowdtally.reader.server.parameters import Asked, Parameter, choices, texts, where_words
from crowdtally.reader.server.releases import Opened
from crowdtally.reader.server.view import MOST_ROWS, PAGE, View, has_items, item_table
from crowdtally.web.charts import Chart
from crowdtally.web.pages import Shown, chance, grouped, value

SORTS = ("estimate", "count", "list")
"""By what a list can be ordered: estimates, noisy counts, the order of the public list."""
_PAGES = 10**8
_PAGE = Parameter(
    "page", "Which page of k rows.", {"type": "integer", "minimum": 1, "maximum": _PAGES}
)
_SORT = Parameter(
    "sort", "By estimates, noisy counts or in the order of the list.",
    {"type": "string", "enum": list(SORTS)},
)  # fmt: skip


@dataclass(frozen=True)
class Sorting:
    by: str
    raw: bool


def _is_raw(asked: Asked) -> bool:
    return asked.choice("raw", ("no", "yes")) == "yes"


def _top_answer(opened: Opened, asked: Asked) -> TopList:
    k, number = asked.whole("k", 10, most=MOST_ROWS), asked.whole("page", 1, most=_PAGES)
    sort, first = asked.choice("sort", SORTS), (number - 1) * k
    if sort == "list":
        return _listed(opened, asked, first, k)[0]
    raw = _is_raw(asked) or sort == "count"
    if number == 1:
        return _top(opened, asked, k, raw=raw)
    found = _top(opened, asked, min(first + k, MOST_ROWS), raw=raw)
    return replace(found, rows=found.rows[first:])


def _top(opened: Opened, asked: Asked, k: int, *, raw: bool, among: int | None = None) -> TopList:
    """The k largest items; chances are to be among the ``among`` first ones."""
    contexts = asked.pairs("context")
    if not raw:
        opened.wait()

    def make() -> TopList:
        source = opened.source
        box = chosen_contexts(source.view, contexts)
        return source.labelled(top_in(source.view, k, box, raw=raw, among=among))

    return opened.kept.get(("top", k, raw, among, repr(contexts)), make)


def _top_page(opened: Opened, asked: Asked) -> dict[str, Any]:
    sorting, number = _sorting(opened, asked), asked.whole("page", 1, most=_PAGES)
    sort, raw, contexts = sorting.by, sorting.raw, asked.pairs("context")
    rows, more = _rows(opened, asked, sort, number, raw=raw)
    return {
        "where": where_words(contexts),
        "table": item_table(opened, rows, f"in {where_words(contexts)}" if contexts else ""),
        "has_picture": number == 1 and sort != "list" and bool(rows.rows),
        "words": "" if not rows.rows else _picture_words(rows),
        "warning": noise_warning(rows.rows, "items"),
        "notes": rows.notes,
        "whole": opened.kept.get(("whole", repr(contexts)), lambda: opened.source.whole(contexts))
        if opened.is_ready else None,
        "download": asked.query(k=PAGE, raw="yes" if raw else None),
        "paging": shared.paging(asked, number, more),
        "reach": grouped(MOST_ROWS) if sort != "list" and not more and number * PAGE >= MOST_ROWS
        else "",
    }  # fmt: skip


def _top_form(opened: Opened, asked: Asked) -> dict[str, Any]:
    return {
        "choices": choices(opened.source.view.contexts.values(), asked.pairs("context")),
        "sorting": _sorting(opened, asked),
    }


def _sorting(opened: Opened, asked: Asked) -> Sorting:
    sort = asked.choice("sort", SORTS)
    return Sorting(sort, sort == "count" or (sort == "estimate" and not opened.is_ready))


def _rows(
    opened: Opened, asked: Asked, sort: str, number: int, *, raw: bool
) -> tuple[TopList, bool]:
    first = (number - 1) * PAGE
    if sort == "list":
        return _listed(opened, asked, first, PAGE)
    last = min(first + PAGE, MOST_ROWS)
    found = _top(opened, asked, last + 1, raw=raw, among=FIRST)
    return replace(found, rows=found.rows[first:last]), len(found.rows) > last < MOST_ROWS


def _listed(opened: Opened, asked: Asked, first: int, count: int) -> tuple[TopList, bool]:
    source, size = opened.source, len(opened.item)
    opened.wait()
    places = np.arange(first, min(first + count, size), dtype=np.int64)
    box = chosen_contexts(source.view, asked.pairs("context"))
    found = source.labelled(top_in(source.view, count, box, only=places))
    return shared.ranked_from(first, found), first + count < size


def _top_chart(opened: Opened, asked: Asked) -> Chart | None:
    raw = asked.choice("sort", SORTS) == "count" or not opened.is_ready
    found = _top(opened, asked, PAGE + 1, raw=raw, among=FIRST)
    found = replace(found, rows=found.rows[:FIRST])
    figure = top_picture(found, opened.source.name, where_words(asked.pairs("context")))
    return None if figure is None else figure.chart


def _picture_words(found: TopList) -> str:
    figure = top_picture(replace(found, rows=found.rows[:FIRST]), str, "")
    return "" if figure is None else figure.chart.words


def overview_list(opened: Opened, asked: Asked, k: int) -> Shown:
    found = _top(opened, asked, k, raw=not opened.is_ready)
    return item_table(opened, found, "with the largest counts")


TOP = View(
    "top",
    "Top list",
    "The items with the largest estimates, overall or in contexts.",
    _top_page,
    (shared.CONTEXT, _SORT, _PAGE),
    _top_answer,
    (shared.how_many(), shared.CONTEXT, shared.RAW, _SORT, _PAGE),
    schema_of(TopItem, many=True),
    _top_chart,
    has_items,
    form=_top_form,
    early=True,
)

_BY = Parameter(
    "by", "What is popular there, or special: with a larger share there than overall.",
    {"type": "string", "enum": [POPULAR, SPECIAL]},
)  # fmt: skip
_WITHOUT = texts("without", "An item to leave out.")
_LIKE = Parameter(
    "like", "Instead of contexts: what users of this item also used, from pairs.",
    {"type": "string"},
)  # fmt: skip


def _linked(opened: Opened, found: Recommendations) -> Shown | None:
    name = opened.source.name
    if found.by != POPULAR:
        shown = special_numbers(found, name, found.where)
        special = [row.item for row in found.rows if row.lift is not None and row.lift > 1]
        return None if shown is None else replace(shown, links=shared.item_links(special))
    rows = [
        (*item_cells(row, name), chance(row.chance_in_top), grouped(row.count))
        for row in found.rows
    ]
    if not rows:
        return None
    heads = (
        "Item", "Rank", f"Estimate there ({found.counted})", "95% interval",
        f"Chance to be in the top {found.k}", "Noisy count there",
    )  # fmt: skip
    caption = f"What is popular {found.where}".strip()
    return Shown(caption, heads, rows, links=shared.item_links([row.item for row in found.rows]))


def _recommended(opened: Opened, asked: Asked, default: int) -> Recommendations:
    opened.wait()
    k, contexts = asked.whole("k", default, most=MOST_ROWS), asked.pairs("context")
    by, raw, like = asked.choice("by", (POPULAR, SPECIAL)), _is_raw(asked), asked.text("like")
    without = asked.texts("without")
    key = ("recommend", k, by, raw, like, repr(contexts), repr(without))
    ask = opened.release.recommend
    make = partial(ask, k, by=by, without=without, item=like, raw=raw, context=contexts)
    return opened.kept.get(key, make)


def _recommend_page(opened: Opened, asked: Asked) -> dict[str, Any]:
    found = _recommended(opened, asked, 20)
    return {"where": found.where, "table": _linked(opened, found), "notes": found.notes}


def _recommend_form(opened: Opened, asked: Asked) -> dict[str, Any]:
    return {
        "by": asked.choice("by", (POPULAR, SPECIAL)),
        "like": asked.text("like") or "",
        "without": asked.texts("without"),
        "has_pairs": opened.source.published.table("pairs") is not None,
        "choices": choices(opened.source.view.contexts.values(), asked.pairs("context")),
    }


RECOMMEND = View(
    "recommend",
    "Recommend",
    "What to recommend: popular or special in contexts, or used together with an item.",
    _recommend_page,
    (shared.CONTEXT, _BY, _WITHOUT, _LIKE, shared.RAW, shared.how_many(20)),
    lambda opened, asked: _recommended(opened, asked, 10),
    (shared.how_many(), shared.CONTEXT, _BY, _WITHOUT, _LIKE, shared.RAW),
    schema_of(Recommendation, many=True),
    None,
    has_items,
    form=_recommend_form,
)

_FIRST = 10


def _overview(opened: Opened, asked: Asked) -> dict[str, Any]:
    published, ready = opened.source.published, opened.is_ready
    facts = opened.facts if ready else None
    listed = None
    if has_items(opened) and (facts is None or facts.top is not None):
        listed = overview_list(opened, asked, _FIRST)
    return {
        "odds": odds_words(published.guarantee.epsilon),
        "delta": show(published.guarantee.delta),
        "who": "user" if published.guarantee.unit == "user" else "person",
        "report": facts,
        "whole": None if facts is None else facts.whole,
        "listed": listed,
        "notes": [] if facts is None or facts.top is None else facts.top.notes,
        "spreads": [] if facts is None else [
            spread_figure(one, facts.counted, number).numbers[0]
            for number, one in enumerate(facts.distributions)
        ],
        "sizes": [(value(one.name, 40), grouped(one.length)) for one in published.domain.lists],
        "counted": published.counted,
    }  # fmt: skip


OVERVIEW = View("", "Overview", "", _overview, early=True)


REPORT = View("report", "Privacy report", "", lambda opened, asked: {"facts": opened.facts})


def _downloads(opened: Opened, asked: Asked) -> dict[str, Any]:
    published = opened.source.published
    rows, links = [], []
    for name in published.files:
        path = published.folder / name
        rows.append((name, grouped(path.stat().st_size) if path.is_file() else "missing"))
        links.append(f"files/{name}")
    return {"table": Shown("Files of the release", ("File", "Bytes"), rows, links=links)}


DOWNLOADS = View("downloads", "Downloads", "", _downloads, early=True)

VIEWS: tuple[View, ...] = (OVERVIEW, TOP, SEARCH, RECOMMEND, MAP, SUM, ITEM, REPORT, DOWNLOADS)
