"""What the search page knows: names of items with their numbers, and names of pages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from crowdtally.reader.asking.top_list import TopItem, TopList
from crowdtally.reader.site.places import Group
from crowdtally.reader.site.site import CONTEXTS, Site
from crowdtally.reader.site.tables import place_words
from crowdtally.web.pages import between, grouped, value

MOST_INDEXED = 10_000
"""Items that the search knows."""
SHORT = 100
"""Items of each list, where the release has lists in contexts alone."""
LONGEST = 80
"""Letters of a name that are searched."""


@dataclass(frozen=True)
class Index:
    """What is searched, all of it text as it is shown."""

    heads: Sequence[str]
    """Of the columns of an item; the first is its name."""
    words: Sequence[int]
    """Places of the columns that are words, which are searched."""
    items: Sequence[Sequence[str]]
    """As many texts as heads for each item."""
    pages: Sequence[tuple[str, str]]
    """Name and address of each page."""

    def to_dict(self) -> dict[str, Any]:
        """For the script."""
        return {"words": self.words, "items": self.items, "pages": self.pages}


def index_of(site: Site) -> Index:
    """The index, bounded: the largest items."""
    source = site.source
    categories = source.labels is not None and source.labels.categories is not None
    overall = source.popular(MOST_INDEXED, {})
    rows = _in_contexts(site) if overall is None else ((row, "") for row in overall.rows)
    numbers = [f"Estimate ({site.facts.counted})", "95% interval", "Noisy count", "Rank"]
    words = [*["Category"] * categories, *["Where"] * (overall is None)]
    places = [0, *(len(numbers) + place for place in range(1, len(words) + 1))]

    def entry(row: TopItem, where: str) -> list[str]:
        category = [value(row.category or "", LONGEST)] * categories
        name = value(source.name(row.item), LONGEST)
        return [name, *_numbers(row), *category, *[where] * (overall is None)]

    items = [entry(row, where) for row, where in islice(rows, MOST_INDEXED)]
    return Index(["Item", *numbers, *words], places, items, list(_pages(site)))


def _in_contexts(site: Site) -> Iterator[tuple[TopItem, str]]:
    """The lists of all pages, where there is no other."""
    for group in site.groups:
        yield from _of_group(site, group)


def _of_group(site: Site, group: Group) -> Iterator[tuple[TopItem, str]]:
    for place in group.places:
        listed: TopList | None = site.source.popular(SHORT, place.context)
        for row in () if listed is None else listed.rows:
            yield row, place_words(place)


def _numbers(row: TopItem) -> tuple[str, str, str, str]:
    within = between(row.estimate_low, row.estimate_high)
    return grouped(row.estimate), within, grouped(row.count), grouped(row.rank)


def _pages(site: Site) -> Iterator[tuple[str, str]]:
    for group in site.groups:
        for place in group.places:
            yield place_words(place), place.file
    if not site.groups:  # the values stand together on one page
        for spread in site.facts.distributions:
            for one in spread.values:
                yield f"{value(spread.name, 40)} = {value(one.value, 40)}", CONTEXTS
