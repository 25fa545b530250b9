"""Row-wise expressions mean the same on both engines, on plain and on awkward values."""

from __future__ import annotations

import datetime
import math
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet

from crowdtally.records.duckdb import DuckDBEngine
from crowdtally.records.expressions.parse import row_expression
from crowdtally.records.locate import locate
from crowdtally.records.spark.expressions import check
from kit.cluster import engine_beside

_INSTANTS = [
    0,
    1_700_000_000_123_456,
    -1,
    951_782_400_000_000,
    10**15,
    1,
    None,
    1_234_567_890_500_000,
]
_DAYS = [(2024, 1, 1), (2024, 12, 31), (1969, 12, 31), (2000, 2, 29), (2023, 1, 1), (1900, 3, 1)]
VALUES = pa.table(
    {
        "row": range(8),
        "i": pa.array([0, 1, -7, 2**31 - 1, -(2**31), 7, None, 12], pa.int32()),
        "b": pa.array([0, 2**63 - 1, -(2**63), 5, -5, 2**53 + 1, None, 86400], pa.int64()),
        "f": [0.0, 2.5, -2.5, 3.5, 1e300, math.nan, None, math.inf],
        "s": ["", "12", "12.5", "x", " 7 ", "2024-02-31", None, "Ünï'c\\ode"],
        "d": [*(datetime.date(*day) for day in _DAYS), None, datetime.date(2024, 12, 30)],
        "t": pa.array(_INSTANTS, pa.timestamp("us")),
        "z": pa.array(_INSTANTS, pa.timestamp("us", "UTC")),
    }
)
SAME = """
i+1 | i-1 | i*2 | i*1000000 | cast(i as bigint)*b | i//2 | i//0 | i%2 | i%0 | mod(i, 3) | -i | abs(i)
b//1000%24 | greatest(i, 5) | least(i, 5) | cast(i/2 as integer) | cast(b/1000 as bigint) | cast(i/0 as integer)
i=1 | i<>1 | i>0 and b>0 | i>0 or b>0 | not (i>0) | i is null | i is not null | i is distinct from 1
i in (1, 7) | i not in (1, 7) | i between 0 and 10 | f > 2 | f = f | s > 'a' | s = '12' | d > date '2000-01-01'
t < timestamp '2010-01-01 00:00:00' | case when i>5 then 'big' when i<0 then 'neg' else 'small' end
case i when 1 then 'a' else 'b' end | case when f>2.4 then 1 else 0 end | if(i>0, 'p', 'q')
coalesce(s, 'it''s') | nullif(s, 'x') | s || '!' | concat(s, '!') | lower(s) | length(s) | trim(s) | ltrim(s)
rtrim(s) | replace(s, '2', 'z') | starts_with(s, '1') | contains(s, '2') | ends_with(s, '5')
substring(s, 2, 3) | left(s, 2) | right(s, 2) | split_part(s, '.', 2) | split_part(s, '-', 9)
s like '1%' | s ilike 'ü%' | s like '_2' | cast(s as integer) | cast(s as bigint) | try_cast(s as date)
cast(s as double) > 3 | cast(s as boolean) | cast(i as varchar) | cast(b as varchar) | cast(d as varchar)
cast(t as varchar) | cast(z as varchar) | cast(i>0 as varchar) | cast(b as integer) | cast(f as integer)
cast(f as bigint) | cast(floor(f) as bigint) | cast(ceil(f) as bigint) | cast(round(f) as bigint)
cast(round(f, 1)*10 as bigint) | year(d) | month(d) | day(d) | quarter(d) | week(d) | dayofyear(d)
dayofweek(d) | isodow(d) | weekday(d) | dayname(d) | monthname(d) | hour(t) | minute(t) | second(t)
hour(z) | minute(z) | dayname(t) | extract(hour from t) | date_part('dow', d) | extract(isodow from d)
extract(year from t) | strftime(d, '%Y-%m-%d') | strftime(t, '%A %H:%M at %b')
strftime(d, '%j/%y %B %a %-d') | dayname(to_timestamp(b)) | cast(to_timestamp(b) as varchar)
year(make_date(2000+i, 2, 29)) | cast(d as timestamp) | cast(t as date) | cast(z as date)
year(epoch_ms(i*1000)) | s is not null and length(s)>2
"""  # noqa: E501
EXPRESSIONS = [text.strip() for text in SAME.strip().replace("\n", " | ").split(" | ")]


def evaluated(engine: Any, source: Path) -> dict[str, list[Any]]:
    """Every expression on every row, by one query."""
    engine.open(locate(source), "source")
    columns = ", ".join(
        f'TRY({row_expression(text, "c").sql(dialect="duckdb", identify=True)}) AS "v{number}"'
        for number, text in enumerate(EXPRESSIONS)
    )
    engine.define("values", f'SELECT "row", {columns} FROM "source"')
    if isinstance(engine, DuckDBEngine):
        found = engine.arrow('SELECT * FROM "values"')
    else:
        found = engine._fetched(engine.table("values"))
    ordered = found.sort_by("row")
    return {
        text: [_plain(value) for value in ordered.column(f"v{number}").to_pylist()]
        for number, text in enumerate(EXPRESSIONS)
    }


def _plain(value: Any) -> Any:
    """Numbers of any width are alike; dates and times are their text."""
    return value if isinstance(value, bool | int | str | None) else str(value)


def test_both_engines_agree(cluster: Any, tmp_path: Path) -> None:
    parquet.write_table(VALUES, tmp_path / "values.parquet")
    with DuckDBEngine() as here, engine_beside(cluster) as there:
        for text in EXPRESSIONS:
            check(text, "c")
        wanted, found = (evaluated(engine, tmp_path / "values.parquet") for engine in (here, there))
    different = {
        text: (wanted[text], found[text]) for text in wanted if wanted[text] != found[text]
    }
    assert not different
    assert sum(len(set(values)) > 1 for values in wanted.values()) > 0.9 * len(wanted)
