"""Items from a joined table or an expression, and keys of two names: the same on every engine."""

from __future__ import annotations

import csv
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

import crowdtally as ct
from crowdtally.core.domain import Domain
from crowdtally.curator.bounding.sampling import SRA
from crowdtally.errors import InputError
from crowdtally.records.duckdb import DuckDBEngine
from crowdtally.records.prepare import prepare
from kit.databases import kept_by
from kit.spark import Start

TAGS = {7: "drama", -7: "comedy|war", 0: "comedy", 12: None, 70: "war|drama"}
"""What the table says about each film."""
SPELLINGS = ["7", "-7", "0", "12", "70", "07", "7.0", " 7", "+7", "-0", "8", None]
"""Keys as text: the first five are integers in plain spelling that the table has."""
LIST = ["comedy", "drama", "war", "comedy|war", "war|drama"]


def _rows() -> list[dict[str, Any]]:
    rng = np.random.default_rng(3)
    films = [7, -7, 0, 12, 70, 8, None]
    return [
        {
            "who": f"u{rng.integers(0, 30)}",
            "number": films[rng.integers(0, len(films))],
            "text": SPELLINGS[rng.integers(0, len(SPELLINGS))],
        }
        for _ in range(1500)
    ]


ROWS = _rows()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Records and tables with the same contents as Parquet, whose keys are integers, and as CSV."""
    made = tmp_path_factory.mktemp("derived")
    schema = pa.schema([("who", pa.string()), ("number", pa.int64()), ("text", pa.string())])
    parquet.write_table(pa.Table.from_pylist(ROWS, schema), made / "records.parquet")
    films = pa.table({"film": pa.array(list(TAGS), pa.int32()), "tags": list(TAGS.values())})
    parquet.write_table(films, made / "films.parquet")
    with (made / "films.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("film", "tags"), *((k, v or "") for k, v in TAGS.items())])
    with (made / "records.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([list(ROWS[0]), *(list(row.values()) for row in ROWS)])
    return made


def counted(
    start: Start, folder: Path, key: str, films: Any, item: Any = "tags", **given: Any
) -> Counter[str]:
    """How many records each listed item has."""
    source = folder / given.pop("records", "records.parquet")
    records = ct.read(source, user="who", item=item, joins=[(films, (key, "film"))], **given)
    name = item if isinstance(item, str) else next(iter(item))
    with start() as engine:
        prepared = prepare(engine, records, Domain(LIST, item=name))
        kept = kept_by(engine, prepared, SRA(2**20), 1, "records")
    total: Counter[str] = Counter()
    for cells in kept.values():
        total.update({LIST[cell]: number for cell, number in cells.items()})
    return total


def expected(key: str) -> Counter[str]:
    films = {str(film): tags for film, tags in TAGS.items()}
    found = (films.get(str(row[key])) for row in ROWS if row[key] is not None)
    return Counter(tags for tags in found if tags is not None)


KEYS = {
    "integers of two widths": ("number", "films.parquet", "records.parquet"),
    "text in the records, integers in the table": ("text", "films.parquet", "records.parquet"),
    "integers in the records, text in the table": ("number", "films.csv", "records.parquet"),
    "text in both": ("text", "films.csv", "records.parquet"),
    "records as csv": ("number", "films.parquet", "records.csv"),
}


@pytest.mark.quick_on_spark(
    "text in the records, integers in the table", "integers in the records, text in the table"
)
@pytest.mark.parametrize("name", KEYS)
def test_an_item_of_a_joined_table(name: str, folder: Path, start_engine: Start) -> None:
    """A text is the integer that it plainly spells: 7 is '7', and not '07', '7.0' or ' 7'."""
    key, films, records = KEYS[name]
    found = counted(start_engine, folder, key, folder / films, records=records)
    assert found == expected(key)
    assert found.total() > 400


def test_an_item_that_is_computed_from_a_joined_column(folder: Path, start_engine: Start) -> None:
    item = {"first": "split_part(tags, '|', 1)"}
    found = counted(start_engine, folder, "number", folder / "films.parquet", item)
    wanted: Counter[str] = Counter()
    for tags, number in expected("number").items():
        wanted[tags.split("|")[0]] += number
    assert found == wanted


def test_the_tables_own_key_is_no_clash(folder: Path, start_engine: Start) -> None:
    """A table whose key has the name of another column of the records is joined all the same."""
    films = pa.table({"text": list(TAGS), "tags": list(TAGS.values())})
    path = folder / "same_name.parquet"
    parquet.write_table(films, path)
    joins = [(path, ("number", "text"))]
    records = ct.read(
        folder / "records.parquet", user="who", item="tags", joins=joins, contexts=["text"]
    )
    spelled = [text for text in SPELLINGS if text is not None]
    with start_engine() as engine:
        lists = Domain(LIST, {"text": spelled}, item="tags")
        kept = kept_by(engine, prepare(engine, records, lists), SRA(2**20), 1, "records")
    total: Counter[tuple[str, str]] = Counter()
    for cells in kept.values():
        for cell, number in cells.items():
            place, text = divmod(cell, len(spelled))
            total[LIST[place], spelled[text]] += number
    assert total == Counter(
        (TAGS[row["number"]], row["text"])
        for row in ROWS
        if TAGS.get(row["number"]) is not None and row["text"] is not None
    )


@pytest.mark.parametrize(
    ("item", "kind"),
    [("tags", str), ({"size": "length(tags)"}, int), ({"half": "tags || '!'"}, str)],
)
def test_items_are_discovered_from_joins_and_expressions(
    item: Any, kind: type, folder: Path, start_engine: Start
) -> None:
    joins = [(folder / "films.parquet", ("number", "film"))]
    records = ct.read(folder / "records.parquet", user="who", item=item, joins=joins)
    with start_engine() as engine:
        cells = engine.columns(prepare(engine, records, None).rows)["cell"].tolist()
    made = {"tags": lambda tags: tags, "size": len, "half": lambda tags: f"{tags}!"}
    name = item if isinstance(item, str) else next(iter(item))
    wanted = {made[name](tags) for tags in expected("number")}
    known = [cell for cell in cells if cell is not None and cell == cell]
    assert {kind(cell) for cell in known} == wanted


def test_what_is_discovered_from_a_frame_is_text(start_engine: Start) -> None:
    """Its types were made from the rows, so that one user could decide what is published."""
    types = defaultdict(set)
    for values in ([1, 2, 3], ["1", "2", "guest"]):
        frame = pa.table({"who": ["a", "b", "c"], "n": values})
        records = ct.read(frame, user="who", item={"m": "n"})
        with start_engine() as engine:
            rows = prepare(engine, records, None).rows
            types[str(rows.cell.type())].update(engine.columns(rows)["cell"].tolist())
    assert types == {"string": {"1", "2", "3", "guest"}}


def test_uniqueness_is_that_of_the_joined_form(folder: Path, start_engine: Start) -> None:
    """Texts that a cast would make one integer are different keys; equal texts are not."""
    for keys, repeats in ((["7", "07"], False), (["7", "7"], True)):
        with (folder / "keys.csv").open("w", newline="") as file:
            csv.writer(file).writerows([("film", "tags"), *((key, "war") for key in keys)])
        found = counted(start_engine, folder, "number", folder / "keys.csv")
        wanted = sum(row["number"] == 7 for row in ROWS)
        assert wanted
        assert found == (Counter() if repeats else Counter(war=wanted))


def test_keys_that_cannot_meet(folder: Path, start_engine: Start) -> None:
    films = folder / "films.parquet"
    other = ct.read(
        folder / "records.parquet", user="who", item="tags", joins=[(films, ("number", "movie"))]
    )
    missing = pytest.raises(InputError, match=r"has no column 'movie' \(the join key\)")
    with start_engine() as engine, missing:
        prepare(engine, other, Domain(LIST, item="tags"))
    with pytest.raises(InputError, match=r"has no column 'film' \(a join key, which is a column"):
        counted(start_engine, folder, "film", films)
    dated = pa.table({"film": pa.array([0], pa.date32()), "tags": ["war"]})
    parquet.write_table(dated, folder / "dated.parquet")
    with pytest.raises(InputError, match=r"is DATE in .* but 'number' BIGINT in the records"):
        counted(start_engine, folder, "number", folder / "dated.parquet")
    clash = pa.table({"film": [7], "tags": ["war"], "TEXT": ["x"]})
    parquet.write_table(clash, folder / "clash.parquet")
    with pytest.raises(InputError, match="column 'TEXT' is in the records and in"):
        counted(start_engine, folder, "number", folder / "clash.parquet")


@pytest.mark.parametrize("newcomer", ["guest", None, 1.5])
def test_no_row_decides_the_kind_of_a_computed_value(newcomer: object) -> None:
    """The kind of what is discovered is published."""
    kinds = []
    for values in ([1, 2], [1, 2, newcomer]):
        frame = pd.DataFrame({"u": range(len(values)), "i": "x", "n": values})
        texts = {"k": "CAST(n AS INTEGER) + 1", "l": "n || ''", "m": "COALESCE(n, 'none')"}
        records = ct.read(frame, user="u", item="i", contexts=texts)
        with DuckDBEngine() as engine:
            matched_rows = prepare(engine, records, None).matched
            kinds.append([str(matched_rows[f"axis_{axis}"].type()) for axis in (1, 2, 3)])
    assert kinds == [["int64", "string", "string"]] * 2
