"""The same rows come back from every way out, whatever words are in them."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import sys
import zipfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import jsonschema
import openpyxl
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from openpyxl.utils.escape import unescape

import crowdtally as ct
from crowdtally.reader.answers import files
from crowdtally.reader.answers.columns import columns_of, schema_of
from crowdtally.reader.questions.sum import Sum
from crowdtally.reader.questions.top_list import TopItem
from kit.processes import FORMULAS, HOSTILE, top_list
from kit.stored import stored

TYPES = {"integer": pa.int64(), "text": pa.string(), "float": pa.float64(), "boolean": pa.bool_()}
LABELS = dict(enumerate(HOSTILE))
HARD = top_list(list(LABELS)).with_labels(LABELS)
"""Items that are numbers, with hostile labels."""


@pytest.fixture(scope="module")
def release() -> ct.Release:
    return ct.load(stored("sra-one-context"))


def written(answer: Any, folder: Path, suffix: str) -> Path:
    return answer.write(folder / f"answer{suffix}")


def test_every_way_out_of_a_list_has_the_same_rows(tmp_path: Path) -> None:
    rows = HARD.to_dicts()
    assert [row["label"] for row in rows] == list(HOSTILE)
    assert json.loads(HARD.to_json()) == rows
    assert json.loads(written(HARD, tmp_path, ".json").read_text(encoding="utf-8")) == rows
    assert pa.table(HARD).to_pylist() == rows
    assert pq.read_table(written(HARD, tmp_path, ".parquet")).to_pylist() == rows
    assert HARD.to_polars().to_dicts() == rows
    assert pl.DataFrame(HARD).to_dicts() == rows
    frame = HARD.to_pandas()
    missing = frame.astype(object).where(frame.notna(), None).to_dict("records")
    assert missing == rows


def test_columns_have_the_types_of_the_dataclass_whatever_the_values() -> None:
    names = [field for field in TopItem.__dataclass_fields__ if field not in ("label", "category")]
    for answer in (HARD, top_list(["a"]), top_list([]), top_list([], item_kind="integer")):
        schema = pa.table(answer).schema
        assert schema.types == [TYPES[column.kind] for column in answer.columns]
        assert [name for name in schema.names if name != "label"] == names
        assert list(answer.to_pandas().columns) == schema.names
        frame = answer.to_polars()
        assert frame.schema == pl.DataFrame(answer).schema
        assert answer.to_csv().splitlines()[0] == ",".join(schema.names)
    assert pa.table(top_list([], item_kind="integer")).schema.field("item").type == pa.int64()
    assert pa.table(top_list(["1"])).schema.field("item").type == pa.string()
    assert pa.table(top_list([1])).schema.field("item").type == pa.int64()


def test_labels_stand_beside_the_item_and_only_where_they_were_given() -> None:
    bare = [column.name for column in columns_of(TopItem)]
    assert bare[:3] == ["rank", "item", "estimate"]
    assert "label" not in bare
    with_both = [column.name for column in columns_of(TopItem, ("label", "category"))]
    assert with_both == ["rank", "item", "label", "category", *bare[2:]]


def test_a_row_that_is_no_table_row_is_refused() -> None:
    @dataclass
    class Nested:
        item: list[str]

    with pytest.raises(TypeError, match="item"):
        columns_of(Nested)


def test_csv_has_nothing_that_a_spreadsheet_runs() -> None:
    text = HARD.to_csv()
    _, *rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    place = [column.name for column in HARD.columns].index("label")
    for row, label in zip(rows, HOSTILE, strict=True):
        cell = row[place]
        # What begins after a tab or an end of line may run too: it is guarded by itself.
        inside = re.sub(r"(?<=[\t\r\n])=", "'=", label)
        assert cell == (f"'{inside}" if label in FORMULAS else label)
    assert {row[-1] for row in rows} == {"true"}


def test_csv_items_are_made_text_like_labels() -> None:
    _, row = csv.reader(io.StringIO(top_list(["=1+1"]).to_csv()))
    assert row[1] == "'=1+1"
    _, row = csv.reader(io.StringIO(top_list([-5]).to_csv()))
    assert row[1] == "-5"  # a number is one


def test_a_file_of_csv_is_known_as_utf_8(tmp_path: Path) -> None:
    raw = written(HARD, tmp_path, ".csv").read_bytes()
    assert raw.startswith(b"\xef\xbb\xbf")
    assert raw.decode("utf-8-sig") == HARD.to_csv()


def test_a_workbook_has_strings_and_numbers_and_nothing_that_runs(tmp_path: Path) -> None:
    path = written(HARD, tmp_path, ".xlsx")
    with zipfile.ZipFile(path) as parts:
        sheets = "".join(parts.read(n).decode() for n in parts.namelist() if n.endswith(".xml"))
        assert not [name for name in parts.namelist() if "external" in name.lower()]
    assert "<f>" not in sheets
    assert "<hyperlink " not in sheets
    sheet = openpyxl.load_workbook(path)["answer"]
    head, *rows = sheet.iter_rows()
    assert [cell.value for cell in head] == [column.name for column in HARD.columns]
    for row, expected in zip(rows, HARD.to_dicts(), strict=True):
        cells = dict(zip((cell.value for cell in head), row, strict=True))
        assert {cell.data_type for cell in row} <= {"n", "s", "b"}
        label, shown = expected["label"], cells["label"].value
        assert cells["label"].data_type == "s"
        # A sheet spells control characters out, as Excel does; this reader takes them so.
        assert files.cut(label) in (shown or "", unescape(shown or ""))
        assert cells["above_floor"].value is True
        assert cells["item"].value == expected["item"]
        assert cells["estimate_low"].value is None


def test_a_workbook_cuts_long_text_and_refuses_too_many_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len(files.cut("x" * 100_000)) == 32_767
    assert len(files.cut("\U0001f600" * 100_000).encode("utf-16-le")) <= 2 * 32_767
    monkeypatch.setattr(files, "MOST_ROWS", 2)
    written(top_list(["a", "b"]), tmp_path, ".xlsx")
    with pytest.raises(ct.UsageError, match=r"2 rows.*has 3.*\.parquet"):
        top_list(["a", "b", "c"]).write(tmp_path / "more.xlsx")
    assert not (tmp_path / "more.xlsx").exists()


def test_whole_numbers_that_a_sheet_would_round_are_text(tmp_path: Path) -> None:
    large = (1 << 53) + 1
    path = written(top_list([large, 7]), tmp_path, ".xlsx")
    cells = [row[1].value for row in openpyxl.load_workbook(path)["answer"].iter_rows(min_row=2)]
    assert cells == [str(large), 7]


def test_html_and_text_show_labels_as_text() -> None:
    labelled = top_list(["a", "b"]).with_labels({"a": "<script>x</script>", "b": "\x1b[2J" * 50})
    page, text = labelled._repr_html_(), str(labelled)
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert "\x1b" not in page + text
    assert "<script>x</script>" in text
    assert max(map(len, text.splitlines())) < 120
    assert all(word in text.splitlines()[0] for word in ("item", "label"))
    assert "category" not in text.splitlines()[0]


def test_json_has_nothing_that_a_terminal_obeys() -> None:
    text = top_list(["a"]).with_labels({"a": "\x9b2J\u202e"}).to_json()
    assert text.isprintable()
    assert json.loads(text)[0]["label"] == "\x9b2J\u202e"


@pytest.mark.parametrize("kind", ["sra-one-context", "sra-integer-items", "priority-one"])
def test_real_answers_are_as_their_schema_says(kind: str) -> None:
    found = ct.load(stored(kind))
    for answer in (found.top(4), found.top(4, raw=True)):
        jsonschema.validate(json.loads(answer.to_json()), schema_of(TopItem, many=True))
        assert pa.table(answer).to_pylist() == answer.to_dicts()
    jsonschema.validate(json.loads(found.sum().to_json()), schema_of(Sum, many=False))


def test_a_schema_refuses_another_answer(release: ct.Release) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(json.loads(release.sum().to_json()), schema_of(TopItem, many=True))
    (row,) = release.top(1).to_dicts()
    for wrong in ({**row, "more": 1}, {**row, "rank": "1"}, {**row, "estimate": None}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate([wrong], schema_of(TopItem, many=True))
    del row["count"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate([row], schema_of(TopItem, many=True))


def test_a_sum_is_a_table_of_one_row(release: ct.Release, tmp_path: Path) -> None:
    found = release.sum()
    (row,) = found.to_dicts()
    assert json.loads(found.to_json()) == row
    assert pa.table(found).to_pylist() == [row]
    assert found.to_polars().to_dicts() == [row]
    assert found.to_pandas()["estimate"][0] == found.estimate
    assert len(list(csv.DictReader(io.StringIO(found.to_csv())))) == 1
    assert pd.read_parquet(written(found, tmp_path, ".parquet"))["cells"].tolist() == [found.cells]
    assert json.loads(written(found, tmp_path, ".json").read_text()) == row


def test_a_number_that_no_column_holds(release: ct.Release, tmp_path: Path) -> None:
    """A domain may have more cells than 64 bits count."""
    found = replace(release.sum(), cells=10**30)
    assert json.loads(found.to_json())["cells"] == 10**30
    assert ",1" + "0" * 30 + "," in found.to_csv()
    sheet = openpyxl.load_workbook(written(found, tmp_path, ".xlsx"))["answer"]
    assert str(10**30) in [cell.value for cell in list(sheet.iter_rows())[1]]
    with pytest.raises(ct.UsageError, match=r"'cells'.*64 bits.*JSON"):
        found.write(tmp_path / "a.parquet")
    with pytest.raises(ct.UsageError, match="64 bits"):
        found.to_polars()
    assert [one.name for one in tmp_path.iterdir()] == ["answer.xlsx"]


def test_a_stream_can_be_taken_again_and_outlives_the_answer() -> None:
    answer = top_list(["a", "b"])
    first, second = pa.table(answer), pa.table(answer)
    stream = pa.RecordBatchReader.from_stream(answer)
    del answer
    assert first == second == stream.read_all()


def test_arrow_needs_no_pyarrow() -> None:
    code = (
        "import sys; sys.modules['pyarrow'] = None\n"
        f"import crowdtally as ct; found = ct.load({str(stored('sra-items'))!r}).top(2)\n"
        "assert 'arrow_array_stream' in repr(found.__arrow_c_stream__())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("missing", ["xlsxwriter", "pandas", "polars"])
def test_a_package_that_is_missing_is_named(
    missing: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    asked = {
        "xlsxwriter": lambda: top_list(["a"]).write(tmp_path / "a.xlsx"),
        "pandas": top_list(["a"]).to_pandas,
        "polars": top_list(["a"]).to_polars,
    }
    with pytest.raises(ct.UsageError, match="pip install"):
        asked[missing]()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", files.SUFFIXES)
def test_a_file_that_exists_stays_as_it_is(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"mine{suffix}"
    path.write_text("mine")
    with pytest.raises(ct.UsageError, match=r"exists.*another name"):
        top_list(["a"]).write(path)
    (tmp_path / f"link{suffix}").symlink_to(tmp_path / "nowhere")
    with pytest.raises(ct.UsageError, match="exists"):
        top_list(["a"]).write(tmp_path / f"link{suffix}")
    assert path.read_text() == "mine"
    assert not (tmp_path / "nowhere").exists()
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize("links", [True, False])
def test_a_file_that_came_meanwhile_stays_as_it_is(
    links: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.json"

    def slow(answer: Any, part: Path) -> None:
        part.write_text("ours")
        path.write_text("theirs")

    def unable(*_: object) -> None:
        raise OSError("no links here")

    monkeypatch.setitem(files.SUFFIXES, ".json", slow)  # type: ignore[arg-type]
    if not links:
        monkeypatch.setattr(files.os, "link", unable)
    with pytest.raises(ct.UsageError, match="exists"):
        top_list(["a"]).write(path)
    assert [(one.name, one.read_text()) for one in tmp_path.iterdir()] == [("a.json", "theirs")]


def test_without_links_a_file_is_written_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unable(*_: object) -> None:
        raise OSError("no links here")

    monkeypatch.setattr(files.os, "link", unable)
    written(top_list(["a"]), tmp_path, ".json")
    assert [one.name for one in tmp_path.iterdir()] == ["answer.json"]


@pytest.mark.parametrize("suffix", files.SUFFIXES)
def test_a_failure_half_way_leaves_nothing(
    suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("crowdtally.core.files.flush", full)
    with pytest.raises(ct.CrowdtallyError, match=r"cannot be written: No space left"):
        written(top_list(["a"]), tmp_path, suffix)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["answer", "answer.doc", "answer.csv.gz", ".csv"])
def test_an_unknown_suffix(name: str, tmp_path: Path) -> None:
    with pytest.raises(ct.UsageError, match=re.escape(".csv, .json, .parquet, .xlsx")):
        top_list(["a"]).write(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_suffix_in_capitals_and_a_folder_that_is_not_there(tmp_path: Path) -> None:
    assert json.loads(top_list(["a"]).write(tmp_path / "A.JSON").read_text())
    with pytest.raises(ct.UsageError, match="not a folder"):
        top_list(["a"]).write(tmp_path / "nowhere" / "a.csv")
    odd = tmp_path / "it's [odd]"
    odd.mkdir()
    assert pq.read_table(str(top_list(["a"]).write(odd / "a'b.parquet"))).num_rows == 1
