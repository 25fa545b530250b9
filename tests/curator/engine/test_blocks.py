"""Databases read in blocks give what reading them row by row gives, whatever they hold."""

from __future__ import annotations

import random
import sqlite3
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import crowdtally as ct
from budget.ledger_kit import PostgresServer, server
from crowdtally.core.registry import quoted
from crowdtally.records import postgres, sqlite
from crowdtally.records.copying import ahead
from crowdtally.records.duckdb import DuckDBEngine
from crowdtally.records.locate import locate

__all__ = ["server"]
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
