"""Row-wise expressions that are not known to mean the same on Spark are refused."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from crowdtally.curator.engine.expressions import row_expression
from crowdtally.curator.engine.sources import locate
from crowdtally.curator.engine.spark.checking import check
from crowdtally.curator.engine.spark.formats import java_pattern
from crowdtally.errors import InputError, UsageError
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
        engine.open(locate(pa.table({"f": [2.5]})), "source")
        with pytest.raises(UsageError, match="looks different on each engine"):
            engine.define("p", 'SELECT TRY(CAST("f" AS VARCHAR)) AS value FROM "source"')


def test_patterns_keep_plain_letters() -> None:
    assert java_pattern("at 'H' %H") == "'at ''H'' 'HH"


@pytest.mark.parametrize("text", ["s = 12", "s <> i", "i IN (1, s)", "s BETWEEN 1 AND 2", "f < s"])
def test_text_is_not_compared_with_numbers(text: str, cluster: Any) -> None:
    """Spark would convert in silence, and not as DuckDB converts: 3.5 to 3, and not to 4."""
    tree = row_expression(text, "c").sql(dialect="duckdb", identify=True)
    with engine_beside(cluster) as engine:
        engine.open(locate(pa.table({"s": ["3.5"], "i": [4], "f": [0.5]})), "source")
        with pytest.raises(InputError, match="it compares text with a number"):
            engine.define("p", f'SELECT TRY({tree}) AS value FROM "source"')
        engine.define("p", 'SELECT TRY("i" = \'4\' AND "s" = \'3.5\') AS value FROM "source"')
