"""A site: what its release says, in a new folder or none."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import sys
from base64 import b64encode
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from hashlib import sha256
from html import unescape
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import crowdtally as ct
from crowdtally.errors import CrowdtallyError, UsageError
from crowdtally.format.withdrawal import write_note
from crowdtally.reader.page_parts import Source, special_numbers
from crowdtally.reader.site import pages as index
from crowdtally.reader.site import site as places
from crowdtally.reader.site.pages import overview_page
from crowdtally.reader.site.site import Site, copy_release, new_folder
from crowdtally.web.pages import grouped
from kit.auto import adaptive, known_way
from kit.command import crowdtally
from kit.pages import broken_links, pages_of, parsed, reached
from kit.publishing import made, visits
from kit.stored import stored

# ---- A site says what the release says, for every kind of it, and leads nowhere else -------------


KINDS = {
    "auto": ["top.html", "contexts.html", "search.html"],
    "top in contexts": ["contexts.html", "search.html"],
    "sra-attributes": ["contexts.html", "search.html"],
    "pairs": ["top.html", "search.html"],
    "filter-one": ["top.html", "contexts.html", "search.html"],
    "haar-items": [],
    "sketch-wide": [],
    "discovered-none": [],
}
"""One of each, with the pages that not every site has."""
EVERYWHERE = {"index.html", "report.html", "downloads.html", "metadata.html"}
Made = Callable[[str], Path]


@pytest.fixture(scope="module")
def release_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], ct.Release]:
    folder = tmp_path_factory.mktemp("releases")

    def made_of(kind: str) -> ct.Release:
        if kind == "auto":
            return ct.load(adaptive(folder, method=ct.Auto("recommend")))
        if kind == "top in contexts":
            return known_way(kind)
        return ct.load(stored(kind))

    return cache(made_of)


@pytest.fixture(scope="module")
def site_of(
    release_of: Callable[[str], ct.Release], tmp_path_factory: pytest.TempPathFactory
) -> Made:
    folder = tmp_path_factory.mktemp("sites")
    return cache(lambda kind: release_of(kind).export(site=folder / kind))


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_a_site_whose_links_lead_somewhere(kind: str, site_of: Made) -> None:
    site = site_of(kind)
    assert broken_links(site) == []
    pages = pages_of(site)
    assert {one for one in pages if not re.match("context-|combination-", one)} == {
        *EVERYWHERE, *KINDS[kind]
    }  # fmt: skip
    written = {str(one.relative_to(site)) for one in site.rglob("*") if one.is_file()}
    assert reached(site) == written, "whatever is there can be found"
    for name, page in pages.items():
        assert len(page.ids) == len(set(page.ids)), name
        assert len(page.running) == (name == "search.html"), "one script, on one page"
        assert not [one for one in page.attributes if one.startswith("on")]
        assert "http-equiv" in page.attributes
        assert "Withdrawn." not in page.text


@pytest.mark.parametrize("kind", ["auto", "sra-attributes", "pairs"])
def test_the_release_itself_is_in_it(
    kind: str, site_of: Made, release_of: Callable[[str], ct.Release]
) -> None:
    site, release = site_of(kind), release_of(kind)
    for file in sorted(release.folder.iterdir()):
        assert (site / "release" / file.name).read_bytes() == file.read_bytes()
    assert crowdtally("check", site / "release").code == 0
    linked = json.loads(parsed(site / "index.html").data["application/ld+json"])
    assert linked == json.loads(parsed(site / "metadata.html").data["application/ld+json"])
    assert linked["@type"] == "sc:Dataset"
    for file in linked["distribution"]:
        assert sha256((site / file["contentUrl"]).read_bytes()).hexdigest() == file["sha256"]
    beside = json.loads((site / "release" / "croissant.json").read_text("utf-8"))
    assert linked["recordSet"] == beside["recordSet"]


def rows_of(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(path.read_text("utf-8"))))


def test_lists_are_the_answers_of_the_release(
    site_of: Made, release_of: Callable[[str], ct.Release]
) -> None:
    site, release = site_of("auto"), release_of("auto")
    (context,) = release.metadata["domain"]["contexts"]
    for number, value in enumerate([None, *context["values"]]):
        asked: dict[str, Any] = {} if value is None else {context["name"]: value}
        name = "top" if value is None else f"context-1-{number}"
        answer = release.top(20, **asked)
        assert (site / "lists" / f"{name}.csv").read_text("utf-8") == answer.to_csv()
        text = parsed(site / f"{name}.html").text
        for row in answer:
            assert grouped(row.estimate) in text
            assert str(row.item) in text
        if value is not None:
            assert f"Where {context['name']} = {value}" in text
            special = release.recommend(20, by="special", **asked)
            stored = (site / "lists" / f"{name}-special.csv").read_text("utf-8")
            assert stored == special.to_csv()
            listed = [row for row in special if row.lift is not None and row.lift > 1]
            assert ("Items whose share here" in text) == bool(listed)
    sums = parsed(site / "contexts.html").text
    for value in context["values"]:
        assert grouped(release.sum(**{context["name"]: value}).estimate) in sums


def test_a_list_goes_on_without_chances(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crowdtally.reader.site.pages.LISTED", 25)
    release = known_way("top")  # 8 items alone
    few = release.export(site=tmp_path / "few")
    assert "ranked, and the first" not in parsed(few / "top.html").text
    cells = {(f"item {number}", "-"): 60 - number for number in range(30)}
    items = [item for item, _ in cells]
    many = made(tmp_path / "many", visits(cells, "x"), ct.Domain(items, {"x": ["-"]}), epsilon=40,
                method=ct.SRA(1))  # fmt: skip
    site = many.export(site=tmp_path / "site")
    rows = rows_of(site / "lists" / "top.csv")
    assert [row["item"] for row in rows] == [row.item for row in many.top(25)]
    assert [bool(row["chance_in_top"]) for row in rows] == [True] * 20 + [False] * 5
    text = parsed(site / "top.html").text
    assert "Places 21 to 25" in text
    assert "30 items are ranked, and the first 25 are shown." in text


def test_names_of_files_are_numbers_whatever_values_are(tmp_path: Path) -> None:
    days = ["../../up", "a/b", "CON", "con", ".", "é" * 300, "<b>", "index", 'x" onclick="y']
    cells = {("zoo", day): 9 for day in days}
    domain = ct.Domain(["zoo"], {"day": days})
    release = made(tmp_path, visits(cells, "day"), domain, epsilon=40, method=ct.SRA(1))
    site = release.export(site=tmp_path / "site")
    pages = sorted(one.name for one in site.glob("context-*"))
    assert pages == [f"context-1-{number}.html" for number in range(1, 10)]
    assert broken_links(site) == []
    assert "Where day = ../../up" in parsed(site / "context-1-1.html").text
    assert "b" not in parsed(site / "context-1-7.html").tags
    assert "onclick" not in parsed(site / "context-1-9.html").attributes


def test_several_contexts_and_their_combinations(tmp_path: Path) -> None:
    release = ct.load(stored("sra-two-contexts"))
    found = places.groups(Source(release.view))
    one, two, joint = found
    names = [context["name"] for context in release.metadata["domain"]["contexts"]]
    assert [one.contexts, two.contexts, joint.contexts] == [(names[0],), (names[1],), tuple(names)]
    assert len(joint.places) == len(one.places) * len(two.places)
    assert [place.context[names[1]] for place in joint.places[: len(two.places)]] == [
        place.context[names[1]] for place in two.places
    ]
    assert len({place.file for group in found for place in group.places}) == sum(
        len(group.places) for group in found
    )
    assert one.beside(one.places[0]) == (None, one.places[1])
    assert one.beside(one.places[-1])[1] is None


def test_many_values_get_no_page_and_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places, "MOST_PAGES", 2)
    monkeypatch.setattr(places, "MOST_COMBINATIONS", 1)
    monkeypatch.setattr(index, "MOST_INDEXED", 3)
    monkeypatch.setattr("crowdtally.reader.site.pages.MOST_INDEXED", 3)
    release = ct.load(stored("sra-two-contexts"))
    site = release.export(site=tmp_path / "site")
    assert sorted(one.name for one in site.glob("co*-*.html")) == [
        "context-1-1.html", "context-2-1.html"
    ]  # fmt: skip
    sizes = [context["size"] for context in release.metadata["domain"]["contexts"]]
    text = parsed(site / "contexts.html").text
    for size in sizes:
        assert f"{size - 1} further values have no page here" in text
    search = parsed(site / "search.html")
    many = release.metadata["domain"]["items"]["size"]
    assert f"The search knows the 3 largest of {many} items." in search.text
    assert len(json.loads(search.data["application/json"])["items"]) == 3


def test_what_the_search_knows(site_of: Made, release_of: Callable[[str], ct.Release]) -> None:
    found = parsed(site_of("auto") / "search.html")
    known = json.loads(found.data["application/json"])
    answer = release_of("auto").top(100)
    assert [entry[0] for entry in known["items"]] == [row.item for row in answer]
    assert [entry[1] for entry in known["items"]] == [grouped(row.estimate) for row in answer]
    assert known["words"] == [0]
    assert ["day = Mon", "context-1-2.html"] in known["pages"]
    for text in ("eval(", "innerHTML", "Function(", "http"):
        assert text not in found.running[0]
    alone = json.loads(parsed(site_of("top in contexts") / "search.html").data["application/json"])
    assert alone["words"] == [0, 5]
    lists = {value: release_of("top in contexts").top(5, sex=value) for value in ("f", "m")}
    assert [(entry[0], entry[5]) for entry in alone["items"]] == [
        (str(row.item), f"sex = {value}") for value, rows in lists.items() for row in rows
    ]
    people = json.loads(parsed(site_of("sra-attributes") / "search.html").data["application/json"])
    assert people["items"] == []
    assert {address for _, address in people["pages"]} == {"contexts.html"}


def test_each_policy_allows_the_one_script_and_nothing_else(site_of: Made) -> None:
    for name, page in pages_of(site_of("auto")).items():
        (policy,) = re.findall(
            r'http-equiv="Content-Security-Policy" content="([^"]*)"', page.path.read_text("utf-8")
        )
        rules = dict(one.split(" ", 1) for one in unescape(policy).split("; "))
        assert rules.pop("default-src") == rules["base-uri"] == rules["form-action"] == "'none'"
        if name == "search.html":
            (script,) = page.running
            hashed = b64encode(sha256(script.encode()).digest()).decode()
            assert rules.pop("script-src") == f"'sha256-{hashed}'"
        assert set(rules) == {"style-src", "img-src", "base-uri", "form-action"}


def test_only_a_lift_above_1_is_special(release_of: Callable[[str], ct.Release]) -> None:
    found = release_of("auto").recommend(1, day="Mon")
    lifts = {"less": 0.9, "the same": 1.0, "more": 1.01}
    rows = [
        replace(found[0], item=item, lift=lift, lift_low=lift, lift_high=lift, chance_special=0.5)
        for item, lift in lifts.items()
    ]
    shown = special_numbers(replace(found, rows=tuple(rows)), str, "day = Mon")
    assert shown is not None
    assert [row[0] for row in shown.rows] == ["more"]
    assert special_numbers(replace(found, rows=tuple(rows[:2])), str, "day = Mon") is None


def test_a_table_that_was_damaged_meanwhile_is_not_copied(tmp_path: Path) -> None:
    release = ct.load(shutil.copytree(stored("hpa"), tmp_path / "release"))
    path = release.folder / "popularity.parquet"
    pq.write_table(pq.read_table(path), path)  # whole, and not what was released
    with pytest.raises(ct.InputError, match=r"popularity\.parquet' is damaged"):
        copy_release(release._published, tmp_path / "copy")
    assert [one.name for one in tmp_path.iterdir()] == ["release"]


def test_each_page_says_that_it_was_withdrawn(tmp_path: Path) -> None:
    copy = shutil.copytree(stored("sra-one-context"), tmp_path / "release")
    write_note(copy, ct.load(copy).metadata["id"], "2026-11-17T08:00:00+00:00", "<b>a slip</b>")
    site = ct.load(copy).export(site=tmp_path / "site")
    for name, page in pages_of(site).items():
        assert "This release was withdrawn on 2026-11-17: <b>a slip</b>" in page.text, name
    assert (site / "release" / "withdrawn.json").is_file()
    assert "release/withdrawn.json" in parsed(site / "downloads.html").links


def test_labels_stand_beside_items_and_stay_text(tmp_path: Path) -> None:
    release = ct.load(stored("sra-items"))
    items = [row.item for row in release.top(1000)]
    catalogue = tmp_path / "catalogue.csv"
    with catalogue.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["item", "title", "kind"])
        kinds = ["=1+1", *["k" * 100_000] * (len(items) - 1)]
        rows.writerows(
            [item, f"<i>{item}</i></script>", kind] for item, kind in zip(items, kinds, strict=True)
        )
    site = tmp_path / "site"
    ended = crowdtally(
        "export", stored("sra-items"), "--site", site, "--labels", f"{catalogue}:title,kind"
    )
    assert (ended.code, ended.out, ended.err) == (0, f"{site}\n", "")
    shown = f"<i>{items[0]}</i></script> ({items[0]})"
    for name in ("index.html", "top.html", "report.html"):
        page = parsed(site / name)
        assert shown in page.text, name
        assert "i" not in page.tags
    known = json.loads(parsed(site / "search.html").data["application/json"])
    assert (known["items"][0][0], known["items"][0][5]) == (shown, "=1+1")
    assert {entry[5] for entry in known["items"][1:]} == {"k" * index.LONGEST + "…"}
    (first, *_) = rows_of(site / "lists" / "top.csv")
    assert (first["label"], first["category"]) == (f"<i>{items[0]}</i></script>", "'=1+1")


def test_a_release_of_nothing_has_no_page_to_search(
    release_of: Callable[[str], ct.Release],
) -> None:
    release = release_of("discovered-none")
    site = Site.of(Source(release.view))
    assert [words for _, words in site.menu] == [
        "Overview", "Privacy report", "Downloads", "Metadata"
    ]  # fmt: skip
    assert not site.has_lists
    page = overview_page(site, {})
    assert "No item passed the threshold" in page
    assert "ask it for sums" not in page
    assert "How to read the numbers" not in page


# ---- A site is a new folder, whole or not at all -------------------------------------------------


@pytest.fixture(scope="module")
def release() -> ct.Release:
    return ct.load(stored("discovered-none"))


def test_nothing_is_replaced(release: ct.Release, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    before = sorted(tmp_path.iterdir())
    for name in ("folder", "file", "link"):
        with pytest.raises(UsageError, match="never replaced"):
            release.export(site=tmp_path / name)
    with pytest.raises(UsageError, match="is not a folder: create it first"):
        release.export(site=tmp_path / "no" / "site")
    assert sorted(tmp_path.iterdir()) == before
    assert (tmp_path / "file").read_text() == "mine"


def test_somebody_was_quicker(tmp_path: Path) -> None:
    target = tmp_path / "site"
    folder = new_folder(target)
    (folder.__enter__() / "index.html").touch()
    target.mkdir()
    with pytest.raises(UsageError, match="a site never replaces anything"):
        folder.__exit__(None, None, None)
    assert list(tmp_path.rglob("*")) == [target], "an empty folder is not replaced either"


def test_what_fails_half_way_leaves_nothing(
    release: ct.Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr("crowdtally.reader.site.pages.downloads_page", fails)
    with pytest.raises(KeyboardInterrupt):
        release.export(site=tmp_path / "site")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("call", ["pathlib.Path.write_bytes", "crowdtally.core.files.flush"])
def test_a_full_disk_leaves_nothing(
    release: ct.Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(call, full)
    with pytest.raises(CrowdtallyError, match=r"cannot be written: No space left on device\. Ch"):
        release.export(site=tmp_path / "site")
    assert not list(tmp_path.iterdir())


def test_it_is_flushed_before_it_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed: list[tuple[str, bool]] = []
    target = tmp_path / "site"
    monkeypatch.setattr(
        "crowdtally.core.files.flush", lambda path: flushed.append((path.name, target.exists()))
    )
    with new_folder(target) as folder:
        (folder / "lists").mkdir()
        (folder / "lists" / "top.csv").touch()
        (folder / "index.html").touch()
    names = [name for name, _ in flushed]
    assert {"index.html", "top.csv", "lists"} <= set(names)
    assert [there for _, there in flushed] == [False] * (len(flushed) - 1) + [True]
    assert names[-1] == tmp_path.name


@pytest.mark.parametrize("missing", ["jinja2", "vl_convert"])
def test_what_is_not_installed_is_named(
    release: ct.Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(UsageError, match=r"a site needs .* pip install 'crowdtally\[report\]'"):
        release.export(site=tmp_path / "site")
    assert not list(tmp_path.iterdir())
