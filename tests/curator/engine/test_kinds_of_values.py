"""Integers of any width, text and categories: each is one value, whoever else has which."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import crowdtally as ct
from crowdtally.core.registry import quoted
from crowdtally.curator.counting.bounded import count_rows
from crowdtally.records import columns, open
from crowdtally.records.duckdb import DuckDBEngine
from crowdtally.records.prepare import prepare
from kit.every_source import (
    DAYS,
    PLACES,
    _csv,
    _dictionary,
    _parquet,
    counted,
)

# Ibis's own calls to DuckDB and pandas, not ours.
pytestmark = [
    pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:The 'future.infer_string' option"),
]


# ---- integer ids --------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [pa.int16(), pa.int32(), pa.int64(), pa.uint32()])
def test_the_width_of_an_integer_does_not_matter(width: pa.DataType, tmp_path: Path) -> None:
    least = 0 if str(width).startswith("u") else -15
    users = [n * n % 31 + least for n in range(300)]
    base = {"place": [PLACES[n % 4] for n in range(300)], "day": ["Mon"] * 300}
    wide = pa.table({"who": pa.array(users, pa.int64()), **base})
    narrow = pa.table({"who": pa.array(users, width), **base})
    right = counted(wide, limit=2)
    for source in (
        narrow,
        pl.from_arrow(narrow),
        narrow.to_pandas(),
        duckdb.from_arrow(narrow),
    ):
        assert counted(source, limit=2) == right
    files = [_parquet(tmp_path, f"{n}.parquet", part) for n, part in enumerate((narrow, wide))]
    assert counted(files[0], limit=2) == counted(files[1], limit=2)


def test_records_take_the_type_of_the_list(tmp_path: Path) -> None:
    """Text and integers are brought to what the list holds, row by row."""
    numbers = pa.table({"who": ["a", "b", "a"], "place": [7, 7, 11], "day": ["Mon"] * 3})
    (tmp_path / "list.csv").write_text("place\n7\n11\n")
    domain = ct.Domain(ct.read_list(tmp_path / "list.csv", "place"), {"day": DAYS})
    assert counted(numbers, domain=domain)[0] == [2, 1]
    path = _csv(tmp_path, "numbers.csv", part=numbers)
    assert counted(path, domain=domain)[0] == [2, 1]
    assert counted(path, domain=ct.Domain([7, 11], {"day": DAYS}))[0] == [2, 1]
    for source in (numbers, path):
        assert counted(source, domain=ct.Domain(["7", "07", "11"], {"day": DAYS}))[0] == [2, 0, 1]


def test_huge_integers_are_outside_a_list_of_64_bits(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "base.duckdb")) as base:
        base.execute(
            "CREATE TABLE visits AS SELECT 'a' AS who, 'Mon' AS day, "
            "unnest([7, 170141183460469231731687303715884105727])::HUGEINT AS place"
        )
    domain = ct.Domain([7], {"day": DAYS})
    items, _, dropped = counted(f"{tmp_path / 'base.duckdb'}#visits", domain=domain)
    assert items == [1]
    assert dropped.outside == 1


def test_text_compares_bytewise() -> None:
    composed, decomposed = "caf\u00e9", "cafe\u0301"
    frame = pa.table({"who": ["a"] * 3, "place": [composed, decomposed, "CAF\u00c9"]})
    items, _, dropped = counted(frame, domain=ct.Domain([composed]), contexts=[])
    assert (items, dropped.outside) == ([1], 2)


def test_weights_are_added_exactly() -> None:
    """A sum beyond 2^53 is no float's business: one person must make a difference of one."""
    heavy = 2**33
    weights = [heavy] * 2**21 + [1, 0, -5, heavy + 1, None, 7]
    frame = pa.table({"place": ["x"] * (len(weights) - 1) + ["y"], "persons": weights})
    records = ct.read(frame, user_per_row=True, weight="persons", item="place")
    with DuckDBEngine() as engine:
        prepared = prepare(engine, records, ct.Domain(["x", "y"], item="place"))
        items, _ = count_rows(engine, prepared).found
    total = 2**54 + heavy + 1  # more persons than there are people are cut, not dropped
    assert items.dense().tolist() == [total, 7]
    assert float(total) != total, "the case that a float would round"


# ---- categories ---------------------------------------------------------------------------------


def _histories(users: list[str]) -> pa.Table:
    """Each user has ten items of their own, so that a table of items shows everyone's sample."""
    pairs = [(user, f"{user}/{n}") for user in users for n in range(10)]
    return pa.table({"who": [p[0] for p in pairs], "place": [p[1] for p in pairs]})


CATEGORIES: dict[str, Callable[[pa.Table], Any]] = {
    "pandas": lambda whole: whole.to_pandas().astype({"who": "category"}),
    "pandas, sorted otherwise": lambda whole: whole.to_pandas().assign(
        who=lambda f: pd.Categorical(f.who, categories=sorted(set(f.who), reverse=True))
    ),
    "polars": lambda whole: pl.from_arrow(whole).cast({"who": pl.Categorical}),
    "polars enum": lambda whole: pl.from_arrow(whole).cast(
        {"who": pl.Enum(sorted(set(whole["who"].to_pylist())))}
    ),
    "pyarrow": _dictionary,
}


def _sample_of(user: str, frame: Any, key: int) -> list[int]:
    """How often each of the user's ten items was kept."""
    domain = ct.Domain([f"{user}/{n}" for n in range(10)])
    return counted(frame, limit=3, key=key, domain=domain, contexts=[])[0]


@pytest.mark.parametrize("kind", CATEGORIES)
def test_categories_of_others_change_nobodys_sample(kind: str) -> None:
    """The code of a category depends on which others there are; only its text may be hashed."""
    alone, crowd = _histories(["m", "n"]), _histories(["a", "b", "m", "n", "z"])
    for key in range(3):
        before = _sample_of("m", CATEGORIES[kind](alone), key)
        assert sum(before) == 3
        assert before == _sample_of("m", CATEGORIES[kind](crowd), key)
        assert before == _sample_of("m", alone, key)


def test_a_category_hashed_by_its_code_is_caught() -> None:
    def by_code(column: str, *_: object) -> str:
        return f"enum_code({quoted(column)})"

    alone, crowd = _histories(["m", "n"]), _histories(["a", "b", "m", "n", "z"])
    as_found = mock.patch.object(open, "bare", lambda name, kind: (quoted(name), kind))
    with as_found, mock.patch.object(columns, "identity", by_code):
        pairs = [
            [_sample_of("m", CATEGORIES["pandas"](whole), key) for whole in (alone, crowd)]
            for key in range(5)
        ]
    assert any(before != after for before, after in pairs)


def test_a_message_does_not_list_categories(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "base.duckdb")) as base:
        base.execute("CREATE TYPE mood AS ENUM ('elsewhere', 'here')")
        base.execute("CREATE TABLE visits (who VARCHAR, place mood[], n mood)")
    source = f"{tmp_path / 'base.duckdb'}#visits"
    with pytest.raises(ct.InputError, match=r"has type VARCHAR\[\], which cannot") as caught:
        counted(source, domain=ct.Domain(["here"]), contexts=[])
    assert "elsewhere" not in str(caught.value)
    areas = _parquet(tmp_path, "areas.parquet", pa.table({"n": [1.5], "area": ["x"]}))
    with pytest.raises(ct.InputError, match="but VARCHAR in the records") as caught:
        counted(source, joins=[(areas, "n")])
    assert "elsewhere" not in str(caught.value)
