"""The type of a column: inferred, declared, or as the source has it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, time
from decimal import Decimal
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
from crowdtally.records.locate import locate
from crowdtally.records.prepare import prepare
from kit.draws import SilentDraws
from kit.every_source import DAYS, PLACES, _csv, _dictionary, _parquet, counted

pytestmark = [
    pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:The 'future.infer_string' option"),
]


# ---- Expressions over columns whose type was inferred: text, a declared type, or a refusal -------


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


_TENTHS = pa.array([Decimal("7.00"), Decimal("7.10")], pa.decimal128(5, 2))
_CLOCKS = pa.array([time(10, 0, 0, 500_000), time(10)], pa.time64("us"))
COLUMNS: dict[str, tuple[pa.Array, list[str]]] = {
    "decimals": (_TENTHS, ["7", "7.1"]),
    "times of day": (_CLOCKS, ["10:00:00.5", "10:00:00"]),
    "bytes": (pa.array([b"a'b", b"\xff"], pa.binary()), ["a\\x27b", "\\xFF"]),
    "dates": (pa.array([date(2024, 2, 29), date(1, 1, 1)]), ["2024-02-29", "0001-01-01"]),
    "times": (pa.array([datetime(2024, 2, 29), datetime(2024, 3, 1, 9)]),
              ["2024-02-29", "2024-03-01 09:00:00"]),
}  # fmt: skip


def texts(frame: Any) -> list[str | None]:
    with DuckDBEngine() as engine:
        engine.open(locate(frame), "source")
        found: list[str | None] = engine.arrow("SELECT x FROM source")["x"].to_pylist()
        return found


@pytest.mark.parametrize("newcomer", ["guest", None, 3, datetime(2024, 1, 1, 10)])
@pytest.mark.parametrize("kind", COLUMNS)
def test_what_becomes_objects_or_times_keeps_its_text(kind: str, newcomer: object) -> None:
    """One value of another type makes pandas store objects, and makes times of dates."""
    values, wanted = COLUMNS[kind]
    alone = pd.DataFrame({"x": pd.Series(values, dtype=pd.ArrowDtype(values.type))})
    assert texts(alone) == texts(pl.DataFrame({"x": values})) == wanted
    joined = pd.concat([alone, pd.DataFrame({"x": [newcomer]})], ignore_index=True)
    assert texts(joined)[:2] == wanted


def test_one_time_among_dates_changes_no_date() -> None:
    days = [date(2024, 2, 29), date(2024, 3, 1)]
    joined = pl.DataFrame({"x": [*days, datetime(2024, 1, 1, 10)]}, strict=False)
    assert joined["x"].dtype == pl.Datetime
    assert texts(joined) == ["2024-02-29", "2024-03-01", "2024-01-01 10:00:00"]


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
    monkeypatch.setattr("crowdtally.api.SystemDraws", SilentDraws)
    made = []
    for number, last in enumerate(([], [None])):
        frame = pd.DataFrame({"u": range(len(AGES) + len(last)), "age": [*AGES, *last]})
        records = ct.read(frame, user="u", item={"k": "'age ' || age"})
        release = ct.release(
            records, ct.Domain([f"age {age}" for age in (20, 30, 40)], item="k"), epsilon=1,
            method=ct.SRA(1), ledger=tmp_path / f"{number}.sqlite", dataset="d", new_dataset=True,
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


def test_a_constant_that_cannot_be_computed_is_told_before_records_are_read() -> None:
    """DuckDB computes some constants outside TRY, when it plans: no record has a say in it."""
    for where in ("IF(lower('zz'), true, k = 'a')", "array_reverse(k) = 'x'"):
        records = ct.read(FRAME, user="u", item="k", where=where)
        with pytest.raises(ct.UsageError, match="cannot be computed for any record"):
            ct.inspect(records, ct.Domain(["a"], item="k"))


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
        ("hour(day) = 3", "{'day': 'timestamp'} (timestamptz, where times have a zone)"),
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
    with pytest.raises(ct.UsageError, match="write a column without its table, a field as who"):
        ct.read(table, user="u", item="k", where="who.k = 'a'")


@pytest.mark.parametrize("expression", ["typeof(age) || age", "pg_typeof(age)"])
def test_no_expression_asks_for_a_type(expression: str) -> None:
    with pytest.raises(ct.UsageError, match=r"typeof\(\), which is not an allowed function"):
        ct.read(FRAME, user="u", item={"k": expression})


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pl.LazyFrame, pa.table])
def test_columns_that_differ_by_capitals_alone_are_refused(make: Any) -> None:
    """An expression that names the one would read the other."""
    frame = make({"u": [1], "k": ["a"], "x": [3], "X": [4]})
    assert "the frame has columns 'x' and 'X', which are one name" in refused(frame)
    twice = pd.DataFrame([[1, "a", "b"]], columns=["u", "k", "k"])
    assert "the frame has columns 'k' and 'k', which are one name" in refused(twice)


def test_types_are_typed_out() -> None:
    frame = pl.DataFrame({"u": [1], "age": [2]})
    for types in (frame.schema, frame.to_pandas().dtypes, frame.to_pandas().dtypes.to_dict(),
                  frame.to_pandas().dtypes.astype(str), {"age": int},
                  [("age", "int64")]):  # fmt: skip
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


# ---- Integers of any width, text and categories: each is one value, whoever else has which -------


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
