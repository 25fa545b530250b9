"""Each page of a site, from its template."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from crowdtally.reader.asking.recommended import Recommendations
from crowdtally.reader.asking.special import NOTHING
from crowdtally.reader.asking.top_list import TopList
from crowdtally.reader.pages.source import Context
from crowdtally.reader.pages.tables import further, special_numbers, top_picture
from crowdtally.reader.report.answers import TOP as FIRST
from crowdtally.reader.report.charts import spread_figure
from crowdtally.reader.report.page import pairs_table
from crowdtally.reader.site.downloads import Download
from crowdtally.reader.site.index import MOST_INDEXED, index_of
from crowdtally.reader.site.places import Group, Place
from crowdtally.reader.site.site import (
    CONTEXTS,
    DOWNLOADS,
    LISTS,
    METADATA,
    OVERVIEW,
    SEARCH,
    TOP,
    Site,
)
from crowdtally.reader.site.tables import download_table, group_links, group_table, place_words
from crowdtally.web.pages import grouped, moment, value

FEW = 31
"""Links to pages of one context that stand on the overview."""
LISTED, SPECIAL = 300, 20
"""Items of a page, and of a list of what is special."""


@dataclass(frozen=True)
class Lists:
    """The lists of one page."""

    first: TopList | None
    """The largest items, with the chance that each is one of them."""
    listed: TopList | None
    """The same, and more items without such a chance."""
    special: Recommendations | None = None
    """What is special there."""

    @classmethod
    def of(cls, site: Site, context: Context) -> Lists:
        """Overall, or in a context."""
        ask = site.source
        first = ask.popular(FIRST, context, chances=True) if context else site.first
        listed = ask.popular(LISTED, context)
        if first is not None and listed is not None:
            rows = first.rows + listed.rows[len(first.rows) :]
            listed = replace(listed, rows=rows, k=first.k)
        return cls(first, listed, ask.special(SPECIAL, context) if context else None)


def _page(site: Site, template: str, file: str, title: str, **facts: Any) -> str:
    return site.render(template, site=site, facts=site.facts, file=file, title=title, **facts)


def overview_page(site: Site, linked: Mapping[str, Any]) -> str:
    """What the release is about, its largest items, and where to find more."""
    top = None if site.facts.top is None else top_picture(site.facts.top, site.source.name, "")
    spreads = [] if top is not None else _spreads(site)
    return _page(
        site, "overview.html", OVERVIEW, site.title, linked=linked, top=top, spreads=spreads,
        groups=[group_links(group, FEW) for group in site.groups],
    )  # fmt: skip


def top_page(site: Site, lists: Lists) -> str:
    """The largest items of all, and pairs."""
    pairs = pairs_table(site.facts, site.source.name)
    return _page(
        site, "list.html", TOP, "Top list", where="", beside=(None, None), whole=site.facts.whole,
        pairs=pairs, number="", **_shown(site, lists, ""), download=f"{LISTS}/top.csv",
    )  # fmt: skip


def context_page(site: Site, group: Group, place: Place, lists: Lists) -> str:
    """What is popular and what is special in one value of a context."""
    where, number = place_words(place), group.places.index(place) + 1
    many = len(group.places) + group.left_out
    beside = [None if one is None else (one.file, place_words(one)) for one in group.beside(place)]
    return _page(
        site, "list.html", place.file, f"Where {where}", where=where, beside=beside,
        number=f"Number {grouped(number)} of {grouped(many)} in the order of the list.",
        whole=site.source.whole(place.context), pairs=None, **_shown(site, lists, where),
        download=f"{LISTS}/{place.name}.csv",
    )  # fmt: skip


def _shown(site: Site, lists: Lists, where: str) -> dict[str, Any]:
    name, first, listed, special = site.source.name, lists.first, lists.listed, lists.special
    notes = [] if first is None else first.notes
    told = [] if special is None else _untold(special.notes, notes)
    return {
        "top": None if first is None else top_picture(first, name, where),
        "more": None if listed is None else further(listed, FIRST, name, where),
        "notes": notes,
        "left_out": _left_out(listed),
        "special": None if special is None else special_numbers(special, name, where),
        "special_notes": told,
        "knows_special": special is not None,
    }


def _untold(notes: Sequence[str], told: Sequence[str]) -> list[str]:
    """Those of the notes that do not stand on the page already.

    >>> _untold(["Nothing is special there. It is so.", "New."], ["It is so."])
    ['New.']
    """
    said = " ".join(told)
    return [one for one in notes if one.removeprefix(f"{NOTHING} ") not in said]


def _left_out(listed: TopList | None) -> str:
    """What a page does not show."""
    if listed is None or listed.ranked <= len(listed.rows):
        return ""
    return (
        f"{grouped(listed.ranked)} items are ranked, and the first {grouped(len(listed.rows))} "
        "are shown."
    )


def contexts_page(site: Site) -> str:
    """Every page of a context, with how many there are in it."""
    tables = [
        group_table(group, [site.source.whole(place.context) for place in group.places])
        for group in site.groups
    ]
    title = dict(site.menu)[CONTEXTS]
    return _page(site, "contexts.html", CONTEXTS, title, spreads=_spreads(site), tables=tables)


def _spreads(site: Site) -> list[Any]:
    return [
        spread_figure(one, site.facts.counted, number)
        for number, one in enumerate(site.facts.distributions)
    ]


def search_page(site: Site) -> str:
    """A field, and what it searches."""
    index = index_of(site)
    known = _known(site, len(index.items))
    return _page(site, "search.html", SEARCH, "Search", index=index, known=known)


def _known(site: Site, items: int) -> str:
    """What the search knows, and what it does not."""
    size = site.facts.lists[0].values if site.of_items else 0
    if not items:
        return "The search knows the values that have a place on these pages."
    if items < size and items == MOST_INDEXED:
        return (
            f"The search knows the {grouped(items)} largest of {grouped(size)} items. The tables "
            "among the downloads have what was released of the others."
        )
    if items < size:
        return f"The search knows the {grouped(items)} lines of the lists."
    return f"The search knows all {grouped(size)} items."


def downloads_page(site: Site, files: Sequence[Download]) -> str:
    """The files of the release, and lists as CSV."""
    return _page(site, "downloads.html", DOWNLOADS, "Downloads", table=download_table(files))


def metadata_page(site: Site, linked: Mapping[str, Any], files: Sequence[Download]) -> str:
    """What programs need to know about the release."""
    about = [one for one in files if one.is_metadata]
    return _page(
        site, "metadata.html", METADATA, "Metadata", linked=linked, said=_said(site),
        table=download_table(about),
    )  # fmt: skip


def _said(site: Site) -> list[tuple[str, str]]:
    """Facts by name."""
    facts, published = site.facts, site.source.published
    lists = [f"{value(one.name, 40)} ({grouped(one.values)} values)" for one in facts.lists]
    return [
        ("Release", value(facts.id)),
        ("Dataset", value(facts.dataset or "not named")),
        ("Begun", moment(facts.created)),
        ("Layout", value(published.schema)),
        ("ε", value(facts.epsilon)),
        ("δ", value(facts.delta)),
        ("Protects", value(facts.unit)),
        ("Neighbours", value(facts.neighbours, 400)),
        ("Counted", value(facts.counted)),
        ("Lists", ", ".join(lists)),
        ("Combinations of their values", grouped(facts.domain_cells)),
    ]
