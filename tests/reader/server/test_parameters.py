"""What an address may ask: parameters, pages and orders without gaps, and the search."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pytest

import crowdtally as ct
from crowdtally.reader.server import view as view_module
from crowdtally.reader.server.releases import Index, folded
from kit.pages import LABELS, Served, serving
from kit.publishing import made, visits

MANY = 1_230
"""Items of a list of several pages: more than a ranking shows."""
ROWS = re.compile(r'<th scope="row" class="words"><bdi>(?:<a href="[^"]*">)?([^<]*)<')


def _listed(text: str) -> list[str]:
    view = text[text.index('<div id="view"') :]
    return [unescape(one) for one in ROWS.findall(view)]


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, ct.Release]]:
    """A list of many items."""
    items = [f"item {one:04}" for one in range(MANY)]
    counts = {one: place * 7919 % MANY % 23 for place, one in enumerate(items)}
    folder = tmp_path_factory.mktemp("long")
    release = made(folder, visits(counts), ct.Domain(items), name="long", method=ct.SRA(1))
    with serving([release]) as server:
        yield server.until_ready(), release


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/r/auto/top?colour=red", "there is no parameter 'colour' here"),
        ("/r/auto/top?contxt=day=Mon", "Did you mean 'context'"),
        ("/r/auto/?x=", "there is no parameter 'x'"),
        ("/r/auto/report?x=1", "there is no parameter 'x'"),
        ("/r/auto/downloads?x=1", "there is no parameter 'x'"),
        ("/r/auto/files/release.json?x=1", "there is no parameter 'x'"),
        ("/?x=1", "there is no parameter 'x'"),
        ("/openapi.json?x=1", "there is no parameter 'x'"),
        ("/releases.json?x=1", "there is no parameter 'x'"),
        ("/compare?x=1", "there is no parameter 'x'"),
        ("/r/auto/top?sort=estimate&sort=count", "'sort' is given 2 times"),
        ("/r/auto/top.json?k=5&k=5", "'k' is given 2 times"),
        ("/r/auto/top.json?k=0", "from 1 to 1000"),
        ("/r/auto/top.json?k=1001", "from 1 to 1000"),
        ("/r/auto/top.json?k=-1", "from 1 to 1000"),
        ("/r/auto/top.json?k=1e2", "from 1 to 1000"),
        ("/r/auto/top.json?k=%D9%A3", "from 1 to 1000"),
        ("/r/auto/top.json?raw=maybe", "'raw' is no or yes"),
        ("/r/auto/top?page=0", "'page' is a whole number"),
        ("/r/auto/top?sort=size", "estimate or count or list"),
        ("/r/auto/top?context=Mon", "'context' is NAME=VALUE"),
        ("/r/auto/top?context=day=Mo", "There are: Tue, Mon, Sun"),
        ("/r/auto/top?context=dy=Mon", "Did you mean 'day'"),
        ("/r/auto/top?context=%FF", "not UTF-8"),
        ("/r/auto/top?" + "context=day=Mon&" * 401, "more than 400 parameters"),
        ("/r/auto/sum?from=day=Sun&to=day=Tue", "Ranges go by the order of the lists"),
        ("/r/auto/sum?from=day=Mon&from=day=Sun", "has one end"),
        ("/r/auto/sum?where=drop%20table", "condition"),
        ("/r/auto/sum?where=" + "(" * 3000, "nested too deeply"),
        ("/r/auto/sum?value=day=Mon%00", "has no value"),
        ("/r/auto/item", "say which item"),
        ("/r/auto/item?item=nobody", "has no value 'nobody'"),
        ("/r/auto/map?columns=item", "no column 'item' has a map"),
        ("/r/auto/recommend?by=best", "popular or special"),
        ("/r/auto/recommend?without=nobody", "has no value 'nobody'"),
        ("/compare?of=both", "counts or shares"),
        ("/compare?earlier=sra-one-context&later=sra-record-id&fdr=nan", "finite number"),
    ],
)
def test_what_is_not_understood_is_told(server: Served, path: str, words: str) -> None:
    answer = server.ask(path)
    assert answer.status == 400
    found = unescape(answer.text).replace('\\"', '"')
    assert words.lower() in found.lower()
    assert len(answer.body) < 20_000, "what was received is not repeated whole"


@pytest.mark.parametrize(
    "path",
    ["/r/nobody/", "/r/auto/nothing", "/nothing", "/r/", "/r/auto/top/more", "/r/auto/top.xlsx",
     "/static/nothing.css", "/compare.svg", "/r/auto/.json", "/r/auto/%2e%2e"],
)  # fmt: skip
def test_what_is_not_there_is_told(server: Served, path: str) -> None:
    answer = server.ask(path)
    assert answer.status == 404
    assert "first page" in answer.text or "There is no such file" in answer.text or (
        "is served here" in answer.text
    )  # fmt: skip


def test_an_overview_without_its_slash_leads_there_by_its_path_alone(server: Served) -> None:
    answer = server.ask("/r/auto")
    assert (answer.status, answer.headers["location"]) == (302, "/r/auto/")
    for path in ("/r/nobody", "/compare/", "/r/auto/top/", "//evil.example/", "/r/auto/files/"):
        assert server.ask(path).status == 404, path
    assert server.ask("/r/auto?x=1").status == 400


def test_a_form_stays_where_its_question_is_refused(server: Served) -> None:
    answer = server.ask("/r/auto/sum?from=day=Sun&to=day=Tue&value=item=zoo")
    assert answer.status == 400
    assert '<option value="day=Sun" selected>' in answer.text
    assert 'value="item=zoo" checked' in answer.text
    assert "<details open>" in answer.text
    ticks = server.ask("/r/top-in-contexts/top").text
    assert 'value="sex=f"' in ticks
    assert "by ticking it" in ticks
    assert "--context" not in ticks, "nobody types here"


def test_empty_parameters_are_as_if_left_out(server: Served) -> None:
    plain = server.ask("/r/auto/sum.json").text
    assert server.ask("/r/auto/sum.json?where=&value=&from=&to=&from=").text == plain
    assert server.ask("/r/auto/top.json?k=&raw=&context=&&").status == 200


def test_the_same_value_twice_counts_once(server: Served) -> None:
    once = server.ask("/r/auto/top.json", context="day=Mon").text
    assert server.ask("/r/auto/top.json", context=["day=Mon", "day=Mon"]).text == once


def test_pages_of_the_public_order_have_all_items_once(long: tuple[Served, ct.Release]) -> None:
    server, _ = long
    found, path = [], "?sort=list"
    while path:
        text = server.ask(f"/r/long/top{path}").text
        found += _listed(text)
        following = re.search(r'rel="next" href="([^"]*)"', text)
        path = unescape(following[1]) if following else ""
    assert found == [f"item {one:04}" for one in range(MANY)]


@pytest.mark.parametrize("sort", ["estimate", "count"])
def test_pages_of_a_ranking_are_the_ranking(long: tuple[Served, ct.Release], sort: str) -> None:
    server, release = long
    found = []
    for page in range(1, 21):
        text = server.ask(f"/r/long/top?sort={sort}&page={page}").text
        rows = _listed(text)
        assert len(rows) == view_module.PAGE
        found += rows
        assert ('rel="next"' in text) == (page < 20)
        assert ("Chance to be in" in text) == (sort == "estimate")
        assert ("up to its row" in text) == (page == 20)
    wanted = release.top(1000, raw=sort == "count").rows
    assert found == [row.item for row in wanted]
    beyond = server.ask(f"/r/long/top?sort={sort}&page=21")
    assert (beyond.status, "no rows here" in beyond.text) == (200, True)


def test_a_download_has_the_rows_that_are_shown(long: tuple[Served, ct.Release]) -> None:
    server, _ = long
    for query in ("sort=list&page=3", "page=2", "sort=count&page=2", "sort=count", ""):
        text = server.ask(f"/r/long/top?{query}").text
        link = re.search(r'href="(top\.json[^"]*)"', text)
        assert link is not None
        rows = server.ask(f"/r/long/{unescape(link[1])}").json
        assert [row["item"] for row in rows] == _listed(text), query
    text = server.ask("/r/long/search?q=item&page=2").text
    link = re.search(r'href="(search\.json[^"]*)"', text)
    assert link is not None
    rows = server.ask(f"/r/long/{unescape(link[1])}").json
    assert [row["item"] for row in rows] == _listed(text)


def test_matches_come_largest_first_without_gaps(long: tuple[Served, ct.Release]) -> None:
    server, release = long
    estimates = {row.item: row.estimate for row in release.top(MANY).rows}
    found = []
    for page in range(1, 30):
        found += _listed(server.ask(f"/r/long/search?q=ITEM+1&page={page}").text)
    assert sorted(found) == [one for one in sorted(estimates) if "1" in one]
    told = [estimates[one] for one in found]
    assert told == sorted(told, reverse=True)
    assert [row["rank"] for row in server.ask("/r/long/search.json?q=1&k=5&page=2").json] == [
        6, 7, 8, 9, 10,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("arene", ["arena"]), ("ARÈNE", ["arena"]), ("zoo old", ["zoo"]), ("OLD the", ["zoo"]),
        ("100%", ["mill"]), ("%_w", ["mill"]), ("%", ["mill"]), ("_", ["mill"]), ("\\", []),
        ("'", []), ("zoo%", []), ("old  zoo", ["zoo"]), ("(zoo)", ["zoo"]), ("\x00", []),
        ("nowhere", []), ("zoo arene", []), ("* ; DROP TABLE names", []),
    ],
)  # fmt: skip
def test_words_are_found_as_they_are(server: Served, text: str, wanted: list[str]) -> None:
    assert len(LABELS) == 3
    found = server.ask("/r/labels/search.json", q=text)
    assert [row["item"] for row in found.json] == wanted
    page = server.ask("/r/labels/search", q=text)
    assert page.status == 200
    assert ("No item has" in page.text) == (not wanted)


def test_contexts_are_found_too(server: Served) -> None:
    text = unescape(server.ask("/r/auto/search", q="MON").text)
    assert 'href="top?context=day%3DMon"' in text
    assert "day = Mon" in text


def test_a_search_of_many_words_is_no_work(server: Served) -> None:
    answer = server.ask("/r/hostile/search?q=" + "h+" * 4000)
    assert answer.status == 200


def test_nothing_searched_is_no_failure(server: Served) -> None:
    assert server.ask("/r/auto/search.json").json == []
    assert "5 items can be searched" in server.ask("/r/auto/search?q=").text


def test_a_search_over_many_items_keeps_their_order() -> None:
    rng = np.random.default_rng(7)
    size = 100_000
    names = [f"Café {one} {'ÜBER' if one % 3 == 0 else 'under'}" for one in range(size)]
    order = rng.permutation(size)
    index = Index.of(names, order)
    wanted = [int(one) for one in order if one % 3 == 0 and "77" in names[one]]
    found = index.found("cafe uber 77", 0, 10**6)
    assert found == wanted
    assert index.found("uber CAFE 77", 10, 20) == wanted[10:30]
    assert index.found("", 0, 5) == []
    assert index.found("x" * 10_000, 0, 5) == []


def test_letters_of_many_scripts_fold() -> None:
    assert folded("ÀÉÎ") == folded("aei")
    assert folded("Straße") == folded("STRASSE")
    assert folded("ΣΊΣΥΦΟΣ") == folded("σίσυφοσ")
    assert folded("İstanbul") == "istanbul"
    assert folded("ﬁne") == "fine"
    assert folded("قهوة")


def test_numbers_kept_for_one_reader_are_not_anothers(server: Served) -> None:
    plain = re.compile(r"(?<=\d)[.,\u202f’](?=\d)")
    for path in ("item?item=0", "map", "", "top", "report", "sum", "recommend"):
        texts = [server.ask(f"/r/by-user/{path}", headers={"Accept-Language": one}).text
                 for one in ("de", "en", "fr", "de")]  # fmt: skip
        assert texts[0] == texts[3], path
        assert plain.sub("", texts[0]) == plain.sub("", texts[1]), path


def test_a_value_of_a_form_is_what_is_asked(server: Served) -> None:
    text = server.ask("/r/hostile/sum").text
    values = re.findall(r'<input type="checkbox" name="value" value="([^"]*)"', text)
    assert len(values) > 10
    for one in map(unescape, values):
        if len(one) < 2000:
            answer = server.ask(f"/r/hostile/sum.json?value={quote(one)}")
            assert (answer.status, answer.json["cells"] > 0) == (200, True), one


def test_a_list_that_is_very_long_is_not_offered(tmp_path: Path) -> None:
    domain = ct.Domain(["a", "b"], {"place": [f"p{one}" for one in range(600)]})
    wide = made(tmp_path, visits({("a", "p7"): 9}, "place"), domain, name="wide", method=ct.SRA(1))
    with serving([wide]) as server:
        server.until_ready()
        assert len(server.ask("/r/wide/top").body) < 30_000
        assert len(server.ask("/r/wide/sum").body) < 30_000
        page = server.ask("/r/wide/top", context=["place=p7", "place=p8"])
        assert page.status == 200
        assert 'value="place=p7"' in page.text
        assert server.ask("/r/wide/top", context="place=p600").status == 400
