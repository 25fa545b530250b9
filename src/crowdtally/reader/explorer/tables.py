"""Tables of the explorer: those of lists, with links to items and to other orders and pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from crowdtally.reader.asking.recommended import POPULAR, Recommendations
from crowdtally.reader.asking.top_list import TopList
from crowdtally.reader.explorer.asked import Asked
from crowdtally.reader.explorer.opened import Opened
from crowdtally.reader.pages.tables import special_numbers
from crowdtally.reader.report.charts import top_numbers
from crowdtally.web.pages import Shown, between, chance, grouped, value


@dataclass(frozen=True)
class Sorting:
    """How a list is ordered."""

    by: str
    """As it was asked for."""
    raw: bool
    """Whether noisy counts alone decide."""


@dataclass(frozen=True)
class Paging:
    """Where one is among the pages of a list."""

    number: int
    """Which page, from 1."""
    before: str
    """The address of the one before; empty where there is none."""
    after: str
    """The address of the next one; empty where there is none."""


def paging(asked: Asked, number: int, more: bool) -> Paging:
    """The pages beside one."""
    before = f"?{asked.query(page=None if number == 2 else number - 1)}" if number > 1 else ""
    return Paging(number, before, f"?{asked.query(page=number + 1)}" if more else "")


def item_links(items: Sequence[object]) -> list[str]:
    """The address of each item's own page."""
    return [f"item?{urlencode({'item': str(one)})}" for one in items]


def item_table(opened: Opened, found: TopList, where: str) -> Shown:
    """A list of items with all that is known of each, each leading to its own page."""
    links = item_links([row.item for row in found.rows])
    shown = top_numbers(found, opened.source.name)
    return replace(shown, caption=f"Items {where}".strip(), links=links)


def linked_special(opened: Opened, found: Recommendations) -> Shown | None:
    """Recommendations, each leading to its item; None where there are none."""
    name = opened.source.name
    if found.by != POPULAR:
        shown = special_numbers(found, name, found.where)
        special = [row.item for row in found.rows if row.lift is not None and row.lift > 1]
        return None if shown is None else replace(shown, links=item_links(special))
    rows = [
        (
            value(name(row.item)),
            grouped(row.rank),
            grouped(row.estimate),
            between(row.estimate_low, row.estimate_high),
            chance(row.chance_in_top),
            grouped(row.count),
        )
        for row in found.rows
    ]
    if not rows:
        return None
    heads = (
        "Item", "Rank", f"Estimate there ({found.counted})", "95% interval",
        f"Chance to be in the top {found.k}", "Noisy count there",
    )  # fmt: skip
    caption = f"What is popular {found.where}".strip()
    return Shown(caption, heads, rows, links=item_links([row.item for row in found.rows]))
