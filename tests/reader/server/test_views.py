"""Every view of every kind of release answers, or says what to do; nothing in it runs."""

from __future__ import annotations

import re
from html import unescape
from html.parser import HTMLParser
from urllib.parse import urljoin, urlsplit

import pytest

import crowdtally as ct
from crowdtally.reader.server.views import VIEWS
from crowdtally.web.gate import HEADERS
from kit.pages import ITEMS, KINDS, LABELS, Served

QUERIES = ("", "q=a", "raw=yes", "page=2", "sort=list", "sort=count", "by=special", "k=3")
SUFFIXES = ("", ".json", ".csv", ".parquet", ".svg", ".xlsx", ".json.csv", ".")
DEAD_ENDS = {
    "top": {"sum"},
    "top-in-contexts": {"top", "recommend", "map", "sum"},
    "haar-items": {"top", "recommend"},
    "sketch-wide": {"map", "sum"},
    "discovered-none": {"sum"},
    "found-cells": {"map"},
}
"""Pages of a menu that a release cannot answer as they are: they say why."""


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.tags: list[str] = []
        self.handlers: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            if name in ("href", "src", "action") and value:
                self.found.append(value)
            if name.startswith("on") or (value or "").lower().startswith("javascript:"):
                self.handlers.append(f"{name}={value}")


def parsed(text: str) -> _Links:
    parser = _Links()
    parser.feed(text)
    parser.close()
    return parser


@pytest.mark.parametrize("kind", KINDS)
def test_every_view_answers_or_says_what_to_do(kind: str, server: Served) -> None:
    for view in VIEWS:
        for suffix in SUFFIXES:
            for query in QUERIES[: {"": 8, ".json": 4}.get(suffix, 1)]:
                asked = f"/r/{kind}/{view.name}{suffix}{'?' if query else ''}{query}"
                answer = server.ask(asked)
                assert answer.status in (200, 400, 404), asked
                if answer.status != 200:
                    words = answer.json["detail"] if suffix == ".json" else answer.text
                    assert len(words) > 20, asked
                    assert "Traceback" not in words
                    assert "unforeseen" not in words
                assert HEADERS.items() - answer.headers.items() <= {
                    ("content-security-policy", HEADERS["content-security-policy"])
                }


@pytest.mark.parametrize("kind", KINDS)
def test_the_menu_leads_to_pages_that_stand(kind: str, server: Served) -> None:
    menu = re.search(r'<nav class="menu".*?</nav>', server.ask(f"/r/{kind}/").text, re.DOTALL)
    assert menu is not None
    links = parsed(menu[0]).found
    assert "report" in links
    for link in links:
        answer = server.ask(urljoin(f"/r/{kind}/", link))
        if link in DEAD_ENDS.get(kind, ()) or link == "/compare":
            assert answer.status in (200, 400)
            assert '<nav class="menu"' in answer.text, "one can go on from there"
        else:
            assert answer.status == 200, (kind, link)


@pytest.mark.parametrize("kind", ["auto", "labels", "attributes", "hostile"])
def test_links_lead_somewhere_here(kind: str, server: Served) -> None:
    seen, left = set[str](), [f"/r/{kind}/"]
    while left and len(seen) < 50:
        path = left.pop(0)
        seen.add(path)
        answer = server.ask(path)
        assert answer.status in (200, 414) or path.startswith("/compare"), path[:200]
        if answer.status == 414:
            assert len(path) > 8000, "a label of 100,000 letters is no address"
            continue
        if not answer.headers["content-type"].startswith("text/html"):
            continue
        for link in parsed(answer.text).found:
            target = urlsplit(urljoin(path, link))
            assert (target.scheme, target.netloc) == ("", ""), link
            there = f"{target.path}?{target.query}" if target.query else target.path
            other = target.path.startswith("/r/") and not target.path.startswith(f"/r/{kind}/")
            if there not in seen and there not in left and not other:
                left.append(there)


def test_hostile_labels_are_text_everywhere(server: Served) -> None:
    for path in ("", "top", "search?q=o", "map", "sum", "recommend", "report", "downloads",
                 "item?item=%3Cscript%3Ealert(1)%3C/script%3E", "top?sort=list"):  # fmt: skip
        answer = server.ask(f"/r/hostile/{path}")
        assert answer.status == 200, path
        page = parsed(answer.text)
        assert page.handlers == []
        assert not {"iframe", "object", "style", "i", "b"} & set(page.tags), path
        assert page.tags.count("script") == (0 if path == "report" else 1), path
        shown = re.sub(r"<[^>]*>", "", answer.text)
        assert "\u202e" not in shown
        assert "\x1b" not in shown
        assert "49" not in re.findall(r"<bdi>([^<]*)</bdi>", answer.text), "a template ran"


def test_hostile_labels_of_pictures_run_nothing(server: Served) -> None:
    for path in ("top.svg", "map.svg", "item.svg?item=%3Cscript%3Ealert(1)%3C/script%3E"):
        answer = server.ask(f"/r/hostile/{path}")
        assert (answer.status, answer.headers["content-type"]) == (200, "image/svg+xml")
        assert "sandbox" in answer.headers["content-security-policy"]
        assert "script-src" not in answer.headers["content-security-policy"]
        page = parsed(answer.text)
        assert not {"script", "img", "image", "foreignobject"} & set(page.tags)
        assert page.handlers == []


def test_every_item_has_a_page(server: Served, releases: dict[str, ct.Release]) -> None:
    for kind in ("auto", "labels", "sra-integers-and-context", "discovered", "hostile"):
        axis = next(iter(releases[kind].source().view.by_name.values()))
        for item in axis.axis.values[:40].tolist():
            answer = server.ask(f"/r/{kind}/item", item=item)
            if len(str(item)) > 8000:
                assert answer.status == 414
            else:
                assert answer.status == 200, (kind, item)


def test_labels_name_items(server: Served) -> None:
    for path in ("", "top", "search?q=zoo", "map", "item?item=zoo", "recommend"):
        assert f"{LABELS['zoo']} (zoo)" in unescape(server.ask(f"/r/labels/{path}").text)
    assert "public catalogue" in server.ask("/r/labels/").text


def test_a_number_is_written_as_its_reader_does(server: Served) -> None:
    def first(language: str) -> str:
        text = server.ask("/r/by-user/top", headers={"Accept-Language": language}).text
        return unescape(re.findall(r"</th><td>1</td><td>([^<]+)</td>", text)[0])

    german, english = first("de"), first("en-US")
    assert german.replace(".", "") == english.replace(",", "")
    assert re.fullmatch(r"\d{1,3}(\.\d{3})+", german)
    garbage = {"Accept-Language": "../../x;q=nan,\xff"}
    assert server.ask("/r/by-user/top", headers=garbage).status == 200


def test_head_is_get_without_the_page(server: Served) -> None:
    for path in ("/r/auto/", "/r/auto/top.json", "/r/auto/top.svg", "/r/auto/files/release.json",
                 "/static/style.css", "/openapi.json", "/r/nobody/"):  # fmt: skip
        one, other = server.ask(path), server.ask(path, "HEAD")
        assert (one.status, other.body) == (other.status, b"")
        assert other.headers["content-length"] == one.headers["content-length"]


def test_the_first_page_lists_all_and_no_other(server: Served) -> None:
    text = server.ask("/").text
    for kind in KINDS:
        assert f'href="/r/{kind}/"' in text
    assert [one["name"] for one in server.ask("/releases.json").json] == list(KINDS)
    assert str(server) not in text
    assert "/corpus/" not in text, "no path of the machine is told"


def test_items_that_stand_twice_in_addresses(server: Served) -> None:
    assert len(ITEMS) == len(set(ITEMS))
    answer = server.ask("/r/hostile/item?item=zoo&item=zoo")
    assert answer.status == 400
    assert "2 times" in answer.text
