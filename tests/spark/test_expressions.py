"""Row-wise expressions that are not known to mean the same on Spark are refused."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise, product
from typing import Any

import pyarrow as pa
import pytest
import sqlglot

from crowdtally.errors import InputError, UsageError
from crowdtally.records.expressions.parse import row_expression, written
from crowdtally.records.locate import locate
from crowdtally.records.spark.expressions import check, java_pattern, to_spark
from kit.cluster import engine_beside

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
mode, a function of its arguments alone, and compared with DuckDB's in ``tests/engine``."""
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
