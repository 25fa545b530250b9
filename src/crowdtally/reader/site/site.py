"""What a site consists of, as far as all of its pages must know."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from crowdtally.reader.asking.top_list import TopList
from crowdtally.reader.pages.source import Source
from crowdtally.reader.report.facts import Facts
from crowdtally.reader.site.places import Group, groups
from crowdtally.web.pages import rendering, value

OVERVIEW, TOP, CONTEXTS, SEARCH = "index.html", "top.html", "contexts.html", "search.html"
REPORT, DOWNLOADS, METADATA = "report.html", "downloads.html", "metadata.html"
RELEASE, LISTS = "release", "lists"
"""Folders: a copy of the release, and lists as CSV."""


@dataclass(frozen=True, eq=False)
class Site:
    """A site, before it is written."""

    source: Source
    """The release."""
    facts: Facts
    """What its report says."""
    groups: tuple[Group, ...]
    """The pages of contexts."""

    @classmethod
    def of(cls, source: Source) -> Site:
        """The site of a release."""
        return cls(source, source.facts(), groups(source))

    @cached_property
    def render(self) -> Callable[..., str]:
        """Makes a page of a template and its facts."""
        return rendering("crowdtally.reader.site", "crowdtally.reader.pages")

    @property
    def title(self) -> str:
        """What it is called."""
        of = self.facts.dataset
        return "Released counts" if of is None else f"Released counts of {value(of, 60)}"

    @property
    def first(self) -> TopList | None:
        """The largest items of all, with their labels; None where there is no such list."""
        found, labels = self.facts.top, self.source.labels
        return found if found is None or labels is None else found.with_labels(labels)

    @property
    def has_contexts(self) -> bool:
        """Whether there is a page of contexts, or attributes."""
        return bool(self.groups or self.facts.distributions)

    @property
    def has_lists(self) -> bool:
        """Whether items can be ranked, overall or in contexts."""
        return bool(self.groups) or self.facts.top is not None

    @property
    def has_names(self) -> bool:
        """Whether there is something to search."""
        return self.has_lists or bool(self.facts.distributions)

    @property
    def of_items(self) -> bool:
        """Whether items are counted; else people by their attributes."""
        return self.source.published.domain.has_items

    @property
    def menu(self) -> list[tuple[str, str]]:
        """Address and words of each page that all others lead to."""
        return list(self._menu())

    def _menu(self) -> Iterator[tuple[str, str]]:
        yield OVERVIEW, "Overview"
        if self.facts.top is not None:
            yield TOP, "Top list"
        if self.has_contexts:
            yield CONTEXTS, "By context" if self.of_items else "By attribute"
        if self.has_names:
            yield SEARCH, "Search"
        yield REPORT, "Privacy report"
        yield DOWNLOADS, "Downloads"
        yield METADATA, "Metadata"
