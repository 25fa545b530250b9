"""The pages of a site, and how they are written to a folder."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

from crowdtally.errors import needs
from crowdtally.reader.answers.answer import AnswerTable
from crowdtally.reader.page_parts import Context, Source, further, special_numbers, top_picture
from crowdtally.reader.questions.recommendations import Recommendations
from crowdtally.reader.questions.special import NOTHING
from crowdtally.reader.questions.sum import Sum
from crowdtally.reader.questions.top_list import TopItem, TopList
from crowdtally.reader.report.answers import TOP as FIRST
from crowdtally.reader.report.charts import spread_figure
from crowdtally.reader.report.page import page as report_page
from crowdtally.reader.report.page import pairs_table
from crowdtally.reader.site import site as parts
from crowdtally.reader.site.site import Download, Group, Place, Site
from crowdtally.web.pages import NO_NUMBER, Shown, between, grouped, moment, value


def place_words(place: Place) -> str:
    return ", ".join(f"{value(name, 40)} = {value(at, 40)}" for name, at in place.context.items())


def group_table(group: Group, sums: Sequence[Sum | None]) -> Shown:
    counted = next((one.counted for one in sums if one is not None), "counts")
    noisy = any(one is not None and one.value is not None for one in sums)
    columns, asked = 3 if noisy else 2, zip(group.places, sums, strict=True)
    rows = [(_values(place), *_sum(one)[:columns]) for place, one in asked]
    of = _name(group)
    said = [
        f"{grouped(group.left_out)} further values have no page here; `crowdtally top` knows them."
    ] * bool(group.left_out)
    said += dict.fromkeys(one.estimate_words for one in sums if one is not None and one.assumes)
    heads = (of, f"Estimate ({counted})", "95% interval", *["Noisy sum"] * noisy)
    links = [place.file for place in group.places]
    return Shown(f"The values of {of}", heads, rows, note=" ".join(said), links=links)


@dataclass(frozen=True)
class Links:
    name: str
    links: Sequence[tuple[str, str]]
    more: bool


def group_links(group: Group, most: int) -> Links:
    links = [(place.file, _values(place)) for place in group.places[:most]]
    return Links(_name(group), links, len(group.places) > most)


def _name(group: Group) -> str:
    return " and ".join(value(one, 40) for one in group.contexts)


def _values(place: Place) -> str:
    return ", ".join(value(at) for at in place.context.values())


def _sum(found: Sum | None) -> tuple[str, str, str]:
    if found is None:
        return (NO_NUMBER,) * 3
    within = between(found.estimate_low, found.estimate_high)
    return grouped(found.estimate), within, grouped(found.value)


def download_table(files: Sequence[Download]) -> Shown:
    rows = [(one.path, one.words, grouped(one.size)) for one in files]
    links = [one.path for one in files]
    return Shown("Files", ("File", "What it holds", "Bytes"), rows, words=(0, 1), links=links)


MOST_INDEXED = 10_000
SHORT = 100
"""Items of each list, where the release has lists in contexts alone."""
LONGEST = 80


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

    def to_dict(self) -> dict[str, Any]:
        return {"words": self.words, "items": self.items, "pages": self.pages}


def index_of(site: Site) -> Index:
    """The index, bounded: the largest items."""
    source = site.source
    categories = source.labels is not None and source.labels.categories is not None
    overall = source.popular(MOST_INDEXED, {})
    rows: Iterable[tuple[TopItem, str]]
    if overall is None:  # the lists of all pages
        rows = (one for group in site.groups for one in _of_group(site, group))
    else:
        rows = ((row, "") for row in overall.rows)
    numbers = [f"Estimate ({site.facts.counted})", "95% interval", "Noisy count", "Rank"]
    words = [*["Category"] * categories, *["Where"] * (overall is None)]
    places = [0, *(len(numbers) + place for place in range(1, len(words) + 1))]

    def entry(row: TopItem, where: str) -> list[str]:
        category = [value(row.category or "", LONGEST)] * categories
        within = between(row.estimate_low, row.estimate_high)
        shown = grouped(row.estimate), within, grouped(row.count), grouped(row.rank)
        name = value(source.name(row.item), LONGEST)
        return [name, *shown, *category, *[where] * (overall is None)]

    items = [entry(row, where) for row, where in islice(rows, MOST_INDEXED)]
    return Index(["Item", *numbers, *words], places, items, list(_pages(site)))


def _of_group(site: Site, group: Group) -> Iterator[tuple[TopItem, str]]:
    for place in group.places:
        listed: TopList | None = site.source.popular(SHORT, place.context)
        for row in () if listed is None else listed.rows:
            yield row, place_words(place)


def _pages(site: Site) -> Iterator[tuple[str, str]]:
    for group in site.groups:
        for place in group.places:
            yield place_words(place), place.file
    if not site.groups:  # the values stand together on one page
        for spread in site.facts.distributions:
            for one in spread.values:
                yield f"{value(spread.name, 40)} = {value(one.value, 40)}", parts.CONTEXTS


FEW = 31
"""Links to pages of one context that stand on the overview."""
LISTED, SPECIAL = 300, 20
"""Items of a page, and of a list of what is special."""


@dataclass(frozen=True)
class Lists:
    first: TopList | None
    """The largest items, with the chance that each is one of them."""
    listed: TopList | None
    """The same, and more items without such a chance."""
    special: Recommendations | None = None

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
        site, "overview.html", parts.OVERVIEW, site.title, linked=linked, top=top, spreads=spreads,
        groups=[group_links(group, FEW) for group in site.groups],
    )  # fmt: skip


def top_page(site: Site, lists: Lists) -> str:
    pairs = pairs_table(site.facts, site.source.name)
    return _page(
        site, "list.html", parts.TOP, "Top list", where="", beside=(None, None), number="",
        whole=site.facts.whole, pairs=pairs, **_shown(site, lists, ""),
        download=f"{parts.LISTS}/top.csv",
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
        download=f"{parts.LISTS}/{place.name}.csv",
    )  # fmt: skip


def _shown(site: Site, lists: Lists, where: str) -> dict[str, Any]:
    name, first, listed, special = site.source.name, lists.first, lists.listed, lists.special
    notes = [] if first is None else first.notes
    return {
        "top": None if first is None else top_picture(first, name, where),
        "more": None if listed is None else further(listed, FIRST, name, where),
        "notes": notes,
        "left_out": _left_out(listed),
        "special": None if special is None else special_numbers(special, name, where),
        "special_notes": [] if special is None else _untold(special.notes, notes),
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
    if listed is None or listed.ranked <= len(listed.rows):
        return ""
    return (
        f"{grouped(listed.ranked)} items are ranked, and the first {grouped(len(listed.rows))} "
        "are shown."
    )


def contexts_page(site: Site) -> str:
    tables = [
        group_table(group, [site.source.whole(place.context) for place in group.places])
        for group in site.groups
    ]
    title, spreads = dict(site.menu)[parts.CONTEXTS], _spreads(site)
    return _page(site, "contexts.html", parts.CONTEXTS, title, spreads=spreads, tables=tables)


def _spreads(site: Site) -> list[Any]:
    return [
        spread_figure(one, site.facts.counted, number)
        for number, one in enumerate(site.facts.distributions)
    ]


def search_page(site: Site) -> str:
    index = index_of(site)
    known = _known(site, len(index.items))
    return _page(site, "search.html", parts.SEARCH, "Search", index=index, known=known)


def _known(site: Site, items: int) -> str:
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
    return _page(site, "downloads.html", parts.DOWNLOADS, "Downloads", table=download_table(files))


def metadata_page(site: Site, linked: Mapping[str, Any], files: Sequence[Download]) -> str:
    said, table = _said(site), download_table([one for one in files if one.is_metadata])
    return _page(
        site, "metadata.html", parts.METADATA, "Metadata", linked=linked, said=said, table=table
    )


def _said(site: Site) -> list[tuple[str, str]]:
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


def write_site(source: Source, target: Path) -> Path:
    """Write the site of a release to a new folder, whole or not at all."""
    needs("jinja2", "a site", "report")
    needs("vl_convert", "a site", "report")
    with parts.new_folder(target) as folder:
        _Writing(Site.of(source), folder).run()
    return target


@dataclass(eq=False)
class _Writing:
    site: Site
    folder: Path
    files: list[Download] = field(default_factory=list)

    def run(self) -> None:
        site, published = self.site, self.site.source.published
        parts.copy_release(published, self.folder / parts.RELEASE)
        self.files += parts.released(published, self.folder, parts.RELEASE)
        if site.has_lists:
            (self.folder / parts.LISTS).mkdir()
        self._write("report.json", f"{site.facts.to_json()}\n")
        self.files.append(
            parts.listed(self.folder, "report.json", "The facts of the privacy report.")
        )
        linked = parts.linked_data(published, parts.RELEASE)
        self._write(parts.OVERVIEW, overview_page(site, linked))
        if site.facts.top is not None:
            lists = Lists.of(site, {})
            self._list(f"{parts.LISTS}/top.csv", lists.listed, "The top list")
            self._write(parts.TOP, top_page(site, lists))
        for name, text in self._contexts():
            self._write(name, text)
        if site.has_names:
            self._write(parts.SEARCH, search_page(site))
        self._write(parts.REPORT, report_page(site.facts, home=parts.OVERVIEW))
        self._write(parts.METADATA, metadata_page(site, linked, self.files))
        self._write(parts.DOWNLOADS, downloads_page(site, self.files))

    def _contexts(self) -> Iterator[tuple[str, str]]:
        site = self.site
        if site.has_contexts:
            yield parts.CONTEXTS, contexts_page(site)
        for group in site.groups:
            for place in group.places:
                lists, where = Lists.of(site, place.context), place_words(place)
                path = f"{parts.LISTS}/{place.name}"
                self._list(f"{path}.csv", lists.listed, f"What is popular where {where}")
                self._list(f"{path}-special.csv", lists.special, f"What is special where {where}")
                yield place.file, context_page(site, group, place, lists)

    def _list(self, path: str, found: AnswerTable | None, words: str) -> None:
        if found is not None:
            self._write(path, found.to_csv())
            self.files.append(parts.listed(self.folder, path, f"{words}, as CSV."))

    def _write(self, name: str, text: str) -> None:
        (self.folder / name).write_bytes(text.encode())
