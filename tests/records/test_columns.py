"""The canonical text of a value does not depend on its column's type; the list decides the rest."""

from __future__ import annotations

from collections import Counter
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import crowdtally as ct
from crowdtally.curator.bounding.sampling import SRA
from crowdtally.curator.counting.bounded import count, count_rows
from crowdtally.records import copying, open
from crowdtally.records.columns import SourceColumn, canonical_text, matchable, same_key
from crowdtally.records.duckdb import DuckDBEngine
from crowdtally.records.engine import countable
from crowdtally.records.locate import locate
from crowdtally.records.prepare import prepare

EXACT = 2**53


def text_of(literal: str, kind: str, knowledge: Any) -> str | None:
    sql = canonical_text("x", kind, knowledge)
    (row,) = duckdb.sql(f"SELECT {sql} FROM (SELECT CAST({literal} AS {kind}) AS x)").fetchall()
    return row[0]


INFERRED: list[tuple[str, str, str | None]] = [
    ("7", "BIGINT", "7"),
    ("7", "DOUBLE", "7"),
    ("7", "FLOAT", "7"),
    ("'7'", "VARCHAR", "7"),
    ("'07'", "VARCHAR", "07"),
    ("'7.0'", "VARCHAR", "7.0"),
    ("-7", "TINYINT", "-7"),
    ("-0.0", "DOUBLE", "0"),
    ("0.5", "DOUBLE", "0.5"),
    ("'nan'", "DOUBLE", None),
    ("'-inf'", "DOUBLE", None),
    ("NULL", "DOUBLE", None),
    (f"{EXACT - 1}", "DOUBLE", f"{EXACT - 1}"),
    (f"{EXACT}", "DOUBLE", None),
    (f"{-EXACT}", "DOUBLE", None),
    ("1e300", "DOUBLE", None),
    ("16777215", "FLOAT", "16777215"),
    ("16777216", "FLOAT", "16777216"),
    ("9007199254740992", "FLOAT", None),
    ("0.1", "FLOAT", "0.10000000149011612"),
    ("true", "BOOLEAN", "true"),
    ("'2024-02-29'", "DATE", "2024-02-29"),
    ("1.50", "DECIMAL(9,2)", "1.5"),
    ("1.5", "DECIMAL(9,1)", "1.5"),
    ("10.00", "DECIMAL(9,2)", "10"),
    ("10", "DECIMAL(9,0)", "10"),
]


@pytest.mark.parametrize(("literal", "kind", "text"), INFERRED)
@pytest.mark.parametrize("knowledge", ["inferred", "guessed"])
def test_one_text_for_one_value(literal, kind, text, knowledge):
    assert text_of(literal, kind, knowledge) == text


@pytest.mark.parametrize("number", [EXACT - 1, EXACT, EXACT + 1, 10**18, -EXACT, 1 - EXACT])
@pytest.mark.parametrize("kind", ["BIGINT", "VARCHAR", "HUGEINT"])
def test_long_numbers_are_left_out_only_where_they_may_have_been_floats(number, kind):
    assert text_of(f"'{number}'", kind, "inferred") == str(number)
    assert text_of(f"'{number}'", kind, "guessed") == (str(number) if abs(number) < EXACT else None)


@pytest.mark.parametrize("text", ["9" * 400, "-" + "9" * 40])
def test_the_longest_numbers_in_text(text):
    assert text_of(f"'{text}'", "VARCHAR", "guessed") is None


def test_what_looks_like_a_number_and_is_a_text():
    for text in (f"0{EXACT}", f"{EXACT}.0", f" {EXACT}", f"a{EXACT}"):
        assert text_of(f"'{text}'", "VARCHAR", "guessed") == text


def test_lists_and_maps_have_no_text():
    assert canonical_text("x", "INTEGER[]", "inferred") is None


# ---- how a type is known -------------------------------------------------------------------------


def knowledge(held: object) -> Any:
    return copying.ready(held)[1]


def test_only_nullable_types_of_pandas_keep_their_integers():
    frame = pd.DataFrame({"a": [1], "b": [1.5], "c": ["x"], "d": [np.datetime64("2024-01-01")]})
    assert set(knowledge(frame).values()) == {"guessed"}
    nullable = frame[["a", "c"]].convert_dtypes()
    assert knowledge(nullable) == {"a": "inferred", "c": "inferred"}
    arrow = frame[["a"]].astype("int64[pyarrow]")
    assert knowledge(arrow) == {"a": "inferred"}
    assert knowledge(pl.DataFrame({"a": [1]})) == "inferred"
    assert knowledge(pa.table({"a": [1]})) == "inferred"


def test_objects_of_any_mixture_become_text():
    mixed = [7, 7.0, "7", np.int64(7), True, None, float("nan"), 1.5, "x", 2**70]
    wanted = ["7", "7", "7", "7", "true", None, None, "1.5", "x", str(2**70)]
    objects = pd.Series(mixed, dtype=object)
    assert _texts(objects) == wanted
    assert _texts(pd.Series([7, "x", None], dtype=object).astype("category")) == ["7", "x", None]


NARROW = pd.Series(np.array([0.1, 2, 16777216, 2.0**60], dtype="float32"))
TIMES = pd.Series(["2024-01-31", "2024-02-29T10:00:00.5", "2024-03-31T00:30"]).astype("M8[us]")
PRECISE = pd.to_datetime(pd.Series(["2024-02-29 10:00:00.123456789"]))


@pytest.mark.parametrize("newcomer", ["guest", None, float("nan"), 1.5])
@pytest.mark.parametrize(
    "series",
    [NARROW, TIMES, PRECISE, TIMES.dt.tz_localize("Europe/Vienna"), PRECISE.dt.tz_localize("UTC")],
)
def test_one_more_value_changes_no_text(series, newcomer):
    alone = _read_texts(series)
    assert any(alone)
    for joined in (
        pd.concat([series, pd.Series([newcomer])], ignore_index=True),
        pd.Series([*series.tolist(), newcomer]),
    ):
        assert _read_texts(joined)[:-1] == alone


def _read_texts(series: pd.Series) -> list[Any]:
    """As the engine reads a frame's column."""
    with DuckDBEngine() as engine:
        engine.open(locate(pd.DataFrame({"a": series})), "source")
        return [row[0] for row in engine._connection.execute("SELECT a FROM source").fetchall()]


def _texts(series: pd.Series) -> list[Any]:
    found = copying.ready(pd.DataFrame({"a": series}))[0]["a"].tolist()
    return [None if value is None or value != value else value for value in found]


def declared(connection: duckdb.DuckDBPyConnection, path: str, table: str) -> str:
    connection.close()
    with DuckDBEngine() as engine:
        return str(
            open.opened(engine._connection, locate(f"{path}#{table}"), "t", None).knowledge  # type: ignore[arg-type]
        )


@pytest.mark.parametrize(
    ("definition", "wanted"),
    [
        ("CREATE TABLE t AS SELECT 1 AS i", "declared"),
        ("CREATE TABLE u AS SELECT 1 AS i; CREATE VIEW t AS FROM u", "inferred"),
        ("CREATE VIEW t AS FROM 'rows.parquet'", "inferred"),
        ("CREATE VIEW t AS FROM 'rows.csv'", "guessed"),
        (
            "CREATE VIEW t AS SELECT a.i FROM 'rows.parquet' a JOIN 'rows.csv' b USING (i)",
            "guessed",
        ),
        ("CREATE VIEW t AS SELECT * FROM range(3) AS r(i)", "guessed"),
    ],
)
def test_a_view_knows_as_much_as_what_it_reads(definition, wanted, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.csv").write_text("i\n1\n")
    duckdb.sql("SELECT 1 AS i").write_parquet("rows.parquet")
    with duckdb.connect("base.duckdb") as base:
        base.execute(definition)
        assert declared(base, "base.duckdb", "t") == wanted
        assert locate("base.duckdb#T").label == f"{tmp_path}/base.duckdb#t"


def test_asking_what_a_relation_reads_leaves_nothing_behind():
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS i")
        with DuckDBEngine() as engine:
            assert engine.open(locate(connection.sql("FROM t")), "r") == {
                "i": SourceColumn("VARCHAR", declared=False, own="INTEGER")
            }
        views = connection.execute("SELECT count(*) FROM duckdb_views() WHERE NOT internal")
        assert views.fetchone() == (0,)


# ---- the list decides ----------------------------------------------------------------------------

AS_INTEGER = {"7": 7, "-7": -7, "07": None, " 7": None, "7.0": None, "+7": None, "x": None,
              "-0": None, "9" * 30: None, "1e3": None, "": None}  # fmt: skip


@pytest.mark.parametrize("text", AS_INTEGER)
def test_text_is_an_integer_in_plain_spelling_only(text):
    sql = matchable("x", "VARCHAR", "integer", "i")
    assert duckdb.sql(f"SELECT {sql} FROM (SELECT '{text}' AS x)").fetchall() == [
        (AS_INTEGER[text],)
    ]


def test_a_declared_type_that_has_no_integers_is_refused():
    with pytest.raises(ct.InputError, match="is integer, but the records hold DATE"):
        matchable("x", "DATE", "integer", "i")
    with pytest.raises(ct.InputError, match=r"has type INTEGER\[\], which cannot be matched"):
        matchable("x", "INTEGER[]", "text", "i")


def test_keys_of_one_type():
    assert same_key("INTEGER", "BIGINT")
    assert not same_key("BIGINT", "VARCHAR")


def kept(source: object, domain: ct.Domain, **roles: Any) -> Counter[int]:
    with DuckDBEngine() as engine:
        prepared = prepare(engine, ct.read(source, user="u", item="i", **roles), domain)
        cells = engine.columns(countable(prepared.rows))["cell"].tolist()
    return Counter(cells)


def test_a_text_among_integers_is_outside_a_list_of_integers_and_nothing_more():
    domain = ct.Domain([1, 2], item="i")
    for items in ([1, 1, 2], [1, 1, 2, "abc"], [1, 1, 2, None], ["1", 1, 2.0]):
        frame = pd.DataFrame({"u": range(len(items)), "i": items})
        assert kept(frame, domain) == Counter({0: 2, 1: 1})


def test_keys_of_frames_are_joined_by_their_text():
    ages = pd.DataFrame({"u": [1, 2, None], "age": [30, 40, 50]})
    people = pa.table({"u": ["1", "2", "guest"], "i": ["x", "x", "x"]})
    domain = ct.Domain(["x"], {"age": [30, 40]}, item="i")
    for records in (people, people.to_pandas(), pl.from_arrow(people)):
        assert kept(records, domain, contexts=["age"], joins=[(ages, "u")]) == Counter({0: 1, 1: 1})
    twice = pa.table({"u": ["1", "1"], "age": [30, 40]})
    assert kept(people, domain, contexts=["age"], joins=[(twice, "u")]) == Counter()


def test_a_key_that_a_schema_declares_meets_one_that_was_inferred(tmp_path):
    duckdb.sql("SELECT unnest([1, 2, 9]) AS u, 'x' AS i").write_parquet(str(tmp_path / "r.parquet"))
    ages = pa.table({"u": ["1", "2", "02"], "age": [30, 40, 50]})
    domain = ct.Domain(["x"], {"age": [30, 40, 50]}, item="i")
    found = kept(tmp_path / "r.parquet", domain, contexts=["age"], joins=[(ages, "u")])
    assert found == Counter({0: 1, 1: 1})
    days = "SELECT DATE '2024-02-29' AS u, 'x' AS i"
    duckdb.sql(days).write_parquet(str(tmp_path / "days.parquet"))
    ages = pa.table({"u": ["2024-02-29", "guest"], "age": [40, 50]})
    found = kept(tmp_path / "days.parquet", domain, contexts=["age"], joins=[(ages, "u")])
    assert found == Counter({1: 1})


def test_the_curator_hears_of_values_that_cannot_be_vouched_for():
    frame = pd.DataFrame({"u": [1, 2, 3, 4], "i": [EXACT + 1, 5, 6, None]})
    domain = ct.Domain([5, EXACT + 1], item="i")
    with DuckDBEngine() as engine:
        prepared = prepare(engine, ct.read(frame, user="u", item="i"), domain)
        dropped = count(engine, prepared, SRA(1), key=1, what="records").dropped
    assert (dropped.outside, dropped.inexact) == (3, 1)


def test_rows_without_a_partner_are_dropped():
    kinds = pa.table({"i": ["x"], "kind": ["k"]})
    people = pa.table({"u": ["1", "2"], "i": ["x", "y"]})
    domain = ct.Domain(["x", "y"], item="i")
    assert kept(people, domain, joins=[(kinds, "i")]) == Counter({0: 1})


def test_a_list_of_the_records_own_frame_is_refused():
    frame = pa.table({"u": ["1"], "i": ["x"]})
    with pytest.raises(ct.UsageError, match=r"the records' own table \(held in memory\)"):
        kept(frame, ct.Domain(ct.read_list(frame, "i"), item="i"))
    copy = pa.table({"i": ["x"]})
    assert kept(frame, ct.Domain(ct.read_list(copy, "i"), item="i")) == Counter({0: 1})


def test_a_column_of_nulls_alone_is_one_of_text():
    """Else one user who has a value would decide whether there is a release."""
    for frame in (pa.table({"u": [None], "i": ["x"]}), pl.DataFrame({"u": [None], "i": ["x"]})):
        assert kept(frame, ct.Domain(["x"], item="i")) == Counter()
    empty = pa.table({"u": pa.array([], pa.null()), "i": pa.array([], pa.null())})
    assert kept(empty, ct.Domain([1], item="i")) == Counter()


def test_a_type_that_cannot_be_read_is_said_to_be_one():
    wide = pl.DataFrame({"u": ["a"], "i": ["x"], "n": pl.Series([2**70], dtype=pl.Int128)})
    with pytest.raises(ct.InputError, match="a column of the frame has a type that cannot be read"):
        kept(wide, ct.Domain(["x"], item="i"))


WEIGHTS = {
    7.0: 7,
    0.5: 0,
    1.5: 0,
    -1.0: 0,
    float("inf"): 0,
    float("nan"): 0,
    2.0**40: 2**33,
    1e299: 2**33,
}


@pytest.mark.parametrize("weight", WEIGHTS)
def test_weights_of_a_frame(weight):
    """One missing weight makes floats of all, in pandas."""
    frame = pd.DataFrame({"i": ["x", "y", "y"], "w": [weight, 1.0, None]})
    with DuckDBEngine() as engine:
        records = ct.read(frame, user_per_row=True, weight="w", item="i")
        prepared = prepare(engine, records, ct.Domain(["x", "y"], item="i"))
        items, _ = count_rows(engine, prepared).found
    assert items.dense().tolist() == [WEIGHTS[weight], 1]
