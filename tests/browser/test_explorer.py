"""The explorer in a real browser: searched, switched, sorted, compared, by keyboard, everywhere."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, urlsplit

import pyarrow.parquet as pq
import pytest

import crowdtally as ct
from kit.browsing import DESK, PHONE, Browser, Looked
from kit.pages import CONTEXT, SCRIPT, Served, hostile, of_kind, serving
from kit.stored import stored

QUICK = (
    f"/r/out/top?context={quote(CONTEXT)}%3D1", "/r/out/map", "/r/out/sum",
    f"/r/out/item?item={quote(SCRIPT)}", "/",
    "/compare?earlier=sra-one-context&later=sra-record-id&fdr=0.9",
)  # fmt: skip
MORE = (
    "/r/out/", "/r/out/top", "/r/out/top?sort=list", "/r/out/search?q=o", "/r/out/recommend",
    "/r/out/report", "/r/out/downloads", "/compare?earlier=out&later=auto", "/r/attributes/",
    "/r/attributes/map", "/r/top-in-contexts/top", "/r/nobody/",
    "/r/auto/recommend?by=special&context=day%3DMon",
)  # fmt: skip
PAGES = [*QUICK, *(pytest.param(one, marks=pytest.mark.long) for one in MORE)]
"""Of hostile labels, and of other kinds; of each a few are looked at in every run."""
REFUSED = re.compile(r"Failed to load resource.* 4\d\d|Response Status Error Code 4\d\d")
FOCUSED = "(document.activeElement.textContent || document.activeElement.name || '').trim()"
OUTLINE = "getComputedStyle(document.activeElement).outlineStyle"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("served")
    releases = [hostile(folder)]
    releases += [of_kind(folder, kind) for kind in ("auto", "attributes", "top-in-contexts")]
    releases += [ct.load(stored(one)) for one in ("sra-one-context", "sra-record-id")]
    with serving(releases) as found:
        yield found.until_ready()


def _at(server: Served, path: str) -> str:
    return f"{server.url.rstrip('/')}{path}"


def _calm(seen: Looked) -> None:
    """Nothing came from elsewhere, and nobody complained: neither a script nor the policy."""
    alarms = [one for one in seen.alarms if not REFUSED.search(one)]
    assert (seen.outside, alarms) == ([], [])


def _rows(page: Any) -> list[str]:
    found: list[str] = page.locator("#view tbody th").all_inner_texts()
    return found


def _query(page: Any) -> list[tuple[str, str]]:
    return parse_qsl(urlsplit(page.url).query)


@pytest.mark.parametrize("path", PAGES)
def test_it_fits_and_axe_finds_nothing(browser: Browser, server: Served, path: str) -> None:
    with browser.looking(_at(server, path), width=PHONE) as seen:
        seen.page.eval_on_selector_all("details", "all => all.forEach(one => one.open = true)")
        assert not seen.is_scrolled_sideways
        assert seen.cut_labels == []
        assert seen.faults() == []
        seen.page.emulate_media(color_scheme="dark")
        assert seen.faults() == []
        seen.page.set_viewport_size({"width": DESK, "height": 900})
        assert not seen.is_scrolled_sideways
        assert seen.page.locator("i, b, iframe, object, style").count() == 0
        assert seen.page.locator("script").count() <= 1
        assert seen.page.title()
        _calm(seen)


def test_pictures_of_hostile_labels_are_drawn_whole(browser: Browser, server: Served) -> None:
    with browser.looking(_at(server, "/r/out/top.svg")) as seen:
        assert seen.page.locator("script, image, foreignObject").count() == 0
        assert seen.cut_labels == []
        assert "<script>alert" in seen.page.locator("svg").text_content()
        _calm(seen)
    with browser.looking(_at(server, "/r/out/top")) as seen:
        drawn = "all => all.every(one => one.complete && one.naturalWidth > 0)"
        assert seen.page.eval_on_selector_all("img", drawn)
        assert seen.page.locator("img").count() == 1


def test_the_search_finds_while_one_types(browser: Browser, server: Served) -> None:
    with browser.looking(_at(server, "/r/out/")) as seen:
        page = seen.page
        page.get_by_label("Search items").fill("zoo")
        page.keyboard.press("Enter")
        page.wait_for_url("**/search?q=zoo")
        assert _rows(page) == ["zoo"]
        page.fill("#q", "")
        page.locator("#q").press_sequentially("ALERT(1) scr")
        page.wait_for_url("**/search?q=ALERT*")
        page.wait_for_function("document.querySelectorAll('#view tbody tr').length == 1")
        assert _rows(page) == [SCRIPT]
        assert page.evaluate("document.activeElement.id") == "q", "one can go on typing"
        page.fill("#q", "nowhere to be found")
        page.get_by_text("No item has").wait_for()
        page.fill("#q", "clock")
        page.get_by_role("link", name=f"{CONTEXT} = 0 o'clock <b>").click()
        page.wait_for_url("**/top?context=*")
        assert page.locator("h2").first.inner_text() == f"Where {CONTEXT} = 0 o'clock <b>"
        _calm(seen)


def test_ticks_change_the_list_and_the_address(browser: Browser, server: Served) -> None:
    with browser.looking(_at(server, "/r/sra-one-context/top")) as seen:
        page = seen.page
        page.evaluate("window.stayed = true")
        everywhere = page.locator("#view").inner_text()
        page.get_by_label("Fri", exact=True).check()
        page.get_by_role("heading", name="Where day = Fri").wait_for()
        assert ("context", "day=Fri") in _query(page)
        page.get_by_label("Sun", exact=True).check()
        page.get_by_role(
            "heading", name=re.compile("Where day = (Fri or Sun|Sun or Fri)")
        ).wait_for()
        assert {one[1] for one in _query(page) if one[0] == "context"} == {"day=Fri", "day=Sun"}
        assert page.evaluate("window.stayed") is True, "the page was not loaded anew"
        shown = page.locator("#view").inner_text()
        page.goto(page.url)
        assert page.locator("#view").inner_text() == shown, "an address can be shared"
        assert page.get_by_label("Sun", exact=True).is_checked()
        page.evaluate("history.back()")
        page.get_by_role("heading", name="Where day = Fri", exact=True).wait_for()
        ticked = page.get_by_label("Fri", exact=True), page.get_by_label("Sun", exact=True)
        assert [one.is_checked() for one in ticked] == [True, False], "the form goes back too"
        page.wait_for_load_state("load")  # the script that follows the way back is there
        page.evaluate("history.back()")
        page.get_by_role("heading", name="Overall").wait_for()
        assert [one.is_checked() for one in ticked] == [False, False]
        assert page.locator("#view").inner_text() == everywhere
        _calm(seen)


def test_the_order_can_be_changed(browser: Browser, server: Served) -> None:
    release = ct.load(stored("sra-one-context"))
    with browser.looking(_at(server, "/r/sra-one-context/top")) as seen:
        page = seen.page
        assert _rows(page) == [str(row.item) for row in release.top(50).rows]
        page.get_by_label("Order").select_option("count")
        page.wait_for_url("**sort=count*")
        raw = [str(row.item) for row in release.top(50, raw=True).rows]
        page.wait_for_function(
            "wanted => document.querySelector('#view tbody th').innerText == wanted", arg=raw[0]
        )
        assert _rows(page) == raw
        page.get_by_label("Order").select_option("list")
        page.wait_for_url("**sort=list*")
        listed = release.table("items").fetchall()
        page.get_by_role("cell", name="1", exact=True).first.wait_for()
        assert _rows(page) == [str(row[0]) for row in listed][:50]
        _calm(seen)


def test_what_is_shown_can_be_saved(browser: Browser, server: Served, tmp_path: Path) -> None:
    path = "/r/sra-one-context/top?context=day%3DFri"
    wanted = ct.load(stored("sra-one-context")).top(50, day="Fri")
    with browser.looking(_at(server, path)) as seen:
        files = {}
        for name in ("CSV", "JSON", "Parquet", "SVG"):
            with seen.page.expect_download() as saved:
                seen.page.get_by_role("link", name=name, exact=True).click()
            files[name] = tmp_path / saved.value.suggested_filename
            saved.value.save_as(files[name])
        assert json.loads(files["JSON"].read_text("utf-8")) == wanted.to_dicts()
        assert pq.read_table(files["Parquet"]).to_pylist() == wanted.to_dicts()
        rows = list(csv.reader(io.StringIO(files["CSV"].read_text("utf-8-sig"))))
        assert len(rows) == 1 + len(wanted.rows)
        assert files["SVG"].read_text("utf-8").startswith("<svg ")
        seen.page.get_by_role("link", name="Downloads").click()
        with seen.page.expect_download() as saved:
            seen.page.get_by_role("link", name="items.parquet").click()
        saved.value.save_as(tmp_path / "items.parquet")
        released = (stored("sra-one-context") / "items.parquet").read_bytes()
        assert (tmp_path / "items.parquet").read_bytes() == released
        _calm(seen)


def test_two_releases_are_compared_and_others_chosen(browser: Browser, server: Served) -> None:
    with browser.looking(_at(server, "/compare")) as seen:
        page = seen.page
        page.get_by_label("Earlier").select_option("sra-one-context")
        page.wait_for_url("**earlier=sra-one-context*")
        page.get_by_label("Later").select_option("sra-record-id")
        page.wait_for_url("**later=sra-record-id*")
        page.get_by_label("Fri", exact=True).wait_for()
        assert page.get_by_label(CONTEXT).count() == 0, "the form is that of these two"
        page.get_by_label("may be wrong").fill("0.9")
        page.get_by_role("button", name="Compare").click()
        page.wait_for_url("**fdr=0.9*")
        found = ct.changes(stored("sra-one-context"), stored("sra-record-id"), fdr="0.9", k=50)
        page.get_by_text(f"{found.discovered} changed").wait_for()
        page.get_by_role("heading", name="Side by side").wait_for()
        assert [one for one in seen.alarms if not REFUSED.search(one)] == []


def test_a_cell_of_the_map_leads_to_its_sum(browser: Browser, server: Served) -> None:
    with browser.looking(_at(server, "/r/auto/map"), dark=True) as seen:
        page = seen.page
        cell = page.locator(".map tbody tr").first.locator("td").first
        words = cell.locator("a").get_attribute("title")
        item = page.locator(".map tbody th").first.inner_text()
        cell.click()
        page.wait_for_url("**/sum?*")
        assert ("value", f"item={item}") in _query(page)
        assert page.get_by_label("Tue", exact=True).is_checked()
        lead = page.locator(".lead").inner_text()
        assert words.split(" ")[0] in lead
        page.get_by_label("Mon", exact=True).check()
        page.wait_for_url("**day%3DMon*")
        page.wait_for_function(
            "before => document.querySelector('.lead').innerText != before", arg=lead
        )
        _calm(seen)


def test_a_range_upside_down_keeps_the_form(browser: Browser, server: Served) -> None:
    with browser.looking(_at(server, "/r/auto/sum"), scripts=False) as seen:
        page = seen.page
        page.get_by_text("Ranges, other values").click()
        day = page.get_by_role("group", name="A range of day")
        day.get_by_label("from").select_option("day=Sun")
        day.get_by_label("to").select_option("day=Tue")
        page.get_by_role("button", name="Add up").click()
        assert "order of the lists" in page.locator("#view").inner_text()
        day = page.get_by_role("group", name="A range of day")
        assert day.get_by_label("from").input_value() == "day=Sun"
        day.get_by_label("from").select_option("")
        page.get_by_role("button", name="Add up").click()
        assert page.locator(".lead").inner_text().startswith("About")


def test_by_keyboard_alone(browser: Browser, server: Served) -> None:
    with browser.looking(_at(server, "/r/sra-one-context/")) as seen:
        page = seen.page
        page.keyboard.press("Tab")
        assert page.evaluate(FOCUSED) == "Skip to the content"
        box = page.locator(".skip").bounding_box()
        assert box is not None
        assert box["x"] >= 0, "it is seen once it is reached"
        page.keyboard.press("Enter")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.id") == "q", "the menu was passed over"
        page.keyboard.press("Shift+Tab")
        for _ in range(20):
            if page.evaluate(FOCUSED) == "Top list":
                break
            page.keyboard.press("Shift+Tab")
            assert page.evaluate(OUTLINE) != "none"
        page.keyboard.press("Enter")
        page.wait_for_url("**/top")
        for _ in range(30):
            page.keyboard.press("Tab")
            assert page.evaluate(OUTLINE) != "none", page.evaluate(FOCUSED)
            if page.evaluate("document.activeElement.value") == "day=Fri":
                break
        page.keyboard.press("Space")
        page.get_by_role("heading", name="Where day = Fri").wait_for()
        assert page.evaluate("document.activeElement.value") == "day=Fri", "focus stays"
        for _ in range(30):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.id") == "sort":
                break
        page.keyboard.press("ArrowDown")
        page.wait_for_url("**sort=count*")
        for _ in range(30):
            page.keyboard.press("Tab")
            assert page.evaluate(OUTLINE) != "none", page.evaluate(FOCUSED)
            if page.evaluate("document.activeElement.closest('tbody') !== null"):
                break
        page.keyboard.press("Enter")
        page.wait_for_url("**/item?item=*")
        _calm(seen)


def test_without_scripts_all_of_it_works(browser: Browser, server: Served) -> None:
    with browser.looking(_at(server, "/r/sra-one-context/"), scripts=False) as seen:
        page = seen.page
        first = _rows(page)[0]
        page.get_by_label("Search items").fill(first)
        page.get_by_role("button", name="Search").click()
        assert first in _rows(page)
        page.get_by_role("link", name="Top list").click()
        page.get_by_label("Fri", exact=True).check()
        page.get_by_label("Order").select_option("count")
        page.get_by_role("button", name="Show").click()
        assert page.locator("h2").first.inner_text() == "Where day = Fri"
        assert dict(_query(page)) == {"context": "day=Fri", "sort": "count"}
        page.get_by_role("link", name="Recommend", exact=True).click()
        page.get_by_label("Show what is").select_option("special")
        page.get_by_role("button", name="Show").click()
        assert "by ticking it" in page.locator("#view").inner_text()
        page.get_by_role("link", name="Map", exact=True).click()
        page.locator(".map td a").first.click()
        assert page.locator(".lead").inner_text().startswith("About")
        page.get_by_role("link", name="What changed").click()
        page.get_by_label("Earlier").select_option("sra-one-context")
        page.get_by_label("Later").select_option("sra-record-id")
        page.get_by_role("button", name="Compare").click()
        assert "items were looked at" in page.locator("#view").inner_text()


def test_dark_is_dark_and_numbers_are_the_readers(browser: Browser, server: Served) -> None:
    colour = "getComputedStyle(document.body).backgroundColor"
    with browser.looking(
        _at(server, "/r/top-in-contexts/top"), dark=True, language="de-DE"
    ) as seen:
        page = seen.page
        assert page.evaluate(colour) == "rgb(22, 24, 27)"
        page.get_by_label("f", exact=True).check()
        page.get_by_role("heading", name="Where sex = f").wait_for()
        assert re.search(r"\d\.\d{3}", page.locator("#view tbody").inner_text())
        assert [one for one in seen.alarms if not REFUSED.search(one)] == []


def test_a_script_that_got_in_would_not_run(browser: Browser, server: Served) -> None:
    with browser.looking(_at(server, "/r/out/")) as seen:
        page = seen.page
        page.evaluate(
            """() => {
                const one = document.createElement('script');
                one.textContent = "document.title = 'run'";
                document.body.append(one);
                const other = document.createElement('div');
                other.innerHTML = '<img src="x" onerror="document.title = 1">';
                document.body.append(other);
            }"""
        )
        page.wait_for_timeout(200)
        assert page.title() not in ("run", "1")
        assert "Content Security Policy" in "".join(seen.alarms)


def test_paper_has_no_menu(browser: Browser, server: Served) -> None:
    with browser.looking(_at(server, "/r/sra-one-context/top"), width=673) as seen:
        seen.page.emulate_media(media="print")
        assert seen.page.locator("nav").filter(visible=True).count() == 0
        assert seen.page.pdf(prefer_css_page_size=True).startswith(b"%PDF-")
