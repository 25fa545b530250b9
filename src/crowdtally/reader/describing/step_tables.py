"""What the tables of ``auto`` and of top items hold, in words."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from crowdtally.core.layout import (
    BINS,
    CONTEXTS,
    CROWD,
    HEAD,
    HEAD_ROWS,
    HEAD_ROWS_AGAIN,
    HEADS,
    PILOT,
    SIZES,
    SPLIT_HEAD,
    TASTES,
    TASTES_AGAIN,
    ZOOM,
)
from crowdtally.format import Published
from crowdtally.format.manifest import TableFacts
from crowdtally.laws.gaussian import GaussianNoise
from crowdtally.reader.describing.words import listed, number, several


def step_table(published: Published, table: TableFacts) -> str | None:
    """What the rows of a table are; None for a table that is no step's."""
    words = _WORDS.get(table.name)
    return None if words is None else words(published, table)


def _sizes(published: Published, table: TableFacts) -> str:
    what = "different items" if published.counted == "users" else "records"
    return (
        f"how many users have how many {what}: 1, 2 to 3, 4 to 7 and so on, in "
        f"{several(table.cells, 'bin')}, the last one open"
    )


def _pilot(published: Published, table: TableFacts) -> str:
    return f"a first, rough look at {several(table.cells, 'item')}, from rows scaled to a sum of 1"


def _crowd(published: Published, table: TableFacts) -> str:
    return f"users of {several(table.cells, 'item')} that very many have, by the table 'pilot'"


def _zoom(published: Published, table: TableFacts) -> str:
    return (
        f"{several(table.cells, 'item')} with much of the estimated total, measured once more in "
        "rows of their own"
    )


def _bins(published: Published, table: TableFacts) -> str:
    return (
        f"totals of {several(table.cells, 'group')} of items of about equal weight, the most "
        "popular items first"
    )


def _head(published: Published, table: TableFacts) -> str:
    how = "selected privately" if published.auto is None else "chosen by their estimates"
    return f"users of {several(table.cells, 'item')}, {how}"


def _heads(published: Published, table: TableFacts) -> str:
    each = table.cells // _combinations(published)
    return f"users of {several(each, 'item')} in each of {_contexts(published)}, selected privately"


def _split_head(published: Published, table: TableFacts) -> str:
    items = table.cells // _combinations(published)
    return (
        f"users of {several(items, 'item')}, chosen by their estimates, in each of "
        f"{_contexts(published)}"
    )


def _totals(published: Published, table: TableFacts) -> str:
    return f"the total of each of {_contexts(published)}, from rows scaled down"


def _tastes(published: Published, table: TableFacts) -> str:
    features = table.cells // _combinations(published) - 1  # the last row counts users
    return (
        f"how far users of each of {_contexts(published)} like {several(features, 'feature')} of "
        "the items more or less than all users do"
    )


def _head_rows(published: Published, table: TableFacts) -> str:
    items = table.cells // _combinations(published)
    return (
        f"{several(items, 'item')}, chosen by their estimates, in each of {_contexts(published)}, "
        "from rows scaled to a sum of 1 within them"
    )


def _again(published: Published, table: TableFacts) -> str:
    if table.law.kind == GaussianNoise.kind:
        return (
            f"the mean of {table.kind.refines!r} and of a second look at its cells: both tables "
            "together cost the ρ of this one"
        )
    return (
        f"the cells of {table.kind.refines!r} with half of its noise, which was refined and not "
        "drawn anew: both tables together cost the ε of this one"
    )


def _combinations(published: Published) -> int:
    return prod(one.length for one in published.domain.contexts)


def _contexts(published: Published) -> str:
    names = listed([repr(one.name) for one in published.domain.contexts])
    several_lists = "combinations" if len(published.domain.contexts) > 1 else "values"
    return f"{number(_combinations(published))} {several_lists} of {names}"


_WORDS: dict[str, Callable[[Published, TableFacts], str]] = {
    SIZES.name: _sizes,
    PILOT.name: _pilot,
    CROWD.name: _crowd,
    ZOOM.name: _zoom,
    BINS.name: _bins,
    HEAD.name: _head,
    HEADS.name: _heads,
    SPLIT_HEAD.name: _split_head,
    CONTEXTS.name: _totals,
    TASTES.name: _tastes,
    TASTES_AGAIN.name: _again,
    HEAD_ROWS.name: _head_rows,
    HEAD_ROWS_AGAIN.name: _again,
}
