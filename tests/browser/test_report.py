"""A report and a site in a real browser: by keyboard, on a telephone, dark, on paper."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from kit.browsing import DESK, PHONE, Browser
from kit.pages import CONTEXT, ITEMS, SCRIPT, hostile, pages_of

# ---- The report in a real browser: as text, on a telephone, in the dark, on paper, and by
#      axe-core


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


# ---- A site in a real browser, opened from the disk: searched, by keyboard, on a telephone,
#      dark


PAGES = ("index", "top", "contexts", "context-1-1", "search", "downloads", "metadata")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a few contexts, whose names and values are hostile, as are items."""
    folder = tmp_path_factory.mktemp("site")
    with pytest.MonkeyPatch.context() as fewer:
        fewer.setattr("crowdtally.reader.site.site.MOST_PAGES", 3)
        return hostile(folder).export(site=folder / "site")


@pytest.mark.parametrize("name", PAGES)
def test_it_fits_and_axe_finds_nothing_site(browser: Browser, site: Path, name: str) -> None:
    dark = PAGES.index(name) % 2 == 1
    with browser.looking(site / f"{name}.html", width=PHONE, dark=dark) as seen:
        if name == "search":
            seen.page.fill("#query", "o")
        seen.page.eval_on_selector_all("details", "all => all.forEach(one => one.open = true)")
        assert not seen.is_scrolled_sideways
        assert seen.cut_labels == []
        assert seen.faults() == []
        assert (seen.outside, seen.alarms) == ([], [])
        assert seen.page.locator("img, link, iframe, object, i, b").count() == 0


def test_the_search_finds_items_and_pages(browser: Browser, site: Path) -> None:
    with browser.looking(site / "search.html", width=DESK, dark=True) as seen:
        page = seen.page
        assert page.locator("#found").is_hidden()
        page.fill("#query", "ALERT(1) scrípt")
        assert page.locator("#status").inner_text() == "1 item found."
        (row,) = page.locator("#found tbody tr").all()
        assert row.locator("th").inner_text() == SCRIPT
        assert row.locator("td").first.inner_text() == "80"
        assert page.locator("main script").count() == 2, "a label adds none"
        page.fill("#query", "hour clock")
        assert page.locator("#pages a").all_inner_texts() == [f"{CONTEXT} = 0 o'clock <b>"]
        page.locator("#pages a").click()
        assert page.locator("h1").inner_text() == f"Where {CONTEXT} = 0 o'clock <b>"
        page.go_back()
        page.fill("#query", "nowhere to be found")
        assert page.locator("#status").inner_text() == "Nothing found."
        assert page.locator("#found, #pages").filter(visible=True).count() == 0
        page.fill("#query", "")
        assert page.locator("#status").inner_text() == ""
        assert (seen.outside, seen.alarms) == ([], [])
        colour = "getComputedStyle(document.body).backgroundColor"
        assert page.evaluate(colour) == "rgb(22, 24, 27)"


def test_another_script_would_not_run(browser: Browser, site: Path, tmp_path: Path) -> None:
    text = (site / "search.html").read_text("utf-8")
    page = tmp_path / "search.html"
    page.write_text(text.replace("</main>", "<script>document.title = 'run'</script></main>"))
    with browser.looking(page) as seen:
        assert seen.page.title() == "Search"
        assert "Content Security Policy" in "".join(seen.alarms)


def test_without_scripts_all_but_the_search_works(browser: Browser, site: Path) -> None:
    with browser.looking(site / "search.html", scripts=False) as seen:
        assert seen.page.locator("#query").is_hidden()
        assert "The search needs JavaScript" in seen.page.locator("main").inner_text()
        seen.page.get_by_role("link", name="Top list").click()
        assert seen.page.locator("h1").inner_text() == "Top list"


def test_by_keyboard_alone(browser: Browser, site: Path) -> None:
    focused = "document.activeElement.textContent.trim()"
    with browser.looking(site / "index.html") as seen:
        page = seen.page
        page.keyboard.press("Tab")
        assert page.evaluate(focused) == "Skip to the content"
        for _ in range(4):
            page.keyboard.press("Tab")
        assert page.evaluate(focused) == "Search"
        shown = "getComputedStyle(document.activeElement).outlineStyle"
        assert page.evaluate(shown) == "solid"
        page.keyboard.press("Enter")
        page.wait_for_url("**/search.html")
        while page.evaluate("document.activeElement.id") != "query":
            page.keyboard.press("Tab")
        page.keyboard.type("clock")
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        page.wait_for_url("**/context-1-1.html")


def test_every_page_opens_and_nothing_leaves_the_site(browser: Browser, site: Path) -> None:
    names = pages_of(site)
    with browser.looking(site / "index.html") as seen:
        for name in names:
            answered = seen.page.goto((site / name).resolve().as_uri())
            assert answered is not None
            for link in seen.page.eval_on_selector_all("a", "all => all.map(one => one.href)"):
                assert link.startswith(site.resolve().as_uri()), link
        assert (seen.outside, seen.alarms) == ([], [])


def test_paper_has_no_menu_and_cuts_nothing(browser: Browser, site: Path) -> None:
    with browser.looking(site / "context-1-1.html", width=673) as seen:
        seen.page.emulate_media(media="print")
        assert seen.page.locator("nav").filter(visible=True).count() == 0
        assert not seen.is_scrolled_sideways
        assert seen.page.pdf(prefer_css_page_size=True).startswith(b"%PDF-")
