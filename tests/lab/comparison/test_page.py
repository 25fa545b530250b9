"""The page and the tables of a comparison."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import dataclass, field, replace
from html.parser import HTMLParser
from itertools import pairwise
from math import inf, isnan, nan
from pathlib import Path
from typing import Any

import pandas
import pytest
from pyarrow import parquet

from crowdtally.lab.comparison.advice import recommendation
from crowdtally.lab.comparison.page import COLUMNS, as_frame, page, write_page, write_tables
from crowdtally.lab.comparison.summary import with_error
from crowdtally.lab.methods import CHOSEN_BY_LOOKING, NOT_PRIVATE
from kit.lab import FACTS, compared, summary

# ---- The page as a browser takes it apart: no script, nothing from outside, the numbers of the
#      CSV


EVIL = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'&{{ 7 * 7 }}</style>"


@dataclass
class Table:
    """A table as it is read."""

    caption: str = ""
    rows: list[list[str]] = field(default_factory=list)
    unscoped: int = 0
    best: list[str] = field(default_factory=list)


class Reader(HTMLParser):
    """Tags, attributes, words and tables of a page."""

    VOID = ("meta", "br", "hr", "img", "input", "link")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.words: list[tuple[str, str]] = []
        self.open: list[str] = []
        self.tables: list[Table] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in self.VOID:
            self.open.append(tag)
        if tag == "table":
            self.tables.append(Table())
        if tag == "tr":
            self.tables[-1].rows.append([])
        if tag in ("td", "th"):
            self.tables[-1].rows[-1].append("")
            self.tables[-1].unscoped += tag == "th" and "scope" not in dict(attrs)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append((self.open[-1] if self.open else "", data))
        if "caption" in self.open:
            self.tables[-1].caption += data
        elif self.open and self.open[-1] == "span" and "strong" not in self.open:
            return
        elif "td" in self.open or "th" in self.open:
            self.tables[-1].rows[-1][-1] += data
            if "strong" in self.open:
                self.tables[-1].best.append(data)

    def text(self) -> str:
        """What a person reads, blanks made one."""
        shown = "".join(data for tag, data in self.words if tag not in ("style", "title"))
        return " ".join(shown.split())


@pytest.fixture(scope="module")
def read() -> Reader:
    return Reader(page(*compared()))


@pytest.fixture(scope="module")
def hostile() -> Reader:
    summaries, facts = compared(("sra", EVIL), baselines=(), ks=(), tables=("items",))
    evil = replace(
        facts,
        source=EVIL,
        contexts={EVIL: 7},
        command=EVIL,
        versions={EVIL: EVIL},
        skipped={EVIL: EVIL},
        notes=(EVIL,),
        cells={EVIL: 3},
    )
    return Reader(page(summaries, evil))


@pytest.mark.parametrize("which", ["read", "hostile"])
def test_nothing_runs_and_nothing_is_fetched(which: str, request: pytest.FixtureRequest) -> None:
    read: Reader = request.getfixturevalue(which)
    assert not {"script", "img", "image", "iframe", "object", "link", "base", "form", "a"} & set(
        read.tags
    )
    for tag, name, value in read.attributes:
        assert not name.startswith("on"), (tag, name)
        assert name not in ("href", "src", "xlink:href", "srcset", "action")
        if "//" in value:
            assert name.startswith("xmlns"), (tag, name, value)
        if "url(" in value:
            assert re.fullmatch(r"url\(#[\w-]+\)", value)
    styles = "".join(data for tag, data in read.words if tag == "style")
    assert "url(" not in styles
    assert "@import" not in styles
    assert read.open == []


def test_hostile_words_are_shown_as_they_are(hostile: Reader) -> None:
    shown = " ".join(EVIL.split())
    text = hostile.text()
    assert f"Methods compared on {shown}" in text
    assert f"{shown} (7 values)" in text
    assert f"{shown} (comparison only)" in text
    assert hostile.tags.count("style") == 1


def test_the_warning_is_first(read: Reader) -> None:
    assert read.text().startswith(f"{NOT_PRIVATE} {CHOSEN_BY_LOOKING} Methods compared on ")
    (title,) = [data for tag, data in read.words if tag == "title" and "visits" in data]
    assert title.startswith("NOT PRIVATE: ")


def test_then_comes_the_recommendation_and_what_was_compared(read: Reader) -> None:
    text = read.text()
    sentence = recommendation(*compared())
    assert f"Recommendation {sentence} " in text
    for fact in (
        "visits.parquet: 1,000,209 records of 6,040 users",
        "weekday (7 values)",
        "items: 3,883, items in contexts: 27,181",
        "20 of each setting (5 sampling keys, 4 draws of noise with each)",
        "2,314 records of one user, read off the records",
        "were given M = 2,314",
        "sra/haar: the domain has no ordered attribute",
        "a uniform sample of each user's records",
        "crowdtally lab compare visits.parquet --user u --item place -o compared",
    ):
        assert fact in text, fact
    assert text.index("Recommendation") < text.index("What was compared") < text.index("Pictures")


def test_a_page_can_be_read_aloud(read: Reader) -> None:
    assert ("html", "lang", "en") in read.attributes
    levels = [int(tag[1]) for tag in read.tags if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    for table in read.tables:
        assert table.caption.strip()
        assert table.unscoped == 0
        assert len({len(row) for row in table.rows}) == 1
    assert read.tags.count("svg") == sum(
        name == "role" and value == "img" and tag == "div" for tag, name, value in read.attributes
    )


def test_every_picture_has_its_table(read: Reader) -> None:
    captions = [table.caption for table in read.tables]
    assert sum(caption.startswith("The numbers of the picture: ") for caption in captions) == 6
    assert read.tags.count("figure") == 6


def test_numbers_are_those_of_the_csv(read: Reader, tmp_path: Path) -> None:
    summaries, facts = compared()
    write_tables(tmp_path, summaries, facts)
    rows = pandas.read_csv(tmp_path / "comparison.csv")
    maes = rows[(rows.table == "items") & (rows.metric == "mae")]
    by_epsilon = next(t for t in read.tables if "Error of counts of items, by ε" in t.caption)
    for method, *cells in by_epsilon.rows[1:]:
        mine = maes[maes.method == method.split(" ")[0]]
        for epsilon, cell in zip((0.1, 1.0, 10.0), cells, strict=True):
            best = mine[mine.epsilon == epsilon].nsmallest(1, "mean").iloc[0]
            assert cell == with_error(best["mean"], best["standard_error"])
    at_one = [t for t in read.tables if t.caption.startswith("Counts of items: ")][1]
    assert at_one.rows[0][:3] == ["Method", "Bound", "Mean absolute error (records)"]
    for method, bound, _, mse, *_ in at_one.rows[1:]:
        if bound == "–":
            continue
        limit = int(bound.removeprefix("up to "))
        found = rows[
            (rows.method == method) & (rows.max_records == limit) & (rows.epsilon == 1)
            & (rows.table == "items") & (rows.metric == "mse")
        ].iloc[0]  # fmt: skip
        assert mse == with_error(found["mean"], found["standard_error"])


def test_the_best_and_its_equals_are_bold() -> None:
    numbers = [
        summary("sra", 100, 2), summary("hpa", 103, 2), summary("dpsense", 120, 2),
        summary("sra", 0.5, 0.01, metric="precision", k=10),
        summary("hpa", 0.6, 0.01, metric="precision", k=10),
        summary("sra", 0.7, 0, metric="reduction"), summary("hpa", 0.8, 0, metric="reduction"),
    ]  # fmt: skip
    _, facts = compared(epsilons=("1",))
    read = Reader(page(numbers, facts))
    (table,) = [one for one in read.tables if one.caption.startswith("Counts of items: ")]
    assert table.best == ["100.0 ± 2.0", "103.0 ± 2.0", "0.600 ± 0.010"]


@pytest.mark.parametrize("epsilons", [("1",), ("0.1", "1/3", "2")])
def test_little_or_nothing_measured_is_still_a_page(
    epsilons: tuple[str, ...], tmp_path: Path
) -> None:
    _, facts = compared(epsilons=epsilons)
    numbers = [summary("sra", float("nan"), float("nan"), epsilon=epsilons[0])]
    for given in ([], numbers):
        write_page(tmp_path, given, facts)
        text = Reader((tmp_path / "comparison.html").read_text(encoding="utf-8")).text()
        assert "No number could be drawn." in text
        assert "is recommended" in text


# ----  --------------------------------------------------------------------------------------------


SUMMARIES = [
    summary("sra", 234.125, 0.1, bound=30),
    summary("lpa", nan, nan, bound=None, epsilon="1/3"),
    summary("hpa", 0.9, 0.0, metric="precision", k=10, epsilon="0.1"),
    summary("hpa", inf, nan, metric="kl"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("compared")
    write_tables(place, SUMMARIES, replace(FACTS, source='=cmd|"<b>é'))
    return place


def plain(row: dict[str, Any]) -> dict[str, Any]:
    """A row with None for what is missing."""
    return {name: None if pandas.isna(value) else value for name, value in row.items()}


def test_every_form_holds_the_same_rows(folder: Path) -> None:
    from_csv = pandas.read_csv(folder / "comparison.csv").drop(columns="warning")
    from_json = json.loads((folder / "comparison.json").read_text(encoding="utf-8"))["rows"]
    from_parquet = parquet.read_table(folder / "comparison.parquet").to_pylist()
    wanted = [plain(row) for row in as_frame(SUMMARIES).to_dict("records")]
    assert [plain(row) for row in from_csv.to_dict("records")] == wanted
    assert from_json == wanted
    assert from_parquet == wanted
    assert list(from_csv) == list(COLUMNS) == list(from_json[0]) == list(from_parquet[0])


def test_numbers_are_those_of_the_summaries_to_the_last_bit(folder: Path) -> None:
    rows = json.loads((folder / "comparison.json").read_text(encoding="utf-8"))["rows"]
    assert rows[0] == {
        "method": "sra", "max_records": 30, "epsilon": 1.0, "table": "items", "metric": "mae",
        "k": None, "mean": 234.125, "standard_error": 0.1, "keys": 5, "runs": 20,
    }  # fmt: skip
    assert rows[1]["epsilon"] == 1 / 3
    assert rows[1]["mean"] is rows[3]["mean"] is None


def test_a_spreadsheet_sees_numbers_a_header_and_the_warning_in_each_row(folder: Path) -> None:
    with (folder / "comparison.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == [*COLUMNS, "warning"]
    assert rows[1] == [*"sra,30,1.0,items,mae,,234.125,0.1,5,20".split(","), rows[1][-1]]
    assert all(row[-1] == "NOT PRIVATE: computed from the true records" for row in rows[1:])
    # No cell is a formula, and none is a date such as 1/3.
    assert not any(cell[:1] in "=+-@" or "/" in cell for row in rows[1:] for cell in row if cell)


def test_json_and_parquet_carry_the_whole_warning_and_the_facts(folder: Path) -> None:
    document = json.loads((folder / "comparison.json").read_text(encoding="utf-8"))
    notes = parquet.read_schema(folder / "comparison.parquet").metadata
    assert next(iter(document)) == "warning"
    assert document["warning"] == f"{NOT_PRIVATE} {CHOSEN_BY_LOOKING}"
    assert notes[b"warning"].decode() == document["warning"]
    assert json.loads(notes[b"facts"]) == document["facts"]
    assert document["facts"]["source"] == '=cmd|"<b>é'
    assert document["facts"]["baselines"] == ["gs", "lpa"]
    assert document["facts"]["started"] == "2026-03-01T09:30:00+00:00"


def test_a_frame_has_whole_numbers_where_they_are_whole() -> None:
    frame = as_frame(SUMMARIES)
    assert frame["max_records"].tolist()[0] == 30
    assert str(frame["max_records"].dtype) == str(frame["k"].dtype) == "Int64"
    assert isnan(frame["mean"][1])
    assert frame.attrs["warning"].startswith("NOT PRIVATE")
    assert list(as_frame([])) == list(COLUMNS)


def test_a_frame_says_what_to_take_and_what_was_left_out() -> None:
    attrs = as_frame(SUMMARIES, replace(FACTS, notes=("a note",))).attrs
    assert attrs["recommendation"].startswith("At ε = 1, take sra with at most 30 records")
    assert attrs["skipped"] == {"sra/haar": "the domain has no ordered attribute"}
    assert attrs["notes"] == ["a note"]


def test_a_comparison_without_numbers_is_written(tmp_path: Path) -> None:
    write_tables(tmp_path, [], FACTS)
    assert len(pandas.read_csv(tmp_path / "comparison.csv")) == 0
    assert parquet.read_table(tmp_path / "comparison.parquet").num_rows == 0
