"""The pages of a site, parsed: what they link to, the parts they have, and what would run."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

RUNS = ("application/json", "application/ld+json")
"""Types of scripts that are data."""


@dataclass
class Page:
    """One page."""

    path: Path
    links: list[str] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    data: dict[str, str] = field(default_factory=dict)
    """Content of elements that hold data, by their type."""
    running: list[str] = field(default_factory=list)
    """Scripts that run."""
    tags: list[str] = field(default_factory=list)
    attributes: set[str] = field(default_factory=set)
    text: str = ""
    """What is read, without style and scripts."""


class _Parser(HTMLParser):
    def __init__(self, page: Page) -> None:
        super().__init__()
        self._page = page
        self._inside = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self._page.tags.append(tag)
        self._page.attributes |= set(found)
        if tag in ("script", "style"):
            self._inside = found.get("type") or tag
            if self._inside == "script":
                self._page.running.append("")
        self._page.ids += [one] if (one := found.get("id")) else []
        self._page.links += [one for name in ("href", "src") if (one := found.get(name))]

    def handle_endtag(self, tag: str) -> None:
        if tag in ("script", "style"):
            self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside in RUNS:
            self._page.data[self._inside] = self._page.data.get(self._inside, "") + data
        elif self._inside == "script":
            self._page.running[-1] += data
        elif not self._inside:
            self._page.text += data


def parsed(path: Path) -> Page:
    """The page in a file."""
    page = Page(path)
    parser = _Parser(page)
    parser.feed(path.read_text("utf-8"))
    parser.close()
    return page


def pages_of(site: Path) -> dict[str, Page]:
    """Every page of a site by its name."""
    return {one.name: parsed(one) for one in sorted(site.glob("*.html"))}


def broken_links(site: Path) -> list[str]:
    """Links that lead nowhere, or out of the site."""
    pages = pages_of(site)
    found = []
    for name, page in pages.items():
        for link in page.links:
            file, _, part = link.partition("#")
            target = (site / (file or name)).resolve()
            inside = target.is_file() and target.is_relative_to(site.resolve())
            known = not part or (target.name in pages and part in pages[target.name].ids)
            if ":" in link or not inside or not known:
                found.append(f"{name}: {link}")
    return found


def reached(site: Path, first: str = "index.html") -> set[str]:
    """The files that somebody finds who follows links from the first page."""
    pages, found, left = pages_of(site), {first}, [first]
    while left:
        page = pages.get(left.pop())
        links = {link.partition("#")[0] for link in page.links} if page else set()
        left += sorted(links - found - {""})
        found |= links - {""}
    return found
