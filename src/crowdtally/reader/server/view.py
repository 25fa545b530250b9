"""What a view is, tables with links, and the comparison of two releases."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from urllib.parse import urlencode

from crowdtally.errors import UsageError
from crowdtally.reader.answers.answer import AnswerTable
from crowdtally.reader.answers.columns import schema_of
from crowdtally.reader.changes.changes import OF, Change, ChangeList
from crowdtally.reader.changes.changes import changes as compare
from crowdtally.reader.questions.top_list import TopList
from crowdtally.reader.report.charts import top_numbers
from crowdtally.reader.server.parameters import Asked, Parameter, choices, texts, where_words
from crowdtally.reader.server.releases import Opened, Shelf
from crowdtally.web.charts import Chart
from crowdtally.web.pages import Shown, between, grouped, value

PAGE = 50
MOST_ROWS = 1000
"""Rows that one question may ask for, and that pages of a ranking reach."""

CONTEXT = texts(
    "context",
    "NAME=VALUE: in this context. Several values of one context count together; a context that is "
    "not named is summed over.",
)
RAW = Parameter(
    "raw",
    "yes: noisy counts alone decide, without estimates.",
    {"type": "string", "enum": ["no", "yes"]},
)


def how_many(default: int = 10) -> Parameter:
    schema = {"type": "integer", "minimum": 1, "maximum": MOST_ROWS, "default": default}
    return Parameter("k", "How many rows.", schema)


@dataclass(frozen=True)
class View:
    """One kind of page about a release."""

    name: str
    """In its address, and of its template."""
    title: str
    words: str
    """What it tells, for programs that ask."""
    page: Callable[[Opened, Asked], dict[str, Any]]
    parameters: tuple[Parameter, ...] = ()
    answer: Callable[[Opened, Asked], AnswerTable] | None = None
    """The answer for programs: JSON, CSV and Parquet."""
    asks: tuple[Parameter, ...] = ()
    schema: Mapping[str, Any] | None = None
    picture: Callable[[Opened, Asked], Chart | None] | None = None
    """The chart of a page; None where there is nothing to draw."""
    is_there: Callable[[Opened], bool] = lambda opened: True
    form: Callable[[Opened, Asked], dict[str, Any]] | None = None
    """Facts of its form, which stays where a question is refused."""
    early: bool = False
    """Whether it has something to show before there are estimates."""


def has_items(opened: Opened) -> bool:
    return opened.source.has_items


@dataclass(frozen=True)
class Paging:
    number: int
    before: str
    """The address of the one before; empty where there is none."""
    after: str
    """The address of the next one; empty where there is none."""


def paging(asked: Asked, number: int, more: bool) -> Paging:
    before = f"?{asked.query(page=None if number == 2 else number - 1)}" if number > 1 else ""
    return Paging(number, before, f"?{asked.query(page=number + 1)}" if more else "")


def item_links(items: Sequence[object]) -> list[str]:
    return [f"item?{urlencode({'item': str(one)})}" for one in items]


def ranked_from(first: int, found: TopList) -> TopList:
    """The list with ranks in its own order, after the ``first`` ones."""
    rows = (replace(row, rank=first + number) for number, row in enumerate(found.rows, 1))
    return replace(found, rows=tuple(rows))


def item_table(opened: Opened, found: TopList, where: str) -> Shown:
    """A list of items with all that is known of each, each leading to its own page."""
    links = item_links([row.item for row in found.rows])
    shown = top_numbers(found, opened.source.name)
    return replace(shown, caption=f"Items {where}".strip(), links=links)


# Two releases side by side: their lists, and what changed.

EARLIER = Parameter("earlier", "The name of the earlier release.", {"type": "string"})
LATER = Parameter("later", "The name of the later release.", {"type": "string"})
_OF = Parameter(
    "of", "Compare counts, or shares of the totals.", {"type": "string", "enum": list(OF)}
)
_FDR = Parameter(
    "fdr", "The false discovery rate: the share of the list that may be wrong on average.",
    {"type": "string"},
)  # fmt: skip
ASKS = (EARLIER, LATER, CONTEXT, _OF, _FDR, how_many(50))
SCHEMA = schema_of(Change, many=True)
_SIDE = 20


@dataclass(frozen=True)
class Two:
    earlier: Opened
    later: Opened

    @classmethod
    def of(cls, shelf: Shelf, asked: Asked) -> Two:
        """Those that are named; by themselves the first two that are served."""
        opened = list(shelf)
        if len(opened) < 2:
            raise UsageError(
                "one release is served, and two are compared: start with both, `crowdtally serve "
                "EARLIER LATER`."
            )
        names = [asked.text("earlier", opened[0].name), asked.text("later", opened[1].name)]
        found = cls(*(shelf[str(name)] for name in names))
        for one in (found.earlier, found.later):
            one.look()
            one.wait()
        return found


def changes(shelf: Shelf, asked: Asked) -> ChangeList:
    two, k = Two.of(shelf, asked), asked.whole("k", 50, most=MOST_ROWS)
    of, fdr = asked.choice("of", OF), asked.text("fdr", "0.05") or "0.05"
    contexts = asked.pairs("context")
    key = ("changes", two.earlier.name, of, fdr, k, repr(contexts))
    before, after = two.earlier.release, two.later.release
    make = partial(compare, before, after, fdr=fdr, of=of, k=k, context=contexts)
    return two.later.kept.get(key, make)


def page(shelf: Shelf, asked: Asked) -> dict[str, Any]:
    two, contexts = Two.of(shelf, asked), asked.pairs("context")
    found, why = None, ""
    try:
        found = changes(shelf, asked)
    except UsageError as error:  # the lists can still be looked at side by side
        why = str(error)
    return {
        "two": two,
        "of": asked.choice("of", OF),
        "fdr": asked.text("fdr", "0.05"),
        "where": where_words(contexts),
        "choices": choices(two.later.source.view.contexts.values(), contexts),
        "why": why,
        "table": _change_table(two, found) if found is not None and found.rows else None,
        "tested": "" if found is None else grouped(found.tested),
        "discovered": "" if found is None else grouped(found.discovered),
        "sides": _sides(two, contexts),
        "notes": [] if found is None else found.notes,
    }


def _change_table(two: Two, found: ChangeList) -> Shown:
    name = two.later.source.name
    unit = "percentage points" if found.of == "shares" else found.counted
    rows = [
        (value(name(row.item)), row.direction, grouped(row.earlier), grouped(row.later),
         grouped(row.change), between(row.change_low, row.change_high))
        for row in found.rows
    ]  # fmt: skip
    heads = ("Item", "Direction", "Earlier, estimate", "Later, estimate", f"Change ({unit})",
             "Interval of the change")  # fmt: skip
    return Shown("What changed, the surest first", heads, rows, words=(0, 1))


def _sides(two: Two, contexts: dict[str, list[str]]) -> Shown | None:
    """The later list beside the ranks and estimates of the earlier one."""
    before, after = (one.source.popular(_SIDE, contexts) for one in (two.earlier, two.later))
    if before is None or after is None:
        return None
    earlier = {row.item: row for row in before.rows}
    items = [row.item for row in after.rows]
    items += [row.item for row in before.rows if row.item not in set(items)]
    later = {row.item: row for row in after.rows}

    def cells(row: Any) -> tuple[str, str, str]:
        if row is None:
            return f"below {_SIDE}", "", ""
        return (grouped(row.rank), grouped(row.estimate),
                between(row.estimate_low, row.estimate_high))  # fmt: skip

    rows = [
        (value(two.later.source.name(one)), *cells(earlier.get(one)), *cells(later.get(one)))
        for one in items
    ]
    heads = ("Item", "Earlier: rank", "Estimate", "95% interval", "Later: rank", "Estimate",
             "95% interval")  # fmt: skip
    return Shown(f"The {_SIDE} largest items of each", heads, rows)
