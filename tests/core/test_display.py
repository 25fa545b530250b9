"""What a prompt and a notebook show: short, whole, escaped, and no secret."""

from __future__ import annotations

import inspect
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import crowdtally as ct
from crowdtally.core import display
from crowdtally.reader.questions.text import printed
from crowdtally.reader.questions.top_list import TopItem, TopList
from kit.publishing import made, visits
from kit.stored import NAMES, hamlet, stored

EVIL = "<script>alert(1 & 2)</script>"
FRAME = pa.table({"u": ["Nobody Else"], "i": ["secret place"]})


class Page(HTMLParser):
    """What a browser would make of it: elements, their attributes and the text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[str] = []
        self.open: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)
        self.open.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += f"{data} "


def top_list(length: int, name: str = "item", *, labelled: bool = False) -> TopList:
    words = {"label": f"{name}!", "category": f"{name}?"}
    fields = [f for f in TopItem.__dataclass_fields__ if f not in ("rank", "item", *words)]
    rows = tuple(
        TopItem(rank=n + 1, item=f"{name} {n}", **dict.fromkeys(fields, 7.0), **words)
        for n in range(length)
    )
    given = {"rows": rows, "counted": "records", "labelled": tuple(words) if labelled else ()}
    more = [f for f in TopList.__dataclass_fields__ if f not in given]
    return TopList(**given, **dict.fromkeys(more, "…"))


def records(**roles: Any) -> ct.Records:
    source = "postgresql://ana:hush@host/db?password=hunter2#t"
    return ct.read(source, **{"user": "u", "item": "i"} | roles)


def everything(folder: Path) -> dict[str, Any]:
    """One of each, with a label that would run and lists that would fill a disk."""
    many = [EVIL, *(f"{EVIL}{n}" for n in range(999))]
    domain = ct.Domain(many, {f"in {EVIL}": many}, item=EVIL)
    declared = records(
        contexts={"day": f"replace(d, '{EVIL}', '')"}, where=f"i <> '{EVIL}'",
        timezone="Asia/Tokyo", joins=[("postgresql://bob:hush@h/db#f", ("i", "film"))],
        same_person="postgresql://eve:hush@h/db#p", quantity="n", max_quantity=5,
    )  # fmt: skip
    places = ct.Domain([EVIL, "mill"])
    release = made(folder, visits({EVIL: 3}), places, epsilon=3)
    return {
        "Domain": domain,
        "Axis": domain.items,
        "Records": declared,
        "Records of a frame": ct.read(FRAME, user="u", item="i", joins=[(FRAME, "i")]),
        "Plan": ct.plan(
            ct.read(FRAME.rename_columns(["u", EVIL]), user="u", item=EVIL),
            ct.Domain(many),
            epsilon=1,
            method=ct.SRA(10),
        ),
        "TopList": top_list(1000, EVIL, labelled=True),
        "Release": release,
        "Description": release.describe(),
    }


KINDS = [
    "Domain", "Records", "Records of a frame", "Plan", "TopList", "Release", "Description",
]  # fmt: skip


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return everything(tmp_path_factory.mktemp("shown"))


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_in_a_notebook_runs_or_comes_from_elsewhere(
    kind: str, shown: dict[str, Any]
) -> None:
    page = Page(shown[kind]._repr_html_())
    assert page.open == []
    assert set(page.elements) <= {
        "table", "caption", "thead", "tbody", "tr", "th", "td", "p", "div", "h4", "ul", "li",
    }  # fmt: skip
    assert {name for name, _ in page.attributes} <= {"style", "scope", "colspan"}
    assert not any("url" in (value or "") for _, value in page.attributes)


@pytest.mark.parametrize("kind", ["Domain", "Records", "Plan", "TopList", "Description"])
def test_a_label_is_shown_as_it_is(kind: str, shown: dict[str, Any]) -> None:
    """Escaped once, not twice: the label is there to be read."""
    text = Page(shown[kind]._repr_html_()).text
    assert "<script>alert" in text
    assert "&lt;" not in text


def test_a_top_list_is_shown_as_it_is_in_its_order(tmp_path: Path) -> None:
    found = hamlet(tmp_path, epsilon=3).top(2)
    page = Page(found._repr_html_())
    words = page.text.split()
    assert words.index("zoo") < len(words)
    assert [w for w in words if w in ("zoo", "arena", "mill")] == [row.item for row in found]
    for row in found:
        assert f"{row.count} " in page.text
        assert f"{row.low} … {row.high}" in page.text


@pytest.mark.parametrize("kind", KINDS)
def test_tables_have_captions_and_heads(kind: str, shown: dict[str, Any]) -> None:
    page = Page(shown[kind]._repr_html_())
    if kind == "Description":
        assert page.elements.count("h4") == len(shown[kind].sections)
        return
    assert page.elements.count("caption") == page.elements.count("table") >= 1
    assert page.elements.count("th") >= 1
    scopes = [value for name, value in page.attributes if name == "scope"]
    assert len(scopes) == page.elements.count("th")


@pytest.mark.parametrize("kind", ["Records", "Records of a frame", "Plan"])
def test_records_show_no_row_and_no_password(kind: str, shown: dict[str, Any]) -> None:
    for text in (shown[kind]._repr_html_(), repr(shown[kind])):
        for secret in ("hush", "hunter2", "ana", "bob:", "eve:", "Nobody Else", "secret place"):
            assert secret not in text


def test_the_declaration_is_shown_whole(shown: dict[str, Any]) -> None:
    text = Page(shown["Records"]._repr_html_()).text
    for words in ("postgresql://host/db", "Asia/Tokyo", "n, at most 5", "i=film", "day = replace("):
        assert words in text, words
    assert "UTC" not in Page(records()._repr_html_()).text
    assert "a pyarrow Table" in Page(shown["Records of a frame"]._repr_html_()).text


@pytest.mark.parametrize("kind", [*KINDS, "Axis"])
def test_a_repr_fits_a_screen(kind: str, shown: dict[str, Any]) -> None:
    lines = repr(shown[kind]).splitlines()
    assert all(len(line) <= 100 for line in lines)
    assert len(lines) <= 15


def test_long_things_are_cut_and_say_so() -> None:
    domain = ct.Domain(range(10**6), {"day": ["Mon", "Tue"]})
    assert repr(domain) == "<Domain of 2,000,000 cells: 'item' (1,000,000) × 'day' (2)>"
    assert repr(domain.items) == "<Axis 'item' of 1,000,000: 0, 1, 2 … and 999,997 more>"
    assert "0, 1, 2 … and 999,997 more" in Page(domain._repr_html_()).text
    found = top_list(100_000)
    assert repr(found).endswith("'item 2' 7 … and 99,997 more>")
    page = found._repr_html_()
    assert len(page) < 20_000
    assert f"… and {100_000 - display.MOST_ROWS:,} more" in page
    assert "more" not in Page(top_list(display.MOST_ROWS)._repr_html_()).text


def test_a_release_of_any_form_is_shown() -> None:
    for name in NAMES:
        release = ct.load(stored(name))
        assert len(repr(release)) <= 100
        text = Page(release._repr_html_()).text
        for table in release.metadata["tables"]:
            assert f" {table['name']} " in f" {text}"
            assert f"{table['cells']:,}" in text


def test_a_plan_shows_its_tables_and_its_words() -> None:
    held = ct.read(FRAME, user="u", item="i")
    plan = ct.plan(
        held, ct.Domain(["a", "b"]), epsilon=2, guess_users=9, guess_records=99, method=ct.SRA(10)
    )
    assert repr(plan) == "<Plan ε=2 per user: items (2 cells, ±15)>"
    text = Page(plan._repr_html_()).text
    for words in (
        "items",
        "±15",
        "at a bound of 10",
        "Not known: how many rows",
        "epsilon 2 per user",
    ):
        assert words in text, words
    found = ct.plan(held, epsilon=2, delta="1e-9", method=ct.Discover("item"))
    assert "not known" in Page(found._repr_html_()).text
    assert "(not known cells" in repr(found)


@pytest.mark.parametrize("verb", [ct.read, ct.release, ct.plan])
def test_verbs_have_signatures_that_complete(verb: Any) -> None:
    """Names, not ``**options``: an editor and a prompt read this."""
    parameters = inspect.signature(verb).parameters.values()
    assert not any(p.kind in (p.VAR_KEYWORD, p.VAR_POSITIONAL) for p in parameters)
    assert len(parameters) > 10


def test_questions_have_signatures_that_complete() -> None:
    for name in ("top", "sum", "point", "prefix", "range"):
        method = getattr(ct.Release, name)
        assert inspect.signature(method).return_annotation in ("TopList", "Sum")
        assert inspect.getdoc(method)
    assert list(inspect.signature(ct.Release.top).parameters) == ["self", "k", "raw", "context"]
    assert set(dir(ct)) == set(ct.__all__)


@pytest.mark.parametrize("label", ["a\x1b[2Jb", "two\nlines", "\u202eback"])
def test_a_label_that_a_terminal_would_obey_is_spelled_out(label: str) -> None:
    found = top_list(3, name=label, labelled=True)
    bare, beside = (printed(found.rows, 7.0, None, words) for words in ((), found.labelled))
    for text in ("\n".join(bare), "\n".join(beside), Page(found._repr_html_()).text):
        assert label not in text
        assert repr(label)[1:-1] in text


def test_an_inspection_fits_a_line() -> None:
    frame = pa.table({"u": ["x", "y"], "i": ["a", "hidden"]})
    found = ct.inspect(ct.read(frame, user="u", item="i"), ct.Domain(["a"]))
    assert repr(found) == "<Inspection, private: 2 rows, 1 left: print it>"
