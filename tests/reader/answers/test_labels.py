"""Labels from a public catalogue, and hostile text in them."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import crowdtally as ct
from crowdtally.reader.answers.columns import Labels
from crowdtally.reader.answers.files import as_text
from kit.processes import HOSTILE, top_list
from kit.stored import stored

# ---- Labels and categories from a public catalogue, good and bad ---------------------------------


ITEMS = ["zoo", "arena", "O'Brien's", "café, old", "mill", "quay", "北京", "pier"]
KINDS = ["animals", "sports", "food", "food", "work", "work", "", "sports"]


@pytest.fixture(scope="module")
def release() -> ct.Release:
    return ct.load(stored("sra-one-context"))


@pytest.fixture(scope="module")
def numbered() -> ct.Release:
    return ct.load(stored("sra-integer-items"))


def rows() -> list[dict[str, str]]:
    found = zip(ITEMS, KINDS, strict=True)
    return [{"place": i, "title": f"The {i}", "kind": kind} for i, kind in found]


def write_csv(path: Path, lines: list[dict[str, str]], sign: str = ",", mark: str = "") -> Path:
    names = list(lines[0])
    quoted = [sign.join(f'"{line[name]}"' for name in names) for line in lines]
    path.write_text(mark + "\n".join([sign.join(names), *quoted]) + "\n", encoding="utf-8")
    return path


def catalogue(folder: Path, suffix: str) -> Path:
    path = folder / f"places{suffix}"
    if suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows()), path)
    elif suffix in (".csv", ".tsv"):
        write_csv(path, rows(), "\t" if suffix == ".tsv" else ",")
    else:
        path.write_text("\n".join(json.dumps(row) for row in rows()), encoding="utf-8")
    return path


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet", ".jsonl", ".ndjson", ".json"])
def test_every_kind_of_file(suffix: str, tmp_path: Path, release: ct.Release) -> None:
    path = catalogue(tmp_path, suffix)
    found = release.with_labels(f"{path}:title,kind").top(8)
    kinds = dict(zip(ITEMS, KINDS, strict=True))
    for row, bare in zip(found, release.top(8), strict=True):
        assert (row.label, row.category) == (f"The {row.item}", kinds[str(row.item)] or None)
        assert (row.rank, row.item, row.estimate) == (bare.rank, bare.item, bare.estimate)
    assert [column.name for column in found.columns][:4] == ["rank", "item", "label", "category"]
    only = release.with_labels(f"{path}:title").top(8)
    assert [column.name for column in only.columns][:4] == ["rank", "item", "label", "estimate"]
    assert "label" not in release.top(8).to_dicts()[0]  # the release itself stays as it is


@pytest.mark.parametrize(("sign", "mark"), [(",", "\ufeff"), (";", ""), ("\t", "\ufeff")])
def test_csv_of_other_programs(sign: str, mark: str, tmp_path: Path, release: ct.Release) -> None:
    path = write_csv(tmp_path / "places.csv", rows(), sign, mark)
    assert release.with_labels(f"{path}:title").top(1)[0].label == "The zoo"


def test_which_columns_are_meant(tmp_path: Path, release: ct.Release) -> None:
    def given(*names: str) -> Path:
        made = [dict(zip(names, (r["place"], r["title"], r["kind"]), strict=False)) for r in rows()]
        return write_csv(tmp_path / f"{'-'.join(names)}.csv", made)

    only = release.with_labels(given("anything", "called")).top(1)  # the first is the item
    assert (only[0].label, only.labelled) == ("The zoo", ("label",))
    both = release.with_labels(given("place", "label", "category")).top(1)
    assert (both[0].label, both[0].category) == ("The zoo", "animals")
    last = [{"id": n, **row} for n, row in enumerate(map(dict, rows()))]
    path = write_csv(tmp_path / "later.csv", last)  # the item's column is found by its name
    assert release.with_labels(f"{path}:title").top(1)[0].label == "The zoo"
    with pytest.raises(ct.UsageError, match=r"several columns.*LABEL,CATEGORY.*title, kind"):
        release.with_labels(given("place", "title", "kind"))
    with pytest.raises(ct.UsageError, match=r"no column 'titel'. Did you mean 'title'\?"):
        release.with_labels(f"{given('place', 'title', 'kind')}:titel")
    with pytest.raises(ct.UsageError, match="received 3 columns"):
        release.with_labels(f"{given('place', 'title', 'kind')}:title,kind,place")
    write_csv(path, rows())
    path.write_text(path.read_text("utf-8").replace("title,kind", "label,label", 1), "utf-8")
    with pytest.raises(ct.InputError, match="two columns 'label'"):
        release.with_labels(path)
    with pytest.raises(ct.InputError, match="no column beside"):
        release.with_labels(given("place"))


def test_labels_that_miss_items(tmp_path: Path, release: ct.Release) -> None:
    path = write_csv(tmp_path / "few.csv", rows()[:4])
    with pytest.raises(
        ct.InputError, match=r"misses 4 items .*'mill', 'quay', '北京' … and 1 more"
    ):
        release.with_labels(f"{path}:title")
    write_csv(path, rows()[:7])
    with pytest.raises(ct.InputError, match=r"misses 1 item of the release \('pier'\)"):
        release.with_labels(f"{path}:title")
    with pytest.raises(ct.InputError, match="the dictionary of labels misses 7 items"):
        release.with_labels({"zoo": "Zoo"})


def test_labels_that_repeat_items(tmp_path: Path, release: ct.Release) -> None:
    path = write_csv(tmp_path / "twice.csv", [*rows(), *rows()[:2], rows()[0]])
    with pytest.raises(ct.InputError, match=r"has 2 items .*'zoo', 'arena'.* more than once"):
        release.with_labels(f"{path}:title")


def test_items_of_the_catalogue_alone_are_passed_over(tmp_path: Path, release: ct.Release) -> None:
    other = {"place": "elsewhere", "title": "x", "kind": "far"}
    path = write_csv(tmp_path / "more.csv", [other, *rows(), other])
    labelled = release.with_labels(f"{path}:title,kind")
    assert labelled.top(1)[0].label == "The zoo"
    with pytest.raises(ct.UsageError, match="'category' has no value 'far'"):
        labelled.sum("category = 'far'")


def test_items_that_are_numbers(tmp_path: Path, numbered: ct.Release) -> None:
    items = sorted(int(row.item) for row in numbered.top(100))
    lines = [{"n": f"{'0' * (n % 2)}{n}{'.0' * (n % 3 == 0)}", "called": f"no. {n}"} for n in items]
    path = write_csv(tmp_path / "numbers.csv", [*lines, {"n": f"{items[0]}.5", "called": "none"}])
    assert [row.label for row in numbered.with_labels(path).top(3)] == [
        f"no. {row.item}" for row in numbered.top(3)
    ]
    pq.write_table(pa.table({"n": items, "s": ["x"] * len(items)}), tmp_path / "n.parquet")
    assert numbered.with_labels(tmp_path / "n.parquet").top(1)[0].label == "x"


def test_dictionaries_and_lists_of_their_own(release: ct.Release) -> None:
    labels = dict.fromkeys(ITEMS, "same") | {"zoo": None}
    assert [row.label for row in release.with_labels(labels).top(2)] == [None, "same"]
    found = top_list(["a", "b"]).with_labels(Labels({"a": "A", "b": None}, {"a": "kind"}))
    assert [(row.label, row.category) for row in found] == [("A", "kind"), (None, None)]
    with pytest.raises(ct.InputError, match="misses 1 item"):
        top_list(["a", "b"]).with_labels({"a": "A"})


def test_a_saved_release_keeps_its_labels(tmp_path: Path, release: ct.Release) -> None:
    saved = release.with_labels(dict.fromkeys(ITEMS, "x")).save(tmp_path / "copy")
    assert saved.top(1)[0].label == "x"


def test_hostile_words_come_through_as_they_are(tmp_path: Path, numbered: ct.Release) -> None:
    items = [int(row.item) for row in numbered.top(100)]
    for start in range(0, len(HOSTILE), len(items)):
        words = [*HOSTILE[start : start + len(items)], *["x"] * len(items)][: len(items)]
        path = tmp_path / f"hostile{start}.jsonl"
        lines = (json.dumps({"n": n, "t": t}) for n, t in zip(items, words, strict=True))
        path.write_text("\n".join(lines))
        found = numbered.with_labels(path).top(100)
        assert [row.label for row in found] == [word or None for word in words]


BAD_FILES = {
    "nowhere.csv": (None, "is not a file"),
    "a.doc": (b"x", "ends in one of .csv"),
    "empty.csv": (b"", "has no columns"),
    "latin.csv": ("place,t\ncafé,x\n".encode("latin-1"), "not text in UTF-8"),
    "ragged.csv": (b"place,t\nzoo,a,b\n", "line 2: 3 values"),
    "open.csv": (b'place,t\n"zoo,a\n', "line 2: unexpected end"),
    "long.csv": (b"place,t\nzoo," + b"x" * 200_000 + b"\n", "line 2: field larger"),
    "a.parquet": (b"PAR1 no", "cannot be read as a Parquet file"),
    "a.jsonl": (b'{"place": "zoo"', "line 1: not a JSON object"),
    "list.json": (b"[1]", "line 1: not a JSON object"),
    "deep.json": (b"[" * 100_000, "line 1: not a JSON object"),
    "nested.jsonl": (b'{"place": "zoo", "t": ["x"]}', "neither text nor a number"),
    "half.jsonl": (b'{"place": "zoo", "t": "\\ud800"}', "not text in Unicode"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_files_that_cannot_be_read(name: str, tmp_path: Path, release: ct.Release) -> None:
    content, words = BAD_FILES[name]
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises((ct.InputError, ct.UsageError), match=words) as caught:
        release.with_labels(tmp_path / name)
    assert name in str(caught.value)


def test_a_folder_and_a_table_of_attributes(tmp_path: Path) -> None:
    attributes = ct.load(stored("sra-attributes"))
    with pytest.raises(ct.UsageError, match="no items, and no labels"):
        attributes.with_labels({})
    (tmp_path / "x.csv").mkdir()
    with pytest.raises(ct.InputError, match="not a file"):
        ct.load(stored("sra-items")).with_labels(tmp_path / "x.csv")


def test_sums_over_categories_and_labels(tmp_path: Path, release: ct.Release) -> None:
    labelled = release.with_labels(f"{write_csv(tmp_path / 'p.csv', rows())}:title,kind")
    food = release.sum("place IN ('O''Brien''s', 'café, old')")
    assert labelled.sum("category = 'food'") == food
    assert labelled.sum(category="food") == food
    assert labelled.sum(label=["The O'Brien's", "The café, old"]) == food
    on_friday = release.sum("place IN ('O''Brien''s', 'café, old') AND day = 'Fri'")
    assert labelled.sum("category = 'food' AND day = 'Fri'") == on_friday
    assert labelled.point(label="The zoo", day="Fri") == release.point(place="zoo", day="Fri")
    assert labelled.range("day", "Tue", "Mon", category="food") == release.range(
        "day", "Tue", "Mon", place=["O'Brien's", "café, old"]
    )
    # An item without a category is neither of one nor of another, as in SQL.
    other = release.sum("place NOT IN ('O''Brien''s', 'café, old', '北京')")
    assert labelled.sum("category <> 'food'") == other
    assert labelled.sum("NOT (category = 'food' OR place = 'zoo')") == release.sum(
        "place NOT IN ('O''Brien''s', 'café, old', '北京', 'zoo')"
    )
    with pytest.raises(ct.UsageError, match=r"Did you mean 'food'\?"):
        labelled.sum("category = 'foood'")
    with pytest.raises(ct.UsageError, match="no column 'category'"):
        release.sum("category = 'food'")
    with pytest.raises(ct.UsageError, match="no cell"):
        labelled.sum("category = 'food' AND place = 'zoo'")


def test_a_message_is_short_however_long_labels_are(release: ct.Release) -> None:
    long = {item: f"{item} {'x' * 100_000}" for item in ITEMS}
    with pytest.raises(ct.UsageError, match="'label' has no value 'zoo'") as caught:
        release.with_labels(long).sum(label="zoo")
    assert len(str(caught.value)) < 1_000


# ---- Text that hides what a spreadsheet runs, or that no file can hold ---------------------------


RUNS = "=+-@|%"
HIDDEN = [
    "",
    " ",
    "'",
    "\x00",
    "\x0b",
    "\x1b",
    "\xa0",
    "\xad",
    "\u061c",
    "\u200b",
    "\u2066",
    "\ufeff",
]
FORMS = {"=": "＝﹦⁼", "+": "＋﹢", "-": "－﹣", "@": "＠﹫", "%": "％﹪", "|": "｜"}
CALC = "=cmd|' /C calc'!A0"


def given_back(text: str) -> str:
    """What a reader does to get the text: one apostrophe off each part."""
    parts = re.split(r"(?<=[;\t\r\n])", text)
    return "".join(
        part[1:] if part.startswith("'") and as_text(part[1:]) == part else part for part in parts
    )


@pytest.mark.parametrize("before", HIDDEN)
def test_what_runs_is_seen_behind_what_is_not(before: str) -> None:
    for sign in RUNS:
        for letter in (sign, *FORMS[sign]):
            text = f"{before}{letter}1"
            assert as_text(text) == f"'{text}"
            assert given_back(as_text(text)) == text


@pytest.mark.parametrize("separator", [";", "\t", "\n", "\r", "\r\n", ";;", "; "])
def test_no_cell_runs_where_other_separators_tell_them_apart(separator: str) -> None:
    label = f"a{separator}{CALC}{separator}b"
    text = top_list([1]).with_labels({1: label}).to_csv()
    for delimiter in ";\t":
        for line in text.splitlines():  # quotes within a cell do not count there
            for cell in line.split(delimiter):
                assert cell.lstrip('" \x00')[:1] not in ("=", "+", "@", "|", "%"), cell
    _, row = csv.reader(io.StringIO(text, newline=""), strict=True)
    assert given_back(row[2]) == label


@pytest.mark.parametrize(
    "text", ["7-Up", "a; b", "two\n\nlines", "'tis", "a;b=c", "", "'", ";", "x\t", "a,=b", "½"]
)
def test_other_text_stays_as_it_is(text: str) -> None:
    assert as_text(text) == text


def test_no_two_texts_become_one() -> None:
    parts = ["", "'", "''", " ", "=", "a", ";", "\t", "\n"]
    texts = {f"{a}{b}{c}{d}" for a in parts for b in parts for c in parts for d in parts}
    assert len({as_text(text) for text in texts}) == len(texts)


def test_half_a_letter_is_no_label() -> None:
    with pytest.raises(ct.InputError, match="not text in Unicode, of 1 item of the release"):
        top_list(["a", "b"]).with_labels({"a": "A", "b": "\ud800"})
