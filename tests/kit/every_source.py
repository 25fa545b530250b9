"""One small table in every kind of source, where they are written, and what is counted of it."""

from __future__ import annotations

import gzip
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import ibis
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import crowdtally as ct
from crowdtally.curator.bounding.sampling import SRA
from crowdtally.curator.counting.bounded import count
from crowdtally.records.duckdb import DuckDBEngine
from crowdtally.records.engine import Dropped
from crowdtally.records.prepare import prepare
from kit.kinds import Place
from kit.ledgers import PostgresServer, running_server

# ---- A place for sources of every kind, shared by the tests of a run -----------------------------


@contextmanager
def place_in(folder: Path, session: Callable[[], Any] | None = None) -> Iterator[Place]:
    """A place in this folder; what a source reads through is closed at the end."""

    @cache
    def database() -> str:
        server = running_server()
        return server.url(server.new_database())

    place = Place(folder, database, session or _no_session)
    yield place
    for held in place.held:
        close = getattr(held, "disconnect", None) or held.close
        close()


def _no_session() -> Any:
    raise AssertionError("tests with Spark stand where the session of a run is shared")


# ---- One small table in every kind of source, and what is counted of it --------------------------


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
        base.execute("CREATE SCHEMA raw; CREATE TABLE raw.stays AS FROM incoming")
    return folder / "base.duckdb"


def _sqlite(folder: Path) -> Path:
    with closing(sqlite3.connect(folder / "base.db")) as base, base:
        base.execute("CREATE TABLE visits (who TEXT, place TEXT, day TEXT, n INTEGER)")
        base.executemany(
            "INSERT INTO visits VALUES (?, ?, ?, ?)",
            zip(*table().to_pydict().values(), strict=True),
        )
    return folder / "base.db"


def _postgres(request: pytest.FixtureRequest, name: str = "visits") -> str:
    started: PostgresServer = request.getfixturevalue("server")
    database = started.new_database()
    import psycopg

    with psycopg.connect(started.url(database)) as base:
        base.execute("CREATE SCHEMA raw")
        base.execute(f"CREATE TABLE {name} (who TEXT, place TEXT, day TEXT, n BIGINT)")
        with base.cursor().copy(f"COPY {name} FROM STDIN") as copy:
            for row in zip(*table().to_pydict().values(), strict=True):
                copy.write_row(row)
    return f"{started.url(database)}#{name}"


def _ibis(folder: Path) -> Any:
    return ibis.duckdb.connect(str(_duckdb(folder)), read_only=True).table("visits")


class Stream:
    """An object that offers Arrow batches and nothing else."""

    def __init__(self, held: Any) -> None:
        self._held = held

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._held.__arrow_c_stream__(requested_schema)


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
    "duckdb schema": lambda folder, _: f"duckdb://{_duckdb(folder)}#raw.stays",
    "sqlite": lambda folder, _: f"sqlite://{_sqlite(folder)}#visits",
    "sqlite by its ending": lambda folder, _: f"{_sqlite(folder)}#visits",
    "postgresql": lambda _, request: _postgres(request),
    "postgresql schema": lambda _, request: _postgres(request, "raw.stays"),
    "pandas": lambda *_: table().to_pandas(),
    "pandas categorical": lambda *_: _categorical(table().to_pandas()),
    "polars": lambda *_: pl.from_arrow(table()),
    "polars lazy": lambda *_: pl.from_arrow(table()).lazy(),
    "polars categorical": lambda *_: pl.from_arrow(table()).cast({"who": pl.Categorical}),
    "pyarrow": lambda *_: table(),
    "pyarrow dictionary": lambda *_: _dictionary(table()),
    "arrow reader": lambda *_: table().to_reader(max_chunksize=100),
    "arrow batch": lambda *_: table().to_batches()[0],
    "arrow stream": lambda *_: Stream(table()),
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
