"""Functions and expressions of the allowed list, on both engines, with hostile values."""

from __future__ import annotations

import datetime
import itertools
import math
import re
import time
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from sqlglot import tokenize

import crowdtally as ct
from crowdtally.errors import CrowdtallyError, InputError, UsageError
from crowdtally.records import columns
from crowdtally.records.duckdb import DuckDBEngine
from crowdtally.records.expressions.functions import ALLOWED, CASTS, GROUPS
from crowdtally.records.expressions.parse import row_expression, written
from crowdtally.records.locate import locate
from crowdtally.records.prepare import prepare
from crowdtally.records.spark.expressions import check
from kit import hostile_values as hostile
from kit.spark import engine_beside

# ---- No function that an expression may use lets one record stop or delay a release --------------
#
# The catalogue is walked twice: what is not listed is refused, and what is listed is tried with
# hostile values of every type that it takes.


SECONDS = 10
"""Of the processor, for at most some hundred records with a text of 100,000 letters each."""
MOST_ROWS = 400
_SYNTAX = set(
    "and or not in when then else case as cast try_cast try coalesce extract ( [ ,".split()
)
_OPERATORS = sorted(name for name in ALLOWED if not name[0].isalpha())
_PATHS = ["'$.a[0].b'", "'a'", "'$'"]
_PATTERNS = ["'a'", "'(a|b)c?'", "'[ab]{1,500}$'", "'(a*)*b'", "'\\s+$'"]
_EVERY = ["'a'", "'[^a]'", "'a+b'", "''", "'(a)(b)'"]
_TRIED: list[tuple[str, dict[int, list[str]]]] = [
    ("~~ !~~ ~~* !~~*", {1: ["'%a%b%'", "'_%a%'", r"'\'", "''", "'%aab'"]}),
    ("contains instr position strpos", {1: ["'ab'", "'aaaaaab'", "''"]}),
    ("split_part trim ltrim rtrim", {1: ["'a'", "'aaab'", "''"]}),
    ("string_split split str_split string_to_array", {1: ["'a'", "''", "'aab'"]}),
    ("replace", {1: ["'a'", "''"], 2: ["'bcd'", "''"]}),
    ("translate", {1: ["'abc'"], 2: ["'é'", "''"]}),
    ("concat_ws", {0: ["', '"]}),
    ("array_to_string", {1: ["', '"]}),
    ("date_part datepart date_trunc datetrunc", {0: ["'day'", "'week'", "'epoch'", "'century'"]}),
    ("date_diff datediff date_sub datesub", {0: ["'day'", "'month'"]}),
    ("timezone", {0: ["'Europe/Vienna'", "'UTC'", "'Pacific/Apia'"]}),
    ("strftime", {1: ["'%Y-%m-%d %H:%M:%S %f %A %U %j %Z'", "''"]}),
    ("strptime", {1: ["'%Y-%m-%d'", "'%a %H %z'", "'%s'", "'%x %Z'"]}),
    ("try_strptime", {1: ["'%Y-%m-%d'", "'%a %H %z'", "'%s'", "'%x %Z'"]}),
    ("regexp_matches regexp_full_match", {1: _PATTERNS, 2: ["'i'"]}),
    ("regexp_extract", {1: _PATTERNS, 2: ["0"], 3: ["'i'"]}),
    ("regexp_replace", {1: _EVERY, 2: ["'x'", "''"], 3: ["'g'"]}),
    ("regexp_extract_all", {1: _EVERY, 2: ["0"], 3: ["'i'"]}),
    ("regexp_split_to_array string_split_regex str_split_regex", {1: _EVERY, 2: ["'i'"]}),
    ("json_extract json_extract_string ->> json_extract_path json_extract_path_text", {1: _PATHS}),
    ("json_exists json_value json_type json_array_length json_keys", {1: _PATHS}),
    ("struct_extract", {1: ["'a'"]}),
]
CONSTANTS = {name: places for names, places in _TRIED for name in names.split()}
"""Function → place → what is tried there, where the fence asks for a constant."""
MACROS: dict[str, Sequence[str]] = {
    "fdiv": ("DOUBLE", "DOUBLE"), "fmod": ("DOUBLE", "DOUBLE"), "nullif": ("T", "T"),
    "if": ("BOOLEAN", "VARCHAR", "VARCHAR"), "split_part": ("VARCHAR", "VARCHAR", "BIGINT"),
    "date_add": ("TIMESTAMP", "INTERVAL"), "days_in_month": ("DATE",),
    "array_to_string": ("VARCHAR[]", "VARCHAR"), "list_reverse": ("T[]",),
    **dict.fromkeys("list_min list_max list_sum list_count list_first list_last".split(), ("T[]",)),
    "array_reverse": ("T[]",),
}  # fmt: skip
"""Parameters of functions for which the catalogue has no types."""


@pytest.fixture(scope="module")
def engine() -> Iterator[DuckDBEngine]:
    with DuckDBEngine(settings={"memory_limit": "1GB", "threads": "1"}) as opened:
        hostile.store(opened)
        yield opened


# ---- what is not listed ----------------------------------------------------------------------


@cache
def _catalogue() -> dict[str, list[list[str]]]:
    """Every function of DuckDB's, with the types of each form."""
    with duckdb.connect(":memory:") as connection:
        rows = connection.execute(
            "SELECT function_name, parameter_types, varargs FROM duckdb_functions()"
        ).fetchall()
    found: dict[str, list[list[str]]] = {}
    for name, types, more in rows:
        form = [*map(str, types), *([more] * (1 if types else 2) if more else [])]
        found.setdefault(name.lower(), []).append(form)
    return found


def _called(sql: str) -> set[str]:
    tokens = [token.text.lower() for token in tokenize(sql, read="duckdb")]
    return {name for name, after in itertools.pairwise(tokens) if after == "("} - _SYNTAX


@pytest.mark.parametrize("first", "abcdefghijklmnopqrstuvwxyz_")
def test_what_is_not_listed_is_refused(first: str) -> None:
    """Whatever the parser of what people type calls it: what reaches DuckDB is listed."""
    names = [name for name in _catalogue() if name.startswith(first) and name not in ALLOWED]
    for name, arguments in itertools.product(names, ("", "a", "a, b", "'a', b", "a, 'b', c")):
        try:
            sql = written(row_expression(f"{name}({arguments})", "c"))
        except UsageError:
            continue
        assert _called(sql) <= ALLOWED, f"{name}({arguments}) is written as {sql}"


def test_only_what_the_catalogue_has_is_listed() -> None:
    assert set(ALLOWED) <= set(_catalogue())
    assert sum(len(names.split()) for _, names in GROUPS.values()) == len(ALLOWED)


def test_the_documentation_lists_the_same() -> None:
    page = (Path(__file__).parents[2] / "docs" / "sources.md").read_text()
    rows = page.partition("## What an expression may use")[2].partition("\n\n`~~`")[0]
    assert set(re.findall(r"`([^`]+)`", rows.replace("\\|", "|").partition("|---")[2])) == ALLOWED


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("json_serialize_plan('SELECT 1 FROM source', optimize := true)", "json_serialize_plan()"),
        ("json_serialize_sql('SELECT 1')", "json_serialize_sql()"),
        ("json_deserialize_sql(a)", "json_deserialize_sql()"),
        ("hour(to_timestamp(ts) AT TIME ZONE tz)", "a time zone that is not a constant"),
        ("hour(ts AT TIME ZONE 'Mars/Base')", "the unknown time zone 'Mars/Base'"),
        ("hour(ts AT TIME ZONE 'europe/viena')", "did you mean 'Europe/Vienna'?"),
        ("time_bucket(to_months(a), b)", "time_bucket(), which is not an allowed function"),
        ("time_bucket(to_months(a), b)", "the nearest is date_trunc()"),
        ("bitstring('1', 2000000000)", "bitstring()"),
        ("levenshtein(a, b)", "levenshtein()"),
        ("damerau_levenshtein(a, b)", "damerau_levenshtein()"),
        ("lengt(a)", "the nearest is length()"),
        ("make_timestamp(a)", "make_timestamp() without exactly 6 arguments"),
        ("age(a)", "age() without exactly 2 arguments"),
        ("a LIKE b", "LIKE with a pattern that is not a constant"),
        ("a LIKE '%_a%_b%'", "LIKE with _ and several %"),
        ("a LIKE 'x$%' ESCAPE '$'", "like_escape()"),
        ("regexp_matches(a, b)", "argument 2 that is not a constant"),
        ("regexp_matches(a, '(')", "a regular expression that RE2 cannot read"),
        ("regexp_matches(a, 'a{900}b{900}')", "more than 1000 repetitions"),
        ("regexp_replace(a, 'a(.*b)?', '', 'g')", "of every match"),
        ("regexp_extract_all(a, 'a.*b|a')", "of every match"),
        ("contains(a, b)", "argument 2 that is not a constant"),
        ("replace(a, 'x', b)", "argument 3 that is not a constant"),
        ("a ->> b", "a path that is not a constant"),
        ("a ->> '$..b'", "cannot be parsed"),
        ("a -> '$.*'", "a path that has a wildcard"),
        ("a -> b", "a lambda"),
        ("strftime(a, b)", "a format that is not a constant"),
        ("strptime(a, '%q')", "the format '%q', which cannot be read"),
        ("strptime(a, '%x %Z')", "a time zone's name, %Z, in its format (use try_strptime())"),
        ("strptime(a, '%%%Z')", "a time zone's name, %Z"),
        ("regexp_matches(a, 'x', 'zz')", "an option of a regular expression that is none of"),
        ("regexp_replace(a, 'x', 'y', 'l')", "an option of a regular expression that is none of"),
        ("regexp_extract(a, 'x', 0, b)", "an option of a regular expression that is none of"),
        ("regexp_split_to_array(a, 'x', 'z')", "with an option that is none of"),
        ("date_part(a, b)", "a part of a date that is not a constant"),
        ("date_trunc('moon', b)", "the unknown part"),
        ("CAST(a AS INTEGER[])", "a cast to list"),
        ("CAST(a AS ENUM('x'))", "a cast to enum"),
        ("t.a", "a column without its table"),
        ("a.upper()", "in the form of"),
        ("upper(DISTINCT a)", "in the form of"),
        ("main.upper(a)", "in the form of"),
        ("1 = ANY([a])", "a subquery"),
        ("a[1:5:2]", "a slice with steps"),
        ("list_slice(a, 1, 5, 2)", "list_slice() without exactly 3 arguments"),
        ("current_date", "current_date, which is no column"),
        ("session_user", "session_user, which is no column"),
        ("floor()", "floor() without all of its arguments"),
        ("date()", "cannot be parsed"),
        ("url_encode(url_encode(url_encode(url_encode(a))))", "can lengthen a text 81-fold"),
        ("regexp_replace(a, '', '123456789012345678901234567890123', 'g')", "34-fold"),
        ("split(CAST(split(a, '') AS VARCHAR), '')", "36-fold"),
        (f"concat({', '.join(['a'] * 600)})", "600-fold"),
        (f"replace({' || '.join(['a'] * 12)}, 'a', 'xyz')", "36-fold"),
    ],
)  # fmt: skip
def test_refusals_say_what_is_wrong(text: str, words: str) -> None:
    with pytest.raises(UsageError, match=re.escape(words)):
        row_expression(text, "c")


@pytest.mark.parametrize("text", ["now()", "version()", "row(a, b)", "current_setting('TimeZone')"])
def test_no_function_is_named_that_nobody_meant(text: str) -> None:
    with pytest.raises(UsageError) as refused:
        row_expression(text, "c")
    assert "the nearest" not in str(refused.value)


@pytest.mark.parametrize(
    "text",
    """
    dayname(to_timestamp(a)) | hour(a AT TIME ZONE 'Europe/Vienna') | a -> '$.b' | a ->> '$.b[0]'
    extract(dow from a) | a + INTERVAL 1 DAY | a + INTERVAL (b) DAY | date_trunc('month', a)
    CAST(a AS DECIMAL(9, 2)) | TRY_CAST(a AS DATE) | DATE '2020-01-01' | a LIKE '%x%y%'
    a LIKE '_x%'
    list_has_all(split(a, ','), split(b, ',')) | concat(url_encode(a), ' ', hex(b))
    strptime(a, '%Y %%Z') | regexp_matches(a, 'x', 'i') | regexp_replace(a, 'x', 'y', 'gi')
    regexp_replace(a, '[^a-z]+', '', 'g') | a IN (1, 2) | a NOT IN (1, 2) | a BETWEEN 1 AND b | -a
    CASE a WHEN 1 THEN 'x' ELSE 'y' END | COALESCE(a, 'x') | a IS DISTINCT FROM b | [a, b][1]
    a[2:3]
    a['b'] | a ** 2 | position('x' IN a) | SUBSTRING(a FROM 1 FOR 2) | "user" = 'x' | user = 'x'
    replace(replace(a, ' ', '-'), '&', 'and') | a IS NOT NULL | NOT (a AND b OR a > b) | TRY(a / b)
    """.strip()
    .replace("\n", " | ")
    .split(" | "),
)
def test_what_people_use_passes(text: str) -> None:
    row_expression(text.strip(), "c")


# ---- what is listed ---------------------------------------------------------------------------


def _calls(name: str) -> Iterator[tuple[str, list[tuple[int, str]]]]:
    """Calls of a function, with constants where they must be, and types at the other places."""
    forms = [MACROS[name]] if name in MACROS else _catalogue()[name]
    for form in {tuple(form): form for form in forms}.values():
        constants = CONSTANTS.get(name, {})
        places = [place for place in range(len(form)) if place not in constants]
        fixed = [[(p, c) for c in constants[p]] for p in range(len(form)) if p in constants]
        for kinds in itertools.product(*(hostile.types_of(str(form[p])) for p in places)):
            for chosen in itertools.product(*fixed):
                shown = dict(chosen) | {place: f"v{place}" for place in places}
                arguments = [shown[place] for place in range(len(form))]
                yield _text(name, arguments), list(zip(places, kinds, strict=True))


def _text(name: str, arguments: list[str]) -> str:
    if name in _OPERATORS and len(arguments) == 2:
        words = {"~~": "LIKE", "!~~": "NOT LIKE", "~~*": "ILIKE", "!~~*": "NOT ILIKE"}
        return f"{arguments[0]} {words.get(name, name)} {arguments[1]}"
    if name in _OPERATORS:
        return f"{name} {arguments[0]}" if arguments else "NULL"
    if name == "position":
        return f"position({arguments[1]} IN {arguments[0]})"
    return f"{name}({', '.join(arguments)})"


def _survives(engine: DuckDBEngine, text: str, kinds: list[tuple[int, str]], long: bool) -> bool:
    """Compute a call as a release would, and its value as a cell; False where no type fits."""
    try:
        sql = written(row_expression(text, "c"))
    except UsageError:
        return False
    sides = [f'"short: {kind}"' for _, kind in kinds]
    if long:
        sides = [f'"long: {kind}"' if hostile.LONG.get(kind) else side
                 for (_, kind), side in zip(kinds, sides, strict=True)]  # fmt: skip
    names = ", ".join(f"t{place}.v AS v{place}" for place, _ in kinds) or "1 AS one"
    tables = ", ".join(f"{side} t{p}" for (p, _), side in zip(kinds, sides, strict=True))
    rows = f"(SELECT {names} {f'FROM {tables}' if tables else ''} LIMIT {MOST_ROWS}) AS made"
    try:
        engine.check_row_wise(sql, "c", rows)
        engine.define("tried", f"SELECT TRY({sql}) AS value FROM {rows}")
    except InputError:
        return False
    held = engine.schema("tried")["value"]
    cell = (
        "value" if columns.kind_of(held) is None else columns.matchable("value", held, "text", "c")
    )
    engine.define("cells", f"SELECT {cell} AS value FROM tried")
    engine._connection.execute('CREATE OR REPLACE TABLE kept AS FROM "cells"')
    return True


def _tried(engine: DuckDBEngine, name: str, most: int) -> int:
    """How many calls were computed; one that raises, or takes too long, fails the test."""
    computed = 0
    for text, kinds in _calls(name):
        if computed >= most:
            break
        for long in (False, True):
            if long and not any(hostile.LONG.get(kind) for _, kind in kinds):
                continue
            started = time.process_time()
            try:
                computed += _survives(engine, text, kinds, long)
            except (duckdb.Error, CrowdtallyError) as error:
                pytest.fail(f"{text} over {kinds}: {type(error).__name__}: {str(error)[:200]}")
            assert time.process_time() - started < SECONDS, f"{text} over {kinds}"
    return computed


@pytest.mark.parametrize("name", sorted(ALLOWED))
def test_no_value_stops_or_delays_a_listed_function(name: str, engine: DuckDBEngine) -> None:
    assert _tried(engine, name, 12) > 0


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(ALLOWED))
def test_no_value_of_any_type_stops_or_delays_a_listed_function(
    name: str, engine: DuckDBEngine
) -> None:
    assert _tried(engine, name, 600) > 0


@pytest.mark.parametrize("target", sorted(CASTS))
def test_no_value_stops_or_delays_a_cast(target: str, engine: DuckDBEngine) -> None:
    for kind, long in itertools.product(hostile.VALUES, (False, True)):
        if long and kind not in hostile.LONG:
            continue
        started = time.process_time()
        try:
            _survives(engine, f"CAST(v0 AS {target})", [(0, kind)], long)
        except (duckdb.Error, CrowdtallyError) as error:
            pytest.fail(f"{kind} as {target}: {type(error).__name__}: {str(error)[:200]}")
        assert time.process_time() - started < SECONDS, f"{kind} as {target}"


@pytest.mark.parametrize("text", ["date_part('day', v0)", "date_diff('day', v0, v0)"])
@pytest.mark.parametrize("kind", ["TIME", "INTERVAL"])
def test_parts_of_a_date_are_not_asked_of_a_span(
    text: str, kind: str, engine: DuckDBEngine
) -> None:
    """DuckDB raises what TRY lets through; refused by the type, it is so whatever is recorded."""
    engine.define("empty", f'SELECT v AS v0 FROM "short: {kind}" WHERE false')
    with pytest.raises(InputError, match=f"of a value of type {kind}"):
        engine.check_row_wise(written(row_expression(text, "c")), "c", "empty")


@pytest.mark.parametrize("unit", ["s", "ms", "us", "time"])
def test_a_stored_number_that_is_no_time_drops_its_record_alone(unit: str) -> None:
    """DuckDB's cast to text stops at it, in TRY as well, and its database is invalid then."""
    kind = pa.time64("us") if unit == "time" else pa.timestamp(unit)
    stored = [0, -(2**63), 2**63 - 2, 3_600_000_000]
    table = pa.table({"who": list("abcd"), "t": pa.array(stored, pa.int64()).cast(kind)})
    texts = {"k": "CAST(length(CAST(t AS VARCHAR)) > 0 AS VARCHAR)"}
    records = ct.read(table, user="who", item="who", contexts=texts)
    domain = ct.Domain(list("abcd"), {"k": ["true", "false"]}, item="who")
    with DuckDBEngine() as engine:
        rows = prepare(engine, records, domain).rows
        cells = engine.columns(rows.select("cell"))["cell"]
    assert sorted(cells.compressed().tolist()) == [0, 6]


# ---- Row-wise expressions mean the same on both engines, on plain and on awkward values ----------


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
