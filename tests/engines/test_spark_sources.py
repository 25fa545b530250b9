"""What Spark reads, which expressions it may be given, and what it says where it cannot."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
import sqlglot

from crowdtally.errors import InputError, UsageError
from crowdtally.records.duckdb import DuckDBEngine
from crowdtally.records.expressions.parse import row_expression, written
from crowdtally.records.locate import locate
from crowdtally.records.spark.engine import SparkEngine
from crowdtally.records.spark.expressions import check, java_pattern, to_spark
from crowdtally.records.start import starter
from kit.spark import engine_beside

# ---- What Spark reads, and what it says where it cannot ------------------------------------------


SECRET = "alice-4711"


@pytest.fixture
def engine(cluster: Any) -> Any:
    with engine_beside(cluster) as opened:
        yield opened


def rows(engine: Any, source: object) -> list[tuple[Any, ...]]:
    offered = engine.open(locate(source), "source")
    columns = engine.columns(engine.table("source").select(*offered))
    return sorted(zip(*(column.tolist() for column in columns.values()), strict=True), key=repr)


CSV = {
    "plain.csv": "user,item\na,x\nb,y\n",
    "quotes.csv": 'user,item\na,"x, y"\nc,"say ""hi"""\n',
    "quoted header.csv": '"user","item"\na,x\n',
    "byte order mark.csv": "\ufeffuser,item\na,x\n",
    "carriage return.csv": "user,item\r\na,x\r\nb,y\r\n",
    "empty and quoted empty.csv": 'user,item\na,\n"",y\n"  ",z\n',
    "semicolons.csv": "user;item\na,1;x\n",
    "tabs.tsv": "user\titem\na\tx\n",
    "no last line break.csv": "user,item\na,x",
    "no rows.csv": "user,item\n",
    "comment sign and percent %20.csv": "user,item\n#a,x\\n'\n",
}


@pytest.mark.parametrize("name", CSV)
def test_csv_reads_as_duckdb_reads_it(name: str, engine: Any, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(CSV[name].encode())
    with DuckDBEngine() as here:
        wanted = rows(here, path)
        address = f"file://{path}"  # read by the executors
        assert engine.open(locate(address), "source") == here.open(locate(path), "again")
    assert rows(engine, address) == wanted


def test_compressed_csv_and_globs(engine: Any, tmp_path: Path) -> None:
    for name in ("one", "two"):
        with gzip.open(tmp_path / f"{name}.csv.gz", "wt") as file:
            file.write(f"user,item\n{name},x\n")
    wanted = [("one", "x"), ("two", "x")]
    assert rows(engine, str(tmp_path / "*.csv.gz")) == wanted
    assert rows(engine, f"file://{tmp_path}/*.csv.gz") == wanted


RAGGED = {
    "more": f"{SECRET},x,more",
    "fewer": SECRET,
    "unclosed": f'{SECRET},"x',
    "text after a quote": f'{SECRET},"x"y',
    "not UTF-8": f"{SECRET},\udcff",
}


@pytest.mark.parametrize("name", RAGGED)
def test_ragged_lines_are_refused_without_their_values(
    name: str, engine: Any, tmp_path: Path
) -> None:
    path = tmp_path / "ragged.csv"
    text = f"user,item\na,x\n{RAGGED[name]}\nb,y\n"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    engine.open(locate(f"file://{path}"), "source")
    counted = engine.table("source").aggregate(lambda t: t.user.count())
    with pytest.raises(InputError, match="more or fewer fields") as caught:
        engine.arrays(counted)
    assert SECRET not in str(caught.value)


def test_a_small_csv_is_read_here_and_its_line_named(engine: Any, tmp_path: Path) -> None:
    path = tmp_path / "ragged.csv"
    path.write_text(f'user,item\na,"x\ny"\n{SECRET},x,more\n')
    with pytest.raises(InputError, match=r"line \d") as caught:
        engine.open(locate(path), "source")
    assert SECRET not in str(caught.value)


def test_parquet_of_several_files(engine: Any, tmp_path: Path) -> None:
    for number in range(3):
        parquet.write_table(
            pa.table({"user": [number], "item": ["x"]}), tmp_path / f"p{number}.parquet"
        )
    assert len(rows(engine, str(tmp_path / "*.parquet"))) == 3
    assert len(rows(engine, f"file://{tmp_path}/p[01].parquet")) == 2
    assert len(rows(engine, str(tmp_path / "p2.parquet"))) == 1


def test_damaged_and_unlike_files(engine: Any, tmp_path: Path) -> None:
    whole = tmp_path / "a.parquet"
    parquet.write_table(pa.table({"user": [1], "item": [SECRET]}), whole)
    (tmp_path / "cut.parquet").write_bytes(whole.read_bytes()[:-30])
    with pytest.raises(InputError, match="damaged"):
        engine.open(locate(tmp_path / "cut.parquet"), "source")
    parquet.write_table(pa.table({"user": ["1"], "item": ["x"]}), tmp_path / "b.parquet")
    with pytest.raises(InputError, match="same columns and types"):
        engine.open(locate(str(tmp_path / "[ab].parquet")), "source")
    whole.rename(tmp_path / "_a.parquet")
    with pytest.raises(InputError, match="begin with"):
        engine.open(locate(tmp_path / "_a.parquet"), "source")
    with pytest.raises(InputError, match="not where the executors look"):
        engine.open(locate(f"file://{tmp_path}/nothing.parquet"), "source")


def test_names_that_differ_in_case_only(engine: Any, tmp_path: Path) -> None:
    parquet.write_table(pa.table({"user": [1], "User": [2]}), tmp_path / "a.parquet")
    with pytest.raises(InputError, match="cannot tell apart"):
        engine.open(locate(tmp_path / "a.parquet"), "source")


def test_types_have_duckdbs_names(engine: Any) -> None:
    table = pa.table(
        {
            "a": pa.array([1], pa.int8()),
            "b": pa.array([1], pa.uint32()),
            "c": pa.array([2**64 - 1], pa.uint64()),
            "d": pa.array(["x"]).dictionary_encode(),
            "e": pa.array([b"x"]),
            "f": pa.array([1.5]),
            "g": pa.array([True]),
        }
    )
    found = engine.open(locate(table), "source")
    assert [column.own or column.type for column in found.values()] == [
        "TINYINT", "BIGINT", "UBIGINT", "VARCHAR", "BLOB", "DOUBLE", "BOOLEAN",
    ]  # fmt: skip
    assert not any(column.declared for column in found.values())


def test_a_table_of_the_catalogue(cluster: Any, engine: Any) -> None:
    frame = cluster.createDataFrame([(1, "x")], "user INT, item STRING")
    frame.createGlobalTempView("crowd")
    try:
        assert rows(engine, "spark:global_temp.crowd") == [("1", "x")]
    finally:
        cluster.catalog.dropGlobalTempView("crowd")
    with pytest.raises(InputError, match="catalogue has no such table"):
        engine.open(locate("spark:no_such.table_at_all"), "source")


UNREPEATABLE = {
    "rand": lambda frame: frame.selectExpr("*", "rand() AS other"),
    "a row's place": lambda frame: frame.selectExpr("*", "monotonically_increasing_id() AS other"),
    "a sample": lambda frame: frame.sample(0.5),
    "a limit": lambda frame: frame.limit(1),
    "uuid": lambda frame: frame.selectExpr("uuid() AS user", "item"),
}


@pytest.mark.parametrize("name", UNREPEATABLE)
def test_frames_that_differ_each_time_are_refused(name: str, cluster: Any) -> None:
    frame = UNREPEATABLE[name](cluster.range(9).selectExpr("id AS user", "id % 3 AS item"))
    engine: SparkEngine = starter(None, {}, [locate(frame)])()  # type: ignore[assignment]
    with engine, pytest.raises(InputError, match="may differ each time"):
        engine.open(locate(frame), "source")


@pytest.mark.parametrize(
    ("engine", "settings", "source", "words"),
    [
        ("flink", {}, "x.parquet", "there is no engine 'flink'"),
        ("duckdb", {"spark.x": "1"}, "x.parquet", "settings are Spark's"),
        (None, {}, "s3a://bucket/x.parquet", "read by Spark"),
        (None, {}, "spark:a.b", "read by Spark"),
        ("spark", {"memory": "1g"}, "spark:a.b", "one of Spark's"),
        ("spark", {"spark.sql.ansi.enabled": "true"}, "spark:a.b", "must be false"),
    ],
)
def test_what_cannot_be_meant_is_refused(
    engine: str | None, settings: dict[str, str], source: str, words: str, tmp_path: Path
) -> None:
    if "://" not in source and not source.startswith("spark:"):
        parquet.write_table(pa.table({"user": [1]}), tmp_path / source)
        source = str(tmp_path / source)
    with pytest.raises(UsageError, match=words):
        starter(engine, settings, [locate(source)])


# ---- Row-wise expressions that are not known to mean the same on Spark are refused ---------------


DIFFERENT = """
regexp_matches(s, 'x') | date_trunc('month', t) | substring(s, 0, 2) | substring(s, i, 2)
strftime(t, '%U') | strftime(t, s) | s like 'a\\%' | s like s | cast(s as decimal(9, 2))
hash(s) | md5(s) | t + interval 1 day | date_diff('day', d, d) | list_value(i) | i ** 2
sqrt(i) | chr(i) | split_part(s, '', 1) | left(s, -1) | extract(epoch from t)
date_part('epoch', t) | trim(s, 'x') | f::float | xxhash64(s) | assert_true(i)
struct_pack(a := 1) | rand_thing(i)
"""


@pytest.mark.parametrize("text", DIFFERENT.strip().replace("\n", " | ").split(" | "))
def test_what_is_not_known_to_be_the_same_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="not known to mean the same on Spark"):
        check(text.strip(), "c")


@pytest.mark.parametrize("text", ["rand()", "uuid()", "now()", "count(i)", "sum(i) over ()"])
def test_what_is_not_a_function_of_one_record_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        row_expression(text, "c")
    with pytest.raises(UsageError):
        check(text, "c")


def test_a_fraction_as_text_is_refused(cluster: Any) -> None:
    with engine_beside(cluster) as engine:
        engine.open(locate(pa.table({"f": [2.5]})), "source", (), {"f": "float64"})
        with pytest.raises(UsageError, match="looks different on each engine"):
            engine.define("p", 'SELECT TRY(CAST("f" AS VARCHAR)) AS value FROM "source"')


def test_patterns_keep_plain_letters() -> None:
    assert java_pattern("at 'H' %H") == "'at ''H'' 'HH"


@pytest.mark.parametrize("text", ["s = 12", "s <> i", "i IN (1, s)", "s BETWEEN 1 AND 2", "f < s"])
def test_text_is_not_compared_with_numbers(text: str, cluster: Any) -> None:
    """Spark would convert in silence, and not as DuckDB converts: 3.5 to 3, and not to 4."""
    tree = row_expression(text, "c").sql(dialect="duckdb", identify=True)
    with engine_beside(cluster) as engine:
        table = pa.table({"s": ["3.5"], "i": [4], "f": [0.5]})
        engine.open(locate(table), "source", (), {"i": "int64", "f": "float64"})
        with pytest.raises(InputError, match="it compares text with a number"):
            engine.define("p", f'SELECT TRY({tree}) AS value FROM "source"')
        engine.define("p", 'SELECT TRY("i" = \'4\' AND "s" = \'3.5\') AS value FROM "source"')


@pytest.mark.parametrize(
    "text", ["s + 1", "1 - s", "-s", "abs(s)", "floor(s)", "s % 2", "to_timestamp(s)", "hour(s)",
             "dayname(s)", "date_part('year', s)", "weekday(s)", "strftime(s, '%Y')"],
)  # fmt: skip
def test_text_is_not_computed_with(text: str, cluster: Any) -> None:
    """DuckDB refuses it; Spark would make floats and dates of it in silence."""
    tree = row_expression(text, "c").sql(dialect="duckdb", identify=True)
    with engine_beside(cluster) as engine:
        engine.open(locate(pa.table({"s": [4]})), "source")
        with pytest.raises(InputError, match="it computes with text"):
            engine.define("p", f'SELECT TRY({tree}) AS value FROM "source"')


# ---- Spark's catalogue -------------------------------------------------------------------------

WRITTEN = set(
    """
    abs ceil coalesce concat contains date_format day dayofmonth dayofweek dayofyear endswith floor
    greatest hour if least left length lower ltrim make_date minute month nullif quarter replace
    rint right round rtrim second split_part startswith substring timestamp_micros timestamp_millis
    timestamp_seconds trim try_add try_cast try_divide try_multiply try_subtract upper weekday
    weekofyear year
    """.split()
)
"""Every function of Spark's that an expression may be written with. Each is total without ANSI
mode, a function of its arguments alone, and compared with DuckDB's in ``tests/engines``."""
_SYNTAX = {"not", "and", "or", "in", "between", "when", "then", "else", "case", "(", ",", "=", "<"}


def test_what_is_not_listed_of_sparks_catalogue_is_not_written(cluster: Any) -> None:
    """What a new release brings is refused until somebody looked at it."""
    names = [row[0] for row in cluster.sql("SHOW ALL FUNCTIONS").collect()]
    assert len(names) > 400
    assert set(names) >= WRITTEN - {"try_cast"}, "listed, and not Spark's"  # which is syntax
    forms = ("", "a", "a, b", "'a', b", "a, 'b'", "a, 1", "a, 1, 2", "a, 'b', 1")
    for name, given in product(names, forms):
        try:
            sql = written(row_expression(f"{name}({given})", "c"))
            check(sql, "c")
            made = [
                to_spark(sqlglot.parse_one(sql, read="duckdb"), _as(k)) for k in ("int", "double")
            ]
        except UsageError:
            continue
        for tree in made:
            tokens = [t.text.lower() for t in sqlglot.tokenize(tree.sql("spark"), read="spark")]
            called = {before for before, after in pairwise(tokens) if after == "("} - _SYNTAX
            assert called <= WRITTEN, f"{name}({given}) is written as {tree.sql('spark')}"


def _as(kind: str) -> Callable[[Any], str]:
    return lambda _: kind


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("md5(s)", "md5()"),
        ("strptime(s, '%Y')", "strptime()"),
        ("concat_ws('-', s, s)", "concat_ws()"),
        ("s ->> 'a'", "json"),
    ],
)
def test_what_one_engine_alone_has_is_refused_by_its_name(text: str, name: str) -> None:
    sql = written(row_expression(text, "c"))
    with pytest.raises(UsageError, match="not known to mean the same on Spark") as refused:
        check(sql, "c")
    assert any(word in str(refused.value) for word in name.split("|"))
    with pytest.raises(UsageError, match=r"date_format\(\).*the nearest is strftime\(\)"):
        row_expression("date_format(t, 'yyyy')", "c")
