"""The report in a real browser: as text, on a telephone, in the dark, on paper, and by axe-core."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from kit.browsing import DESK, PHONE, Browser
from kit.hostile import CONTEXT, ITEMS, hostile


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    return hostile(folder).report(folder / "report.html")


@pytest.mark.parametrize(("width", "dark"), [(PHONE, False), (DESK, True)])
def test_it_fits_and_axe_finds_nothing(
    browser: Browser, page: Path, width: int, dark: bool
) -> None:
    with browser.looking(page, width=width, dark=dark) as seen:
        seen.page.eval_on_selector_all("details", "all => all.forEach(one => one.open = true)")
        assert not seen.is_scrolled_sideways
        assert seen.cut_labels == []
        assert seen.faults() == []


def test_hostile_labels_are_text_and_nothing_comes_from_outside(
    browser: Browser, page: Path
) -> None:
    with browser.looking(page) as seen:
        assert seen.outside == []
        assert seen.alarms == []
        assert seen.page.locator("script, img, link, iframe, object, i, b").count() == 0
        assert seen.page.locator("style").count() == 1
        text = seen.page.locator("body").inner_text()
        for item in ITEMS:
            if item.isprintable() and len(item) < 100:
                assert item in text
        assert "\u202e" not in text
        assert CONTEXT in text
        assert len(text) < 60_000, "a long label is cut"


def test_headings_are_in_order_and_links_lead_somewhere(browser: Browser, page: Path) -> None:
    with browser.looking(page) as seen:
        levels = seen.page.eval_on_selector_all(
            "h1, h2, h3, h4", "all => all.map(one => Number(one.tagName[1]))"
        )
        assert levels[0] == 1
        assert levels.count(1) == 1
        assert all(after <= before + 1 for before, after in pairwise(levels))
        broken = seen.page.eval_on_selector_all(
            "a[href]", "all => all.filter(a => !document.querySelector(a.getAttribute('href')))"
            ".length",
        )  # fmt: skip
        assert broken == 0
        ids = seen.page.eval_on_selector_all("[id]", "all => all.map(one => one.id)")
        assert len(ids) == len(set(ids))
        heads = (
            "all => all.every(t => t.caption && [...t.querySelectorAll('th')].every(h => h.scope))"
        )
        assert seen.page.eval_on_selector_all("table", heads)


def test_dark_is_dark_and_paper_is_light(browser: Browser, page: Path) -> None:
    shade = "getComputedStyle(document.body).backgroundColor"
    bar = "getComputedStyle(document.querySelector('#spread-0 path[fill]')).fill"
    with browser.looking(page) as light, browser.looking(page, dark=True) as dark:
        assert light.page.evaluate(shade) == "rgb(254, 254, 254)"
        assert dark.page.evaluate(shade) == "rgb(22, 24, 27)"
        assert light.page.evaluate(bar) != dark.page.evaluate(bar), "drawings follow the page"
        dark.page.emulate_media(media="print")
        assert dark.page.evaluate(shade) == "rgb(255, 255, 255)"


def test_paper_shows_all_and_cuts_nothing(browser: Browser, page: Path) -> None:
    with browser.looking(page, width=673) as seen:  # A4 without its margins, in pixels
        seen.page.emulate_media(media="print")
        assert not seen.is_scrolled_sideways
        assert seen.page.locator("nav").is_hidden()
        assert all(one.is_visible() for one in seen.page.locator("details table").all())
        wide = "all => all.filter(t => t.getBoundingClientRect().right > innerWidth + 1).length"
        assert seen.page.eval_on_selector_all("table, svg, pre", wide) == 0
        paper = seen.page.pdf(prefer_css_page_size=True)
    assert paper.startswith(b"%PDF-")
    assert 4 <= paper.count(b"/Type /Page\n") + paper.count(b"/Type /Page ") <= 15
