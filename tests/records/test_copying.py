"""Databases and Arrow streams are copied in blocks: nothing is lost, nothing is read twice."""

from __future__ import annotations

import gc
import random
import sqlite3
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

import crowdtally as ct
from crowdtally.core.registry import quoted
from crowdtally.ledger import Ledger
from crowdtally.records import copying, postgres, sqlite
from crowdtally.records.copying import ahead
from crowdtally.records.duckdb import DuckDBEngine
from crowdtally.records.locate import locate
from kit.every_source import DAYS, PLACES, Stream, counted, expected, table
from kit.ledgers import PostgresServer, server
from kit.loud import LOUD

__all__ = ["server"]


# ---- Databases read in blocks give what reading them row by row gives, whatever they hold --------


BIG = 2**53 + 1
Read = tuple[dict[str, str], list[tuple[Any, ...]]]


def read(source: str) -> Read:
    """The columns' types and all rows, as the engine has them."""
    with DuckDBEngine() as engine:
        types = {name: column.type for name, column in engine.open(locate(source), "t").items()}
        columns = [engine.arrow(f"SELECT {quoted(name)} FROM t").column(0) for name in types]
        rows = list(zip(*(column.to_pylist() for column in columns), strict=True))
    return types, rows


def test_blocks_come_in_order_and_what_they_raise_is_raised() -> None:
    def failing() -> Any:
        yield 1
        raise KeyError("two")

    fetched = ahead(failing())
    assert next(fetched) == 1
    with pytest.raises(KeyError, match="two"):
        next(fetched)


def test_blocks_that_nobody_wants_are_not_fetched() -> None:
    ended = []

    def counting() -> Any:
        try:
            yield from range(1000)
        finally:
            ended.append(True)

    fetched = ahead(counting())
    assert next(fetched) == 0
    fetched.close()
    assert ended == [True]


# ---- SQLite --------------------------------------------------------------------------------------


def base_of(folder: Path, declaration: str, rows: Iterable[Sequence[object]], end: str = "") -> str:
    """A file with a table and a view of it: one is read in blocks, the other row by row."""
    path = folder / "base.sqlite"
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as base, base:
        base.execute(f"CREATE TABLE t ({declaration}) {end}")
        for row in rows:
            base.execute(f"INSERT INTO t VALUES ({', '.join('?' * len(row))})", row)
        base.execute("CREATE VIEW seen AS SELECT * FROM t")
    return str(path)


def fetched_in_blocks(path: str, monkeypatch: pytest.MonkeyPatch) -> tuple[Read, list[str]]:
    """What is read, and by which way each block of it came."""
    ways = []
    for name in ("_from_json", "_row_by_row"):
        real = getattr(sqlite, name)

        def noted(*given: Any, real: Any = real, name: str = name) -> Any:
            block = real(*given)
            ways.append(name)
            return block

        monkeypatch.setattr(sqlite, name, noted)
    found = read(f"{path}#t")
    monkeypatch.undo()
    return found, ways


ODD: list[Any] = [
    0, 7, -7, BIG, 2**63 - 1, -(2**63), 0.5, 1.0, -0.0, 1e300, float("inf"), 0.1, 2.0**53, None, "",
    "7", "07", "x", "null", "[1]", '"quoted"', "a,b", "back\\slash", "\\u0000", "new\nline\r", "é",
    "\U0001f600", "\x01", "zero\0inside", "2024-02-29", "2024-02-29 10:00", "true", b"",
    b"\x00\xff", b"7", b"\x00", b"\x137", b"\x17x",
]  # fmt: skip
KINDS = ("INTEGER", "TEXT", "", "NUMERIC", "REAL", "BLOB", "BOOLEAN", "DATE", "DATETIME")
DECLARED = ", ".join(f'"c {n}" {kind}' for n, kind in enumerate(KINDS))


@pytest.mark.parametrize("value", ODD, ids=repr)
@pytest.mark.parametrize("reads_bytes", [sqlite._READS_BYTES, True])
def test_one_odd_value_reads_the_same_in_a_block_and_by_itself(
    tmp_path: Path, value: Any, reads_bytes: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also by the way that newer versions of SQLite need."""
    monkeypatch.setattr(sqlite, "_READS_BYTES", reads_bytes)
    plain = [1, "a", "b", 7, 1.5, b"x", 1, "2024-01-01", "2024-01-01 10:00"]
    path = base_of(tmp_path, DECLARED, [plain, [value] * len(KINDS), plain])
    assert repr(read(f"{path}#t")) == repr(read(f"{path}#seen"))


def test_any_mixture_reads_the_same(tmp_path: Path) -> None:
    chance = random.Random(11)
    for _ in range(6):
        values = chance.sample(ODD, chance.randint(1, 9))
        rows = [[chance.choice(values) for _ in KINDS] for _ in range(60)]
        path = base_of(tmp_path, DECLARED, rows)
        assert repr(read(f"{path}#t")) == repr(read(f"{path}#seen"))


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    path = base_of(tmp_path, "x TEXT, n INTEGER", [("a", 1)])
    with closing(sqlite3.connect(path)) as base, base:
        base.execute("INSERT INTO t VALUES (CAST(x'61ff' AS TEXT), 2), ('é', 3)")
    assert read(f"{path}#t")[1] == [("a", 1), (None, 2), ("é", 3)]


def test_only_the_blocks_that_need_it_are_read_row_by_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [(1, "a"), (2, "b"), (3, b"bytes"), (4, "d"), (5, None)]
    path = base_of(tmp_path, "i INTEGER, x", rows)
    with monkeypatch.context() as patch:
        patch.setattr(sqlite, "_ROWS", 2)
        (_, found), ways = fetched_in_blocks(path, patch)
    assert found == [(1, "a"), (2, "b"), (3, None), (4, "d"), (5, None)]
    assert ways == ["_from_json", "_row_by_row", "_from_json"]


def test_row_numbers_of_any_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "_ROWS", 3)
    numbers = [-(2**63), -5, -1, 0, 1, 7, 2**40, 2**63 - 2, 2**63 - 1]
    path = base_of(tmp_path, "i INTEGER PRIMARY KEY, x TEXT", [(n, f"row {n}") for n in numbers])
    assert read(f"{path}#t")[1] == [(n, f"row {n}") for n in numbers]


UNUSUAL = {
    "a column called rowid": ("rowid TEXT, x TEXT", "", [("z", "1"), ("a", "2")]),
    "all names of a row's number": ("rowid TEXT, oid TEXT, _rowid_ TEXT", "", [("z", "1", "2")]),
    "no row numbers": ("k TEXT PRIMARY KEY, x TEXT", "WITHOUT ROWID", [("a", "1"), ("b", "2")]),
    "a name with quotes": ('"a ""b" TEXT', "", [("x",)]),
    "no rows": ("i INTEGER, x TEXT", "", []),
}


@pytest.mark.parametrize("case", UNUSUAL)
def test_unusual_tables(case: str, tmp_path: Path) -> None:
    declaration, end, rows = UNUSUAL[case]
    path = base_of(tmp_path, declaration, rows, end)
    assert read(f"{path}#t")[1] == rows
    assert read(f"{path}#t") == read(f"{path}#seen")


def test_a_computed_column_of_json_stays_text(tmp_path: Path) -> None:
    path = tmp_path / "base.sqlite"
    with closing(sqlite3.connect(path)) as base, base:
        base.execute("CREATE TABLE t (x TEXT, j TEXT AS (json(x)))")
        base.execute("""INSERT INTO t VALUES ('"a"'), ('[1, 2]')""")
    assert read(f"{path}#t")[1] == [('"a"', '"a"'), ("[1, 2]", "[1,2]")]


def test_another_encoding(tmp_path: Path) -> None:
    path = tmp_path / "base.sqlite"
    with closing(sqlite3.connect(path)) as base, base:
        base.execute("PRAGMA encoding = 'UTF-16'")
        base.execute("CREATE TABLE t (x TEXT)")
        base.execute("INSERT INTO t VALUES ('café')")
    assert read(f"{path}#t")[1] == [("café",)]


# ---- PostgreSQL ----------------------------------------------------------------------------------


@pytest.fixture
def base(server: PostgresServer) -> str:
    return server.url(server.new_database())


def fill(url: str, *statements: str) -> None:
    import psycopg

    with psycopg.connect(url) as connection:
        for statement in statements:
            connection.execute(statement)


EVERY_TYPE = (
    "i BIGINT, s SMALLINT, x TEXT, v VARCHAR(99), c CHAR(5), d NUMERIC(30, 2), n NUMERIC, "
    "day DATE, t TIMESTAMP, z TIMESTAMPTZ, b BOOLEAN, y BYTEA, u UUID, f FLOAT8, r REAL, "
    "j JSON, a TEXT[], m mood, p pair, o MONEY, e INTERVAL, k INET, g INT4RANGE"
)


def test_a_table_reads_as_copy_writes_it(base: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A view of it is copied row by row, by COPY."""
    fill(
        base,
        "CREATE TYPE mood AS ENUM ('sad, or so', 'ok'); CREATE TYPE pair AS (a TEXT, b INT)",
        f"CREATE TABLE t ({EVERY_TYPE})",
        "INSERT INTO t VALUES (9007199254740993, 7, E'a \"quoted\",\\ntext\\\\.\\r', 'é', 'ab', "
        "1.25, 1e30, '4000-01-01 BC', '2024-02-29 10:00', '2024-02-29 10:00+02', TRUE, '\\x00ff', "
        "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', 0.1, 0.1, '{\"a\": [1, null]}', "
        "'{a,NULL,\"b c\"}', 'sad, or so', ROW('x, \"y\"', NULL), 7.5, '1 day 2 hours', "
        "'10.0.0.1/8', '[1,7)')",
        "INSERT INTO t (x, v, c, p, f) VALUES ('', '', '', ROW(NULL, NULL), 'NaN'), "
        "('NULL', '\\N', '\"', NULL, '-Infinity')",
        "INSERT INTO t (i) SELECT g FROM generate_series(1, 2000) AS g",
        "CREATE VIEW seen AS SELECT * FROM t",
    )
    monkeypatch.setattr(postgres, "_PAGES", 3)
    monkeypatch.setattr(postgres, "_MOST_AT_ONCE", 4)
    found = read(f"{base}#t")
    assert repr(found) == repr(read(f"{base}#seen"))
    assert len(found[1]) == 2003
    assert [row[4] for row in found[1][:2]] == ["ab   ", "     "], "a padded text stays padded"
    assert found[1][1][2:4] == ("", ""), "an empty text is no null"


def test_tables_that_are_kept_in_several_places(base: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres, "_PAGES", 1)
    fill(
        base,
        "CREATE TABLE parted (i INT, x TEXT) PARTITION BY LIST (i)",
        "CREATE TABLE one PARTITION OF parted FOR VALUES IN (1)",
        "CREATE TABLE two PARTITION OF parted FOR VALUES IN (2)",
        "INSERT INTO parted VALUES (1, 'a'), (2, 'b')",
        "CREATE TABLE parent (i INT); CREATE TABLE child () INHERITS (parent)",
        "INSERT INTO parent VALUES (1)",
        "INSERT INTO child SELECT g FROM generate_series(2, 3000) AS g",
        "CREATE TABLE long (x TEXT); ALTER TABLE long ALTER x SET STORAGE EXTERNAL",
        "INSERT INTO long VALUES (repeat('x', 100000)), ('y')",
        "CREATE TABLE nothing (i INT)",
    )
    assert sorted(read(f"{base}#parted")[1]) == [(1, "a"), (2, "b")]
    assert sorted(read(f"{base}#parent")[1]) == [(n,) for n in range(1, 3001)]
    assert read(f"{base}#long")[1] == [("x" * 100000,), ("y",)]
    assert read(f"{base}#nothing") == ({"i": "BIGINT"}, [])


def test_a_single_column_of_nulls(base: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A null at the end of a block is a row like any other, wherever blocks end."""
    fill(
        base,
        "CREATE TABLE t (x TEXT)",
        "INSERT INTO t SELECT nullif(g % 3, 0)::TEXT FROM generate_series(1, 999) AS g",
    )
    for pages in (1, 1024):
        monkeypatch.setattr(postgres, "_PAGES", pages)
        assert Counter(read(f"{base}#t")[1]) == {("1",): 333, ("2",): 333, (None,): 333}


@pytest.mark.long
def test_long_values_that_lie_compressed(base: str) -> None:
    """One text of the server's holds 2^30 bytes, which these exceed."""
    fill(
        base,
        "CREATE TABLE t (i INT, x TEXT)",
        "INSERT INTO t SELECT g, repeat('\"', 100000) FROM generate_series(1, 6000) AS g",
    )
    with DuckDBEngine() as engine:
        engine.open(locate(f"{base}#t"), "t")
        (row,) = engine._connection.execute("SELECT count(*), min(length(x)) FROM t").fetchall()
    assert row == (6000, 100000)


def test_a_database_without_an_encoding(server: PostgresServer) -> None:
    name = f"{server.new_database()}_plain"
    import psycopg

    with psycopg.connect(server.url(server.new_database()), autocommit=True) as connection:
        made = f"CREATE DATABASE {name} ENCODING 'SQL_ASCII' TEMPLATE template0 LOCALE 'C'"
        connection.execute(made)
    fill(server.url(name), "CREATE TABLE t (x TEXT)", "INSERT INTO t VALUES ('a')")
    assert read(f"{server.url(name)}#t")[1] == [("a",)]


def test_rows_that_were_deleted_and_moved(base: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(
        base,
        "CREATE TABLE t (i INT, x TEXT)",
        "INSERT INTO t SELECT g, 'a' FROM generate_series(1, 5000) AS g",
        "DELETE FROM t WHERE i % 2 = 0; UPDATE t SET x = 'b' WHERE i % 3 = 0",
    )
    monkeypatch.setattr(postgres, "_PAGES", 1)
    wanted = [(n, "b" if n % 3 == 0 else "a") for n in range(1, 5001, 2)]
    assert sorted(read(f"{base}#t")[1]) == wanted


def test_an_old_server_is_asked_row_by_row(base: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(base, "CREATE TABLE t (i INT); INSERT INTO t VALUES (7)")
    monkeypatch.setattr(postgres, "_RANGES_SINCE", 10**9)
    monkeypatch.setattr(postgres, "blocks", None)
    assert read(f"{base}#t")[1] == [(7,)]


def test_a_table_that_may_not_be_read(base: str, server: PostgresServer) -> None:
    fill(base, "CREATE TABLE t (i INT); INSERT INTO t VALUES (8675309)")
    server.execute("DROP ROLE IF EXISTS guest", "CREATE ROLE guest LOGIN PASSWORD 'x'")
    database = base.rpartition("/")[2]
    with pytest.raises(ct.InputError, match="the user's right to read it") as caught:
        read(f"{server.url(database, 'guest', 'x')}#t")
    assert "8675309" not in str(caught.value)


# ---- Whatever offers Arrow batches is a frame; a reader, which gives its rows once, is read
#      once


SECRET = "Xanadu"


class Refuses:
    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        raise RuntimeError(SECRET)


class Lies:
    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return SECRET


def breaks_off() -> pa.RecordBatchReader:
    def batches() -> Iterator[pa.RecordBatch]:
        yield table().to_batches()[0]
        raise ValueError(SECRET)

    return pa.RecordBatchReader.from_batches(table().schema, batches())


def spent() -> Any:
    """A reader that says of itself that it was read."""
    from arro3.core import RecordBatchReader

    reader = RecordBatchReader.from_arrow(table())
    reader.read_all()
    return reader


def test_a_reader_can_be_read_again_by_us() -> None:
    reader = table().to_reader(max_chunksize=50)
    for _ in range(3):
        assert counted(reader)[:2] == expected()


def test_what_is_kept_of_a_reader_goes_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    reader = table().to_reader()
    counted(reader)
    (left,) = tmp_path.iterdir()
    assert left.stat().st_mode & 0o077 == 0, "others may read it"
    del reader
    gc.collect()
    assert list(tmp_path.iterdir()) == []


def test_types_of_a_stream_are_inferred_as_any_frames() -> None:
    for source in (Stream(table()), table().to_reader()):
        with DuckDBEngine() as engine:
            columns = engine.open(locate(source), "t")
        assert not any(column.declared for column in columns.values())
        assert columns["n"].own is not None
        assert columns["who"].own is None


def test_a_guest_among_integers_changes_nobody() -> None:
    for extra in ([], ["guest"]):
        users = pa.array([*map(str, range(9)), *extra]) if extra else pa.array(range(9))
        frame = pa.table(
            {"who": users, "place": ["park"] * len(users), "day": ["Mon"] * len(users)}
        )
        items, _, _ = counted(Stream(frame), limit=1)
        assert items[0] == 9 + len(extra)


@pytest.mark.parametrize("kind", ["categorical", "dictionary", "null column", "string view"])
def test_columns_of_many_types(kind: str) -> None:
    whole = table()
    source: Any = {
        "categorical": lambda: pl.from_arrow(whole).cast({"who": pl.Categorical}),
        "dictionary": lambda: whole.set_column(0, "who", whole["who"].dictionary_encode()),
        "null column": lambda: pl.from_arrow(whole).with_columns(n=None),
        "string view": lambda: whole.set_column(0, "who", whole["who"].cast(pa.string_view())),
    }[kind]()
    assert counted(Stream(source))[:2] == expected()


def test_without_pyarrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copying, "find_spec", lambda _: None)
    assert counted(Stream(pl.from_arrow(table())))[:2] == expected()
    odd = pl.from_arrow(table()).with_columns(n=pl.lit(2**70, dtype=pl.Int128))
    with pytest.raises(ct.InputError, match=r"type that cannot be read.*'crowdtally\[frames\]'"):
        counted(Stream(odd))


BAD = {
    "refuses": (Refuses, r"refuses them \(RuntimeError\).*once: if it was read or closed before"),
    "offers something else": (Lies, "refuses them"),
    "breaks off": (breaks_off, r"cannot be read to its end .*: what feeds it failed"),
    "was read before": (spent, "gives its rows once.*make it anew"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_stream_is_refused_uncharged(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, words = BAD[case]
    (tmp_path / "scratch").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "scratch"))
    with pytest.raises(ct.InputError, match=words) as caught:
        released(make(), tmp_path)
    assert SECRET not in str(caught.value)
    assert not (tmp_path / "out").exists()
    assert list((tmp_path / "scratch").iterdir()) == []
    assert not charges(tmp_path)


def test_a_reader_that_broke_off_is_not_read_on() -> None:
    """What is left of it would pass for all of it."""
    reader = breaks_off()
    for words in ("what feeds it failed", "some of its rows are gone: make it anew"):
        with pytest.raises(ct.InputError, match=words):
            counted(reader)


def test_a_reader_that_somebody_has_read_is_said_to_be_one(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It is empty like one without rows, and records must not decide: it is said, not refused."""
    for number, strict in enumerate((True, False)):
        reader = table().to_reader()
        reader.read_all()
        if strict:
            with pytest.raises(ct.InputError, match=r"the source has no rows.*was it read before"):
                released(reader, tmp_path, strict=True)
            assert not charges(tmp_path)
        else:
            released(reader, tmp_path)
            assert "gives its rows once: was it read before?" in caplog.text
        assert len(charges(tmp_path)) == number * 3  # reserved, drawing, published


def test_a_table_without_rows_is_not_said_to_be_read(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    released(table().slice(0, 0), tmp_path)
    said = caplog.text
    assert "has no rows" in said
    assert "reader" not in said


def released(source: Any, folder: Path, **options: Any) -> ct.Release:
    return ct.release(
        ct.read(source, user="who", item="place", contexts=["day"]),
        ct.Domain(PLACES, {"day": DAYS}, item="place"),
        epsilon=LOUD, method=ct.SRA(400), dataset="visits", output=folder / "out",
        ledger=folder / "ledger.sqlite", **options, new_dataset=True,
    )  # fmt: skip


def charges(folder: Path) -> list[Any]:
    path = folder / "ledger.sqlite"
    return (
        [e for e in Ledger.open(path, create=True).entries() if e.number > 1]
        if path.exists()
        else []
    )


def test_what_is_no_stream_says_how_to_make_one() -> None:
    delta = type("DeltaTable", (), {"__module__": "deltalake.table"})()
    with pytest.raises(ct.UsageError, match=r"to_pyarrow_dataset\(\).scanner\(\).to_reader\(\)\."):
        locate(delta)
    iceberg = type("Table", (), {"__module__": "pyiceberg.table"})()
    with pytest.raises(ct.UsageError, match=r"table\.scan\(\)\.to_arrow_batch_reader\(\)\."):
        locate(iceberg)
    with pytest.raises(
        ct.UsageError, match=r"cannot be read from a builtins\.dict.*_stream__\)\.$"
    ):
        locate({})


# ---- users that became floats --------------------------------------------------------------------

FLOATS = [1.0, 2.0, -0.0, 0.0, 1.5, float("nan"), 2.0**53, 1e300, -7.25, float("inf"), 1e-7]
KEPT = [1, 2, 0]


def _users(values: Any) -> Any:
    return {"who": values, "place": ["park"] * len(values), "day": ["Mon"] * len(values)}


FRAMES = {
    "pandas": lambda values: pd.DataFrame(_users(values)),
    "pandas objects": lambda values: pd.DataFrame(_users(pd.Series(values, dtype=object))),
    "pandas nullable": lambda values: pd.DataFrame(_users(pd.array(values, "Float64"))),
    "arrow": lambda values: pa.table(_users(values)),
    "stream": lambda values: Stream(pa.table(_users(values))),
    "polars": lambda values: pl.DataFrame(_users(values)),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_a_float_is_a_user_where_it_is_a_whole_number(kind: str) -> None:
    items, _, dropped = counted(FRAMES[kind](FLOATS), limit=1)
    assert items[0] == len(KEPT), "−0.0 and 0.0 are one user"
    assert dropped.without_user == 7
    # To pandas NaN is a missing value; among objects so is what no number of another column equals.
    missing = {"pandas": 1, "pandas nullable": 1, "pandas objects": 4}.get(kind, 0)
    assert dropped.inexact == 7 - missing


@pytest.mark.parametrize("kind", ["pandas", "pandas objects", "arrow", "polars"])
def test_the_sample_of_a_user_is_the_same_as_integer_and_as_float(kind: str) -> None:
    """A missing value makes floats of all integers; nobody is sampled anew for it."""
    frame = table().to_pandas()
    users = (frame["n"] % 17).tolist()
    samples = []
    for values in (users, [float(user) for user in users], list(map(str, users))):
        made = {"who": values, "place": frame["place"], "day": frame["day"]}
        plain = pd.DataFrame(made)
        whole = plain.astype({"who": object}) if kind == "pandas objects" else plain
        if kind in ("arrow", "polars"):
            whole = pa.table(
                {**made, "who": values, "place": table()["place"], "day": table()["day"]}
            )
        samples.append(counted(pl.from_arrow(whole) if kind == "polars" else whole, limit=2))
    assert samples[0][:2] == samples[1][:2] == samples[2][:2]


@pytest.mark.parametrize("text", ["1.5", "-7.25", "1e-07", "1.5e+300", "9007199254740993.0"])
def test_a_guest_does_not_bring_fractions_back(text: str) -> None:
    """A text among them makes text of all floats."""
    for values in ([text, "ana"], [text, "ana", "guest"]):
        items, _, dropped = counted(pa.table(_users(values)), limit=1)
        assert (items[0], dropped.inexact) == (len(values) - 1, 1)


@pytest.mark.parametrize(
    "text", ["1.0", "7", "1.2.3", "10.0.0.1", "2024.01.31", "+4930123456789012345", "12e45", "1e",
             "0009007199254740993", "e-7", "v1.5", ".", "-", "1-2", "user@e.x"],
)  # fmt: skip
def test_other_texts_are_users(text: str) -> None:
    items, _, dropped = counted(pa.table(_users([text, "ana"])), limit=1)
    assert (items[0], dropped.inexact) == (2, 0)


def test_a_declared_text_is_a_user_whatever_it_says(tmp_path: Path) -> None:
    pyarrow.parquet.write_table(pa.table(_users(["1.5", "ana"])), tmp_path / "visits.parquet")
    assert counted(tmp_path / "visits.parquet", limit=1)[0][0] == 2


def test_importing_the_engine_imports_no_pyarrow() -> None:
    import subprocess

    code = "import sys, crowdtally.records.open; sys.exit('pyarrow' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
