"""A site is written page by page, into a folder that gets its name at the end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from crowdtally.reader.answers.answer import AnswerTable
from crowdtally.reader.pages.source import Source
from crowdtally.reader.report.page import page as report_page
from crowdtally.reader.site import pages
from crowdtally.reader.site.downloads import (
    Download,
    copy_release,
    linked_data,
    listed,
    released,
)
from crowdtally.reader.site.folder import new_folder
from crowdtally.reader.site.site import (
    CONTEXTS,
    DOWNLOADS,
    LISTS,
    METADATA,
    OVERVIEW,
    RELEASE,
    REPORT,
    SEARCH,
    TOP,
    Site,
)
from crowdtally.reader.site.tables import place_words
from crowdtally.web.extras import needs


def write_site(source: Source, target: Path) -> Path:
    """Write the site of a release to a new folder, whole or not at all."""
    needs("jinja2", "a site", "report")
    needs("vl_convert", "a site", "report")
    with new_folder(target) as folder:
        _Writing(Site.of(source), folder).run()
    return target


@dataclass(eq=False)
class _Writing:
    """A site on its way to its folder."""

    site: Site
    folder: Path
    files: list[Download] = field(default_factory=list)

    def run(self) -> None:
        site, published = self.site, self.site.source.published
        copy_release(published, self.folder / RELEASE)
        self.files += released(published, self.folder, RELEASE)
        if site.has_lists:
            (self.folder / LISTS).mkdir()
        self._write("report.json", f"{site.facts.to_json()}\n")
        self.files.append(listed(self.folder, "report.json", "The facts of the privacy report."))
        linked = linked_data(published, RELEASE)
        self._write(OVERVIEW, pages.overview_page(site, linked))
        if site.facts.top is not None:
            lists = pages.Lists.of(site, {})
            self._list(f"{LISTS}/top.csv", lists.listed, "The top list")
            self._write(TOP, pages.top_page(site, lists))
        for name, text in self._contexts():
            self._write(name, text)
        if site.has_names:
            self._write(SEARCH, pages.search_page(site))
        self._write(REPORT, report_page(site.facts, home=OVERVIEW))
        self._write(METADATA, pages.metadata_page(site, linked, self.files))
        self._write(DOWNLOADS, pages.downloads_page(site, self.files))

    def _contexts(self) -> Iterator[tuple[str, str]]:
        site = self.site
        if site.has_contexts:
            yield CONTEXTS, pages.contexts_page(site)
        for group in site.groups:
            for place in group.places:
                lists, where = pages.Lists.of(site, place.context), place_words(place)
                path = f"{LISTS}/{place.name}"
                self._list(f"{path}.csv", lists.listed, f"What is popular where {where}")
                self._list(f"{path}-special.csv", lists.special, f"What is special where {where}")
                yield place.file, pages.context_page(site, group, place, lists)

    def _list(self, path: str, found: AnswerTable | None, words: str) -> None:
        if found is not None:
            self._write(path, found.to_csv())
            self.files.append(listed(self.folder, path, f"{words}, as CSV."))

    def _write(self, name: str, text: str) -> None:
        (self.folder / name).write_bytes(text.encode())
