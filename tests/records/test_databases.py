"""SQLite and PostgreSQL, read exactly: by declared types, each value by itself."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import ibis
import pytest

import crowdtally as ct
from crowdtally.core.registry import quoted
from crowdtally.records.duckdb import DuckDBEngine
from crowdtally.records.locate import locate
from kit.ledgers import PostgresServer, server

__all__ = ["server"]

pytestmark = pytest.mark.filterwarnings("ignore:The 'future.infer_string' option")


BIG = 2**53 + 1


def read(source: object) -> tuple[dict[str, str], list[tuple[Any, ...]]]:
    """The columns' types and all rows, as the engine has them."""
    with DuckDBEngine() as engine:
        types = {name: column.type for name, column in engine.open(locate(source), "t").items()}
        columns = [engine.arrow(f"SELECT {quoted(name)} FROM t").column(0) for name in types]
        rows = list(zip(*(column.to_pylist() for column in columns), strict=True))
    return types, rows


def sqlite(folder: Path, declaration: str, rows: Iterable[Sequence[object]]) -> str:
    path = folder / "base.db"
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as base, base:
        base.execute(f"CREATE TABLE t ({declaration})")
        for row in rows:
            base.execute(f"INSERT INTO t VALUES ({', '.join('?' * len(row))})", row)
    return f"sqlite://{path}#t"


# ---- SQLite --------------------------------------------------------------------------------------


def test_a_null_does_not_round_the_others(tmp_path):
    """Through pandas, one null makes floats of all integers, and 2^53 + 1 becomes 2^53."""
    rows = [(BIG,), (BIG - 1,), (None,), (-(2**63),), (2**63 - 1,)]
    types, found = read(sqlite(tmp_path, "i INTEGER", rows))
    assert types == {"i": "BIGINT"}
    assert found == rows


DECLARED = {
    "integer": ("i BIGINT", "BIGINT", [(7, 7), ("seven", None), (1.5, None), (b"7", None)]),
    "text": ("i VARCHAR(9)", "VARCHAR", [("7", "7"), (7, "7"), ("", ""), (b"7", None)]),
    "nothing": (
        "i",
        "VARCHAR",
        [(7, "7"), ("07", "07"), (7.0, "7"), (1.5, "1.5"), (BIG, f"{BIG}")],
    ),
    "numeric": ("i NUMERIC", "VARCHAR", [(7, "7"), ("x", "x"), (BIG, f"{BIG}")]),
    "real": ("i REAL", "DOUBLE", [(1.5, 1.5), (0.1, 0.1), ("x", None)]),
    "blob": ("i BLOB", "BLOB", [(b"\x00\xff", b"\x00\xff"), ("x", None)]),
    "truth": ("i BOOLEAN", "BOOLEAN", [(1, True), (0, False), ("true", True), ("x", None)]),
}


@pytest.mark.parametrize("case", DECLARED)
def test_the_declared_type_decides_and_each_value_stands_alone(case, tmp_path):
    declaration, kind, cases = DECLARED[case]
    types, found = read(sqlite(tmp_path, declaration, [(given,) for given, _ in cases]))
    assert types == {"i": kind}
    assert found == [(wanted,) for _, wanted in cases]
    for given, wanted in cases:
        alone, rows = read(sqlite(tmp_path, declaration, [(given,), (None,)]))
        assert (alone, rows) == (types, [(wanted,), (None,)])


def test_times_and_bytes_that_are_no_text(tmp_path):
    source = sqlite(
        tmp_path, "day DATE, t DATETIME, x TEXT", [("2024-02-30", "2024-01-01 10:00", "a")]
    )
    with closing(sqlite3.connect(tmp_path / "base.db")) as base, base:
        base.execute("INSERT INTO t VALUES ('2024-02-29', 'noon', CAST(x'ff' AS TEXT))")
    types, rows = read(source)
    assert types == {"day": "DATE", "t": "TIMESTAMP", "x": "VARCHAR"}
    assert [(str(day), str(t), x) for day, t, x in rows] == [
        ("None", "2024-01-01 10:00:00", "a"), ("2024-02-29", "None", None),
    ]  # fmt: skip


def test_many_rows_come_in_blocks(tmp_path):
    rows = [(n, f"text {n}") for n in range(250_001)]
    assert read(sqlite(tmp_path, "i INTEGER, x TEXT", rows))[1] == rows


def test_views_and_odd_names(tmp_path):
    source = sqlite(tmp_path, '"a ""b" INTEGER, other', [(BIG, BIG)])
    with closing(sqlite3.connect(tmp_path / "base.db")) as base, base:
        base.execute('CREATE VIEW "odd.view" AS SELECT * FROM t')
    path = source.removesuffix("#t")
    for name in ("t", "T", "main.t", "odd.view"):
        assert read(f"{path}#{name}")[1] == [(BIG, str(BIG))]


def test_an_ibis_table_on_sqlite(tmp_path):
    source = sqlite(tmp_path, "i INTEGER, x TEXT", [(BIG, "a"), (None, "b")])
    backend = ibis.sqlite.connect(source.removeprefix("sqlite://").removesuffix("#t"))
    try:
        table = backend.table("t")
        assert read(table.filter(table.x != "c"))[1] == [(str(BIG), "a"), (None, "b")]
    finally:
        backend.disconnect()


# ---- PostgreSQL ----------------------------------------------------------------------------------


@pytest.fixture
def base(server: PostgresServer) -> str:
    import psycopg

    url = server.url(server.new_database())
    with psycopg.connect(url) as connection:
        connection.execute(
            "CREATE TABLE visits (i BIGINT, s SMALLINT, x TEXT, d NUMERIC(30, 2), n NUMERIC, "
            "day DATE, t TIMESTAMP(3), z TIMESTAMPTZ, b BOOLEAN, y BYTEA, u UUID, f FLOAT8, j JSON)"
        )
        connection.execute(
            "INSERT INTO visits VALUES (9007199254740993, 7, 'a \"quoted\",\ntext', "
            "1234567890123456789012345678.25, 1e30, '2024-02-29', '2024-02-29 10:00', "
            "'2024-02-29 10:00+02', TRUE, '\\x00ff', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', "
            "0.1, '[1]'), (NULL, NULL, '', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'NaN', "
            "NULL)"
        )
        connection.execute("CREATE SCHEMA raw; CREATE VIEW raw.seen AS SELECT i, x FROM visits")
        connection.execute('CREATE TABLE "Odd" (i INT); INSERT INTO "Odd" VALUES (1)')
    return url


def test_every_type_of_postgresql(base):
    types, (full, empty) = read(f"{base}#visits")
    assert list(types.values()) == [
        "BIGINT", "BIGINT", "VARCHAR", "DECIMAL(30,2)", "VARCHAR", "DATE", "TIMESTAMP",
        "TIMESTAMP WITH TIME ZONE", "BOOLEAN", "BLOB", "UUID", "DOUBLE", "VARCHAR",
    ]  # fmt: skip
    assert [str(value) for value in full] == [
        str(BIG), "7", 'a "quoted",\ntext', "1234567890123456789012345678.25", "1" + "0" * 30,
        "2024-02-29", "2024-02-29 10:00:00", "2024-02-29 08:00:00+00:00", "True", "b'\\x00\\xff'",
        "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "0.1", "[1]",
    ]  # fmt: skip
    assert empty[2] == "", "an empty text is no null"
    assert [value for value in empty if value is not None][1:] != []
    assert all(value is None for value in (*empty[:2], *empty[3:11], empty[12]))


def test_tables_of_postgresql(base):
    assert read(f"{base}#raw.seen")[1][0][0] == BIG
    assert read(f"{base}#public.visits")[0] == read(f"{base}#VISITS")[0]
    assert read(f"{base}#Odd")[1] == [(1,)]
    with pytest.raises(ct.InputError, match=r"no table 'vists'. Did you mean 'visits'\? There are: "
                       r"Odd, raw.seen, visits\."):  # fmt: skip
        read(f"{base}#vists")


def test_a_table_of_another_schema_is_suggested_and_not_read(base):
    import psycopg

    with psycopg.connect(base) as connection:
        connection.execute("CREATE TABLE raw.visits (i INT); INSERT INTO raw.visits VALUES (5)")
        connection.execute('CREATE TABLE raw."in.and.out" (i INT)')
    assert read(f"{base}#raw.visits")[1] == [(5,)]
    assert read(f'{base}#RAW."visits"')[1] == [(5,)]
    assert len(read(f"{base}#visits")[0]) == 13
    assert read(f'{base}#raw."in.and.out"') == ({"i": "BIGINT"}, [])
    for name, words in {
        "seen": r"no table 'seen'\. Did you mean 'raw\.seen'\? There are: Odd, raw\.\"in\.and",
        "old.visits": r"Did you mean 'raw\.visits' or 'visits'\?",
        "raw.vists": r"Did you mean 'raw\.visits'\?",
        "a.b.c.d": r"no table 'a\.b\.c\.d'\.",
        'un"paired': r"no table 'un\"paired'\.",
    }.items():
        with pytest.raises(ct.InputError, match=words):
            read(f"{base}#{name}")


def test_without_the_driver_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(ct.CrowdtallyError, match=r"pip install 'crowdtally\[postgres\]'"):
        read("postgresql://host/town#visits")


def test_a_wrong_password(base, server):
    with pytest.raises(ct.InputError, match=r"cannot be reached.* check the address") as caught:
        read(f"{base.replace(server.password, 'Xanadu')}#visits")
    assert "Xanadu" not in str(caught.value)


def test_an_ibis_table_on_postgresql(base):
    backend = ibis.connect(base)
    try:
        table = backend.table("visits")
        assert read(table.filter(table.s == 7).select("i", "x"))[1] == [
            (str(BIG), 'a "quoted",\ntext')
        ]
    finally:
        backend.disconnect()
