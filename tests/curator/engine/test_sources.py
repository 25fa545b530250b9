"""One small table through every kind of source: the same counts, and the same samples."""

from __future__ import annotations

import functools
import gzip
import sqlite3
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any
from unittest import mock

import duckdb
import ibis
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import crowdtally as ct
from budget.ledger_kit import PostgresServer, server
from crowdtally.curator.bounding.sra import SRA
from crowdtally.curator.counting.tables import count, count_rows
from crowdtally.curator.engine import columns, opening
from crowdtally.curator.engine.census import Dropped
from crowdtally.curator.engine.duckdb import DuckDBEngine
from crowdtally.curator.engine.prepare import prepare

__all__ = ["server"]
# Ibis's own calls to DuckDB and pandas, not ours.
pytestmark = [
    pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:The 'future.infer_string' option"),
]
PLACES = ["park", "007", "cafe", "7", "nobody goes here"]
DAYS = ["Mon", "Tue"]
EVERYTHING = 10_000


def rows() -> list[tuple[str | None, str | None, str | None]]:
    """Heavy and light users, leading zeros, repeats, and every reason to drop a record."""
    kept = [
        (f"user {n % 23}", ("park", "007", "cafe", "7")[n * n % 4], DAYS[n // 3 % 2])
        for n in range(400)
    ]
    return [
        *kept,
        *[("0042", "007", "Mon")] * 9,
        (None, "park", "Mon"),
        (None, None, None),
        ("user 1", None, "Mon"),
        ("user 1", "park", None),
        ("user 1", "elsewhere", "Mon"),
        ("user 1", "park", "Sunday"),
        ("user 1", " park", "Mon"),
        ("user 1", "PARK", "Mon"),
    ]


def table() -> pa.Table:
    users, places, days = zip(*rows(), strict=True)
    return pa.table({"who": users, "place": places, "day": days, "n": range(len(users))})


Source = Callable[[Path, pytest.FixtureRequest], Any]


def _csv(folder: Path, name: str, delimiter: str = ",", part: pa.Table | None = None) -> Path:
    options = pyarrow.csv.WriteOptions(delimiter=delimiter)
    written = table() if part is None else part
    pyarrow.csv.write_csv(written, folder / "plain", options)
    content = (folder / "plain").read_bytes()
    (folder / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return folder / name


def _parquet(folder: Path, name: str, part: pa.Table | None = None) -> Path:
    pyarrow.parquet.write_table(table() if part is None else part, folder / name)
    return folder / name


def _parts(folder: Path, ending: str) -> str:
    whole = table()
    write = _parquet if ending == "parquet" else _csv
    for number, start in enumerate((0, 50, 300)):
        stop = (50, 300, len(whole))[number]
        write(folder, f"part-{number}.{ending}", part=whole.slice(start, stop - start))
    return str(folder / f"part-*.{ending}")


def _duckdb(folder: Path) -> Path:
    with duckdb.connect(str(folder / "base.duckdb")) as base:
        base.register("incoming", table())
        base.execute("CREATE TABLE visits AS FROM incoming")
        base.execute("CREATE SCHEMA deep; CREATE VIEW deep.visits AS FROM main.visits")
    return folder / "base.duckdb"


def _sqlite(folder: Path) -> Path:
    with closing(sqlite3.connect(folder / "base.db")) as base, base:
        base.execute("CREATE TABLE visits (who TEXT, place TEXT, day TEXT, n INTEGER)")
        base.executemany(
            "INSERT INTO visits VALUES (?, ?, ?, ?)",
            zip(*table().to_pydict().values(), strict=True),
        )
    return folder / "base.db"


def _postgres(request: pytest.FixtureRequest) -> str:
    started: PostgresServer = request.getfixturevalue("server")
    database = started.new_database()
    import psycopg

    with psycopg.connect(started.url(database)) as base:
        base.execute("CREATE TABLE visits (who TEXT, place TEXT, day TEXT, n BIGINT)")
        with base.cursor().copy("COPY visits FROM STDIN") as copy:
            for row in zip(*table().to_pydict().values(), strict=True):
                copy.write_row(row)
    return f"{started.url(database)}#visits"


def _ibis(folder: Path) -> Any:
    return ibis.duckdb.connect(str(_duckdb(folder)), read_only=True).table("visits")


SOURCES: dict[str, Source] = {
    "parquet": lambda folder, _: _parquet(folder, "visits.parquet"),
    "parquet as text": lambda folder, _: str(_parquet(folder, "visits.PARQUET")),
    "csv": lambda folder, _: _csv(folder, "visits.csv"),
    "tsv": lambda folder, _: _csv(folder, "visits.tsv", "\t"),
    "semicolons": lambda folder, _: _csv(folder, "visits.csv", ";"),
    "csv.gz": lambda folder, _: _csv(folder, "visits.csv.gz"),
    "tsv.gz": lambda folder, _: _csv(folder, "visits.tsv.gz", "\t"),
    "glob of parquet": lambda folder, _: _parts(folder, "parquet"),
    "glob of csv": lambda folder, _: _parts(folder, "csv"),
    "duckdb": lambda folder, _: f"{_duckdb(folder)}#visits",
    "duckdb view": lambda folder, _: f"{_duckdb(folder)}#deep.visits",
    "duckdb url": lambda folder, _: f"duckdb://{_duckdb(folder)}#visits",
    "sqlite": lambda folder, _: f"sqlite://{_sqlite(folder)}#visits",
    "postgresql": lambda _, request: _postgres(request),
    "pandas": lambda *_: table().to_pandas(),
    "pandas categorical": lambda *_: _categorical(table().to_pandas()),
    "polars": lambda *_: pl.from_arrow(table()),
    "polars lazy": lambda *_: pl.from_arrow(table()).lazy(),
    "polars categorical": lambda *_: pl.from_arrow(table()).cast({"who": pl.Categorical}),
    "pyarrow": lambda *_: table(),
    "pyarrow dictionary": lambda *_: _dictionary(table()),
    "relation": lambda *_: duckdb.from_arrow(table()),
    "ibis": lambda folder, _: _ibis(folder),
    "ibis expression": lambda folder, _: _ibis(folder).filter(lambda t: t.n >= 0),
}


def _categorical(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.astype({"who": "category", "place": "category"})


def _dictionary(whole: pa.Table) -> pa.Table:
    return whole.set_column(0, "who", whole["who"].dictionary_encode())


@pytest.fixture(params=SOURCES)
def source(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    return SOURCES[request.param](tmp_path, request)


@pytest.fixture(params=["parquet", "csv", "sqlite", "pandas categorical"])
def some_source(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    return SOURCES[request.param](tmp_path, request)


Tables = tuple[list[int], list[int], Dropped]


def counted(
    source: Any, *, limit: int = EVERYTHING, key: int = 7, domain: ct.Domain | None = None,
    what: Any = "records", **roles: Any,
) -> Tables:  # fmt: skip
    """The noise-free part of a release: item counts, item-in-context counts, dropped rows."""
    declared = {"user": "who", "item": "place", "contexts": ["day"]} | roles
    domain = domain or ct.Domain(PLACES, {"day": DAYS}, item="place")
    with DuckDBEngine() as engine:
        prepared = prepare(engine, ct.read(source, **declared), domain)
        read = count(engine, prepared, SRA(limit), key=key, what=what)
        items, edges = read.found
        return items.dense().tolist(), edges.dense().tolist(), read.dropped


def expected() -> tuple[list[int], list[int]]:
    kept = [row for row in rows() if row[0] is not None and row[1] in PLACES and row[2] in DAYS]
    items, edges = Counter(row[1] for row in kept), Counter(row[1:] for row in kept)
    return [items[p] for p in PLACES], [edges[p, d] for p in PLACES for d in DAYS]


def test_every_source_gives_the_same_counts(source: Any) -> None:
    items, edges, dropped = counted(source)
    assert (items, edges) == expected()
    assert items[PLACES.index("007")] != items[PLACES.index("7")], "leading zeros are kept"
    assert dropped == Dropped(rows=len(rows()), without_user=2, outside=6)


def test_every_source_gives_the_same_sample(source: Any) -> None:
    """Users are text in all of them, so one key must keep the same records of everyone."""
    assert counted(source, limit=2) == _sample(None)
    assert counted(source, limit=2, record_id="who") == _sample("who")


@functools.cache
def _sample(record_id: str | None) -> Tables:
    return counted(table(), limit=2, record_id=record_id)


def test_two_keys_keep_different_records() -> None:
    """Else the test above would show nothing."""
    assert counted(table(), limit=2, key=1) != counted(table(), limit=2, key=2)


def test_distinct_users(some_source: Any) -> None:
    items, _, _ = counted(some_source, what="users")
    kept = [row for row in rows() if row[0] is not None and row[1] in PLACES and row[2] in DAYS]
    distinct = Counter(place for _, place in {(who, place) for who, place, _ in kept})
    assert items == [distinct[place] for place in PLACES]


# ---- integer ids --------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [pa.int16(), pa.int32(), pa.int64(), pa.uint32()])
def test_the_width_of_an_integer_does_not_matter(width: pa.DataType, tmp_path: Path) -> None:
    least = 0 if str(width).startswith("u") else -15
    users = [n * n % 31 + least for n in range(300)]
    base = {"place": [PLACES[n % 4] for n in range(300)], "day": ["Mon"] * 300}
    wide = pa.table({"who": pa.array(users, pa.int64()), **base})
    narrow = pa.table({"who": pa.array(users, width), **base})
    for source in (
        narrow,
        pl.from_arrow(narrow),
        narrow.to_pandas(),
        duckdb.from_arrow(narrow),
    ):
        assert counted(source, limit=2) == counted(wide, limit=2)
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
        return f"enum_code({columns.quoted(column)})"

    alone, crowd = _histories(["m", "n"]), _histories(["a", "b", "m", "n", "z"])
    as_found = mock.patch.object(opening, "plain", return_value="*")
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
    areas = _parquet(tmp_path, "areas.parquet", pa.table({"n": [1], "area": ["x"]}))
    with pytest.raises(ct.InputError, match="but VARCHAR in the records") as caught:
        counted(source, joins=[(areas, "n")])
    assert "elsewhere" not in str(caught.value)


# ---- joins and derived contexts -----------------------------------------------------------------


def _areas() -> pa.Table:
    """The key of one place is missing, one key is null."""
    return pa.table({"place": ["park", "007", "7", None], "area": ["green", "spy", "spy", "none"]})


def _joined() -> list[int]:
    area = {"park": "green", "007": "spy", "7": "spy"}
    kept = [row[1] for row in rows() if row[0] is not None and row[1] in area]
    cells = Counter((place, area[place]) for place in kept)
    return [cells[place, value] for place in PLACES for value in ("green", "spy")]


@pytest.mark.parametrize("kind", ["parquet", "csv", "pandas", "duckdb"])
def test_join(some_source: Any, kind: str, tmp_path: Path) -> None:
    other: Any = _areas().to_pandas()
    if kind == "parquet":
        other = _parquet(tmp_path, "areas.parquet", _areas())
    elif kind == "csv":
        other = _csv(tmp_path, "areas.csv", part=_areas())
    elif kind == "duckdb":
        with duckdb.connect(str(tmp_path / "areas.duckdb")) as base:
            base.register("incoming", _areas())
            base.execute("CREATE TABLE areas AS FROM incoming")
        other = f"{tmp_path / 'areas.duckdb'}#areas"
    domain = ct.Domain(PLACES, {"area": ["green", "spy"]})
    _, edges, dropped = counted(
        some_source, domain=domain, contexts=["area"], joins=[(other, "place")]
    )
    assert edges == _joined()
    assert sum(edges) + dropped.without_user + dropped.outside == dropped.rows == len(rows())


def test_several_joins() -> None:
    zones = pa.table({"area": ["green", "spy"], "zone": [1, 2]})
    domain = ct.Domain(PLACES, {"zone": [1, 2]})
    joins = [(_areas(), "place"), (zones, "area")]
    with pytest.raises(ct.InputError, match="no column 'area'"):
        counted(table(), domain=domain, contexts=["zone"], joins=joins)
    days = pa.table({"day": ["Mon", "Tue"], "early": [1, 2]})
    both = ct.Domain(PLACES, {"area": ["green", "spy"], "early": [1, 2]})
    _, edges, _ = counted(
        table(), domain=both, contexts=["area", "early"], joins=[(_areas(), "place"), (days, "day")]
    )
    area = {"park": "green", "007": "spy", "7": "spy"}
    cells = Counter(
        (place, area[place], DAYS.index(day) + 1)
        for who, place, day in rows()
        if who is not None and place in area and day in DAYS
    )
    wanted = [(p, a, e) for p in PLACES for a in ("green", "spy") for e in (1, 2)]
    assert edges == [cells[cell] for cell in wanted]


def _monday(yes: str, no: str) -> Callable[[str | None], str]:
    return lambda day: yes if day == "Mon" else no


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("upper(day)", lambda day: day and day.upper()),
        ("upper(\"day\") || ''", lambda day: day and day.upper()),
        ("CASE WHEN day = 'Mon' THEN 'MON' ELSE 'TUE' END", _monday("MON", "TUE")),
        (
            "dayname(CAST(if(day = 'Mon', '2024-01-01', '2024-01-02') AS DATE))",
            _monday("Monday", "Tuesday"),
        ),
    ],
)
def test_derived_context(some_source: Any, expression: str, value: Callable[[Any], str]) -> None:
    names = [value("Mon"), value("Tue")]
    domain = ct.Domain(PLACES, {"name": names})
    _, edges, _ = counted(some_source, domain=domain, contexts={"name": expression})
    cells = Counter((row[1], value(row[2])) for row in rows() if row[0] is not None)
    assert edges == [cells[place, name] for place in PLACES for name in names]


def test_times_are_read_as_utc(monkeypatch: pytest.MonkeyPatch) -> None:
    """1970-01-01 was a Thursday in Greenwich, whatever the clock on the wall says."""
    monkeypatch.setenv("TZ", "Pacific/Kiritimati")
    frame = pa.table({"who": ["a", "a"], "place": ["x", "x"], "t": [0, 86_399]})
    domain = ct.Domain(["x"], {"day": ["Thursday"]})
    contexts = {"day": "dayname(to_timestamp(t))"}
    assert counted(frame, domain=domain, contexts=contexts)[1] == [2]


def test_a_column_named_like_a_keyword() -> None:
    frame = pa.table({"who": ["a"], "place": ["x"], "user": ["u"], "order": ["o"]})
    for expression, value in (("lower(user)", "u"), ('lower("order")', "o"), ("user", "u")):
        domain = ct.Domain(["x"], {"c": [value]})
        contexts = {"c": expression}
        assert counted(frame, domain=domain, contexts=contexts)[1] == [1], expression


def test_a_value_that_an_expression_cannot_take_drops_its_record_alone() -> None:
    frame = pa.table({"who": ["a"] * 4, "place": ["x"] * 4, "age": ["7", "old", "8", None]})
    domain = ct.Domain(["x"], {"age_now": [7, 8]})
    contexts = {"age_now": "CAST(age AS INTEGER)"}
    _, edges, dropped = counted(frame, domain=domain, contexts=contexts)
    assert (edges, dropped.outside) == ([1, 1], 2)


# ---- what is not a source -----------------------------------------------------------------------


def test_not_a_source() -> None:
    with pytest.raises(ct.UsageError, match=r"cannot be read from a builtins\.list: pass a path"):
        counted([1, 2])
    with pytest.raises(ct.UsageError, match="have no name to charge under: pass dataset="):
        ct.release(ct.read(table(), user="who", item="place"), ct.Domain(PLACES), epsilon=1)


def test_files_with_different_headers(tmp_path: Path) -> None:
    _csv(tmp_path, "a-1.csv")
    _csv(tmp_path, "a-2.csv", part=table().select(["place", "who", "day", "n"]))
    with pytest.raises(ct.InputError, match="another header"):
        counted(str(tmp_path / "a-*.csv"))
