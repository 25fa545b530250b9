"""The person's own page in a real browser: the whole way, and what others' pages try with it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from crowdtally.person import store as storing
from crowdtally.person.page.actions import Choice
from kit.browsing import DESK, PHONE, Browser
from kit.pages import PATIENCE
from kit.person import PageServed, content, desk_in, page_of

SCRIPT = "<script>alert(1)</script>"
HOSTILE = {
    SCRIPT: ["<img src=x onerror=alert(1)>", "plain"],
    "\"'><b>bold</b>": ["a&lt;b", "x" * 3000],
    "{{ 7 * 7 }}{% raw %}": ["\u202eright to left", "plain"],
    "y" * 3000: ["x" * 2999 + "y", "javascript:alert(1)"],
    "http://evil.example/": ["</svg></td></table>", "a b", "plain"],
}
"""Names that would like to run, to leave their place or to push others aside."""


@pytest.fixture
def served(tmp_path: Path) -> Iterator[PageServed]:
    with page_of(desk_in(tmp_path, start=Choice(""))) as page:
        yield page


@pytest.mark.parametrize("scripts", [pytest.param(True, marks=pytest.mark.long), False])
def test_the_whole_way(browser: Browser, served: PageServed, scripts: bool) -> None:
    with browser.looking(served.url, scripts=scripts) as seen:
        page = seen.page
        assert page.locator("text=Draw once").count() == 0, "nothing is chosen yet"
        page.fill("#epsilon", "1")
        page.click("text=Show what that means")
        assert page.locator("td", has_text="With noise").count() == 0
        page.click("text=Choose for single categories")
        page.select_option("#level-4", "no")
        page.fill("#other-0", "0.25")
        page.click("text=Use these levels")
        assert page.url == f"{served.url}?epsilon=1&levels=0.25:0;no:4"
        assert served.charges() == []
        page.click("text=Draw once: costs epsilon 1")
        assert page.url == f"{served.url}?epsilon=1&levels=0.25:0;no:4&draw=1#draw"
        drawn = page.locator("table").inner_text()
        assert "With noise (draw 1)" in " ".join(drawn.split())
        page.reload()
        page.go_back()
        page.go_forward()
        assert page.locator("table").inner_text() == drawn
        assert served.charges() == ["published"], "neither reload nor back draws"
        page.fill("#name", "mine.csv")
        page.click("text=Release: write this file")
        page.reload()
        assert "mine.csv is written" in page.locator("[role=status]").inner_text()
        assert [path.name for path in served.desk.folder.iterdir()] == ["mine.csv"]
        page.click("text=Draw again…")
        assert "breaks the protection" in page.locator("main").inner_text()
        page.click("text=No, keep what is there")
        assert served.charges() == ["published"]
        page.click("text=Draw again…")
        page.click("text=Draw again: costs epsilon 1 more")
        assert page.locator("h2#draw, #draw h2").inner_text() == "Draw 2"
        page.click("nav[aria-label=Pages] >> text=So far")
        assert page.locator("tbody tr").count() == 2
        assert (seen.outside, seen.alarms) == ([], [])


def test_by_keyboard_alone(browser: Browser, served: PageServed) -> None:
    with browser.looking(served.url) as seen:
        page = seen.page

        def reach(what: str) -> None:
            for _ in range(60):
                page.keyboard.press("Tab")
                if page.evaluate("s => document.activeElement.matches(s)", what):
                    width = "getComputedStyle(document.activeElement).outlineWidth"
                    assert page.evaluate(width) != "0px", "where one is can be seen"
                    return
            raise AssertionError(f"{what} is not reached")

        reach("#epsilon")
        page.keyboard.type("2")
        page.keyboard.press("Enter")
        page.wait_for_url("**epsilon=2**")
        reach("form[action=draw] button")
        page.keyboard.press("Enter")
        page.wait_for_url("**draw=1**")
        reach("summary")
        page.keyboard.press("Enter")
        reach("#name")
        page.keyboard.press("Enter")
        page.wait_for_url("**file=**")
        assert [path.name for path in served.desk.folder.iterdir()] == ["perturbed.csv"]


def test_two_clicks_make_one_draw(
    browser: Browser, served: PageServed, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn, may = storing.perturb, threading.Event()

    def slow(*given: Any, **named: Any) -> Any:
        may.wait(0.7)
        return drawn(*given, **named)

    monkeypatch.setattr(storing, "perturb", slow)
    with browser.looking(f"{served.url}?epsilon=1&levels=") as seen:
        seen.page.locator("text=Draw once").dblclick(no_wait_after=True)
        end = time.monotonic() + PATIENCE
        while "draw=1" not in seen.page.url:  # the second click ends the first one's navigation
            assert time.monotonic() < end
            seen.page.wait_for_timeout(50)
        assert served.charges() == ["published"]


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PageServed]:
    """With two draws, and with names that would like to run."""
    folder = tmp_path_factory.mktemp("hostile")
    own = (SCRIPT, "{{ 7 * 7 }}{% raw %}", "y" * 3000)
    with page_of(desk_in(folder, films=HOSTILE, own=own)) as page:
        page.draw(Choice("3"))
        page.draw(Choice("3"), seen=1)
        yield page


QUICK = ("?epsilon=3&levels=&draw=2", "levels?epsilon=1&levels=1/3:1", "/")
LATER = (
    "", "?epsilon=1&levels=0.5:0-2;no:3", "?epsilon=&levels=", "?epsilon=1&levels=all:0",
    "again?epsilon=3&levels=", "so-far", "nowhere",
)  # fmt: skip
PAGES = (*QUICK, *LATER)


@pytest.mark.parametrize(
    "name", [*QUICK, *(pytest.param(one, marks=pytest.mark.long) for one in LATER)]
)
def test_it_fits_and_axe_finds_nothing(browser: Browser, hostile: PageServed, name: str) -> None:
    address = f"http://127.0.0.1:{hostile.port}/" if name == "/" else f"{hostile.url}{name}"
    dark = PAGES.index(name) % 2 == 1
    with browser.looking(address, width=PHONE, dark=dark) as seen:
        seen.page.eval_on_selector_all("details", "all => all.forEach(one => one.open = true)")
        assert not seen.is_scrolled_sideways
        assert seen.cut_labels == []
        assert seen.faults() == []
        assert seen.page.locator("img, iframe, object, script, b, i").count() == 0
        refused = [one for one in seen.alarms if "Failed to load resource" not in one]
        assert (seen.outside, refused) == ([], [])


def test_hostile_names_stay_text(browser: Browser, hostile: PageServed) -> None:
    with browser.looking(f"{hostile.url}?epsilon=3&levels=", width=DESK) as seen:
        text = seen.page.locator("main").inner_text()
        assert "<img src=x onerror=alert(1)>" in text
        assert "'\\u202eright to left'" in text
        assert "a&lt;b" in text
        assert seen.page.locator("tbody th").count() == len(hostile.desk.catalogue.categories)
        assert seen.page.locator("svg text").count() > 4
        assert max(map(len, text.split())) < 200, "long names are cut"
        assert (seen.outside, seen.alarms) == ([], [])


@contextmanager
def elsewhere(html: Callable[[str], str]) -> Iterator[str]:
    """A server of somebody else, on another port; its page knows its own address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = html(f"http://{self.headers['host']}").encode()
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *given: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


FORM = """<meta name=referrer content={policy}>
<form id=f method=post action="{target}draw"><input name=epsilon value=1><input name=levels></form>
<script>document.getElementById("f").submit()</script>"""


def test_a_forged_form_draws_nothing_even_with_the_secret(
    browser: Browser, served: PageServed
) -> None:
    for policy, names in (
        ("no-referrer", ["127.0.0.1", "localhost"]),
        ("unsafe-url", ["127.0.0.1"]),
    ):
        forged = FORM.format(policy=policy, target=served.url)
        with elsewhere(lambda _, html=forged: html) as evil, browser.roaming() as page:
            for name in names:
                with page.expect_response(lambda got: got.url.endswith("/draw")) as got:
                    page.goto(evil.replace("127.0.0.1", name))
                assert got.value.status == 403, (policy, name)
                page.wait_for_load_state()
                assert "comes from elsewhere" in page.content()
    assert not served.desk.store.home.path.exists()


SCRIPTS = {
    "a form by fetch, blind": """fetch(`${T}draw`, {method: 'POST', mode: 'no-cors',
        body: new URLSearchParams({epsilon: 1, levels: ''})}).then(r => r.type)""",
    "a form by fetch": """fetch(`${T}draw`, {method: 'POST', credentials: 'include',
        body: new URLSearchParams({epsilon: 1, levels: ''})}).then(r => r.text())""",
    "a beacon": """navigator.sendBeacon(`${T}draw`,
        new URLSearchParams({epsilon: 1, levels: ''}))""",
    "a page by fetch": "fetch(T).then(r => r.text())",
    "a page by fetch, blind": "fetch(T, {mode: 'no-cors'}).then(r => r.text())",
    "a draw by an image": """new Promise(r => {const i = new Image();
        i.onload = () => r('loaded'); i.onerror = () => r(''); i.src = `${T}draw?epsilon=1`})""",
    "the icon by an image": """new Promise(r => {const i = new Image();
        i.onload = () => r('loaded'); i.onerror = () => r(''); i.src = `${T}static/icon.svg`})""",
    "a page in a frame": """new Promise(r => {const f = document.createElement('iframe');
        f.onload = () => { try { r(f.contentDocument.body.innerText) } catch { r('') } };
        f.src = T; document.body.append(f)})""",
    "a page in a window": """(async () => {const w = open(T); await new Promise(r =>
        setTimeout(r, 400)); try { return w.document.body.innerText } catch { return '' }})()""",
}


def test_others_scripts_neither_do_nor_read_anything(browser: Browser, served: PageServed) -> None:
    with elsewhere(lambda _: "<body>hello") as evil, browser.roaming() as page:
        page.goto(evil)
        for name, script in SCRIPTS.items():
            got = page.evaluate(f"async T => {{ try {{ return await {script} }} catch (e) "
                                "{ return e.message }}", served.url)  # fmt: skip
            assert str(got) in ("", "opaque", "True", "Failed to fetch"), f"{name}: {got}"
        page.wait_for_timeout(300)
    assert not served.desk.store.home.path.exists()


def test_a_name_that_was_bound_anew_is_refused(browser: Browser, served: PageServed) -> None:
    """DNS rebinding: evil.example has the address 127.0.0.1 now, and its page knows the secret."""
    address = served.url.replace("127.0.0.1", "evil.example")
    with browser.roaming(evil__example="127.0.0.1") as page:
        got = page.goto(address)
        assert got.status == 421
        assert "comedy" not in page.content()
        # Before it was bound anew, the name was that of a server with a page of its own.
        page.route("**/before", lambda route: route.fulfill(body="<p>", content_type="text/html"))
        page.goto(f"{address}before")
        read = "fetch(location.href.replace('before', '')).then(r => r.text())"
        assert "another host" in page.evaluate(read)
        sent = "fetch('draw', {method: 'POST', body: new URLSearchParams({epsilon: 1})})"
        assert page.evaluate(f"{sent}.then(r => r.status)") == 421
    assert not served.desk.store.home.path.exists()


def test_addresses_without_the_secret_tell_nothing(browser: Browser, served: PageServed) -> None:
    before = content(served.desk.folder.parent)
    with browser.roaming() as page:
        for path in ("", "draw", "static/style.css", f"{'x' * 43}/"):
            got = page.goto(f"http://127.0.0.1:{served.port}/{path}")
            assert got.status == 404
            assert "comedy" not in page.content()
    assert content(served.desk.folder.parent) == before
