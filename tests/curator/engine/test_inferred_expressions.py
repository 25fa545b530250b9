"""Expressions over columns whose type was inferred: text, a declared type, or a refusal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import crowdtally as ct
from crowdtally.curator.engine.duckdb import DuckDBEngine
from crowdtally.curator.engine.prepare import prepare
from kit.silent import SilentDraws

AGES = [20, 30, 40] * 100
FRAMES: dict[str, Any] = {
    "pandas": pd.DataFrame,
    "pandas nullable": lambda rows: pd.DataFrame(rows).convert_dtypes(),
    "polars": lambda rows: pl.DataFrame(rows, strict=False),
}
EXPRESSIONS = {
    "'age ' || age": ["age 20", "age 30", "age 40"],
    "CAST(age AS VARCHAR)": ["20", "30", "40"],
    "age || ''": ["20", "30", "40"],
    "typeof(age) || age": ["VARCHAR20", "VARCHAR30", "VARCHAR40"],
    "CASE WHEN age < '3' THEN 'young' ELSE 'old' END": ["young", "old", "none"],
    "length(age)": [2, 3, 4],
    "concat_ws('', age)": ["20", "30", "40"],
}


def counts(frame: Any, listed: list[Any], **roles: Any) -> list[int]:
    """How many of the first 300 users have each value, and nothing of the newcomer."""
    domain = ct.Domain(listed, item="k")
    with DuckDBEngine() as engine:
        rows = prepare(engine, ct.read(frame, user="u", **roles), domain).rows
        kept = engine.columns(rows.filter(rows.cell.notnull()).select("user", "cell"))
    mine = [c for u, c in zip(kept["user"], kept["cell"], strict=True) if int(u) < len(AGES)]
    return [mine.count(cell) for cell in range(len(listed))]


@pytest.mark.parametrize("newcomer", [None, 1.5, "guest"])
@pytest.mark.parametrize("maker", FRAMES)
@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_one_user_rewrites_nobody(expression: str, maker: str, newcomer: object) -> None:
    alone = FRAMES[maker]({"u": range(len(AGES)), "age": AGES})
    joined = FRAMES[maker]({"u": range(len(AGES) + 1), "age": [*AGES, newcomer]})
    listed = EXPRESSIONS[expression]
    before = counts(alone, listed, item={"k": expression})
    assert sum(before) == len(AGES)
    assert counts(joined, listed, item={"k": expression}) == before


def test_a_relation_over_csv(tmp_path: Path) -> None:
    found = []
    for name, last in (("alone", []), ("joined", ["300,1.5"])):
        lines = [f"{user},{age}" for user, age in enumerate(AGES)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["u,age", *lines, *last, ""]))
        relation = duckdb.read_csv(str(tmp_path / f"{name}.csv"))
        found.append(counts(relation, ["20", "30", "40"], item={"k": "age || ''"}))
    assert found == [[100, 100, 100]] * 2


def test_the_releases_of_neighbours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The issue itself, without noise."""
    monkeypatch.setattr("crowdtally.facade.SystemDraws", SilentDraws)
    made = []
    for number, last in enumerate(([], [None])):
        frame = pd.DataFrame({"u": range(len(AGES) + len(last)), "age": [*AGES, *last]})
        records = ct.read(frame, user="u", item={"k": "'age ' || age"})
        release = ct.release(
            records, ct.Domain([f"age {age}" for age in (20, 30, 40)], item="k"), epsilon=1,
            max_records=1, ledger=tmp_path / f"{number}.sqlite", dataset="d", new_dataset=True,
        )  # fmt: skip
        made.append([one.count for one in release.top(3, raw=True)])
    assert made == [[100, 100, 100]] * 2


def test_declared_columns_take_every_role() -> None:
    frame = pd.DataFrame({"u": [1.0, 2.5, None], "k": ["7", "7.0", "x"], "n": ["1", "x", "2"]})
    types = {"u": "int64", "k": "int64", "n": "int64"}
    records = ct.read(frame, user="u", item="k", where="n < 2", types=types)
    with DuckDBEngine() as engine:
        rows = prepare(engine, records, ct.Domain([7], item="k")).rows
        found = engine.columns(rows.select("user", "cell"))
    assert [found["user"].tolist(), found["cell"].tolist()] == [[1], [0]]


# ---- refusals ------------------------------------------------------------------------------------

FRAME = pd.DataFrame({"u": [1], "k": ["a"], "rating": [4], "timestamp": [0], "day": ["x"]})


def refused(frame: Any = FRAME, **roles: Any) -> str:
    with pytest.raises(ct.InputError) as caught:
        ct.inspect(ct.read(frame, user="u", item="k", **roles), ct.Domain(["a"], item="k"))
    return str(caught.value)


@pytest.mark.parametrize(
    ("where", "types"),
    [
        ("rating >= 4", "{'rating': 'int64'}"),
        ("rating >= 4.5", "{'rating': 'float64'}"),
        ("RATING + 1 = 2 AND k = 'a'", "{'rating': 'int64'}"),
        ("dayname(to_timestamp(timestamp)) = 'Monday'", "{'timestamp': 'int64'}"),
        ("hour(day) = 3", "{'day': 'timestamp'}"),
        ("rating + timestamp > 3", "{'rating': 'int64', 'timestamp': 'int64'}"),
    ],
)
def test_a_refusal_says_which_type_to_declare(where: str, types: str) -> None:
    assert f"add types={types}." in refused(where=where)


def test_the_refusal_does_not_depend_on_the_rows() -> None:
    other = FRAME.assign(rating=["much"], timestamp=[None])
    for where in ("rating >= 4", "hour(to_timestamp(timestamp)) = 3", "rating + timestamp > 3"):
        assert refused(where=where) == refused(other, where=where)


def test_lists_and_fields_are_refused() -> None:
    table = pa.table({"u": [1], "k": ["a"], "tags": [["x"]], "who": [{"k": "a"}]})
    assert "'tags', whose values are lists" in refused(table, where="tags[1] = 'x'")
    assert "'who', whose values are lists" in refused(table, where="who IS NOT NULL")
    assert "name columns alone" in refused(table, where="who.k = 'a'")


def test_types_are_typed_out() -> None:
    frame = pl.DataFrame({"u": [1], "age": [2]})
    for types in (frame.schema, frame.to_pandas().dtypes, frame.to_pandas().dtypes.to_dict(),
                  {"age": int}, [("age", "int64")]):  # fmt: skip
        with pytest.raises(ct.UsageError, match=r"typed out, such as \{'age': 'int64'\}; not df"):
            ct.read(frame, user="u", item="age", types=types)  # type: ignore[arg-type]
    with pytest.raises(ct.UsageError, match=r"no type is called 'integer' .*There are: int64,"):
        ct.read(frame, user="u", item="age", types={"age": "integer"})
    assert "types declares a column 'agee', which does not exist" in refused(types={"agee": "date"})


def test_an_inspection_shows_what_to_declare() -> None:
    found = ct.inspect(ct.read(FRAME, user="u", item="k", types={"rating": "int64"}),
                       ct.Domain(["a"], item="k"))  # fmt: skip
    assert found.to_dict()["types"] == {"u": "int64", "timestamp": "int64"}
    assert "types={'u': 'int64', 'timestamp': 'int64'}" in " ".join(str(found).split())
