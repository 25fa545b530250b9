"""One dataset, one name: whatever way the source was typed, its budget is the same."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import duckdb
import pytest

import crowdtally as ct
from crowdtally.records.duckdb import DuckDBEngine
from crowdtally.records.locate import locate


def label(source: str) -> str | None:
    return locate(source).label


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a database of each kind and a link to it."""
    with duckdb.connect(str(tmp_path / "town.duckdb")) as base:
        base.execute("CREATE TABLE visits (who VARCHAR)")
        base.execute("CREATE SCHEMA raw; CREATE TABLE raw.visits (who INTEGER)")
        base.execute('CREATE TABLE raw."in.and.out" (who DATE)')
        base.execute('CREATE TABLE "dotted.name" (who TIME)')
    with closing(sqlite3.connect(tmp_path / "town.db")) as base:
        base.execute("CREATE TABLE visits (who TEXT)")
        base.execute('CREATE TABLE "dotted.name" (who INTEGER)')
    shutil.copy(tmp_path / "town.db", tmp_path / "town.sqlite3")
    shutil.copy(tmp_path / "town.duckdb", tmp_path / "other.db")
    (tmp_path / "linked").symlink_to(tmp_path, target_is_directory=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_duckdb_table_has_one_name(folder):
    names = [
        "town.duckdb#visits", "town.duckdb#VISITS", "town.duckdb#main.visits",
        "linked/town.duckdb#visits", f"{folder}/town.duckdb#Visits",
        f"duckdb://{folder}/town.duckdb#visits",
    ]  # fmt: skip
    assert {label(name) for name in names} == {f"{folder}/town.duckdb#visits"}
    assert label("town.duckdb#other.visits") == f"{folder}/town.duckdb#other.visits"


def test_a_sqlite_table_has_one_name(folder):
    names = [
        "sqlite://town.db#visits", "sqlite://linked/town.db#VISITS",
        f"sqlite://{folder}/town.db#visits", "town.db#visits", "./town.db#main.visits",
        f"{folder}/linked/town.db#Visits", f"sqlite:///{folder}/town.db#visits",
        'town.db#"visits"', "sqlite+pysqlite://town.db#visits",
    ]  # fmt: skip
    assert {label(name) for name in names} == {f"sqlite://{folder}/town.db#visits"}


def test_every_ending_of_sqlite(folder):
    assert label("town.sqlite3#visits") == f"sqlite://{folder}/town.sqlite3#visits"
    (folder / "town.db").rename(folder / "TOWN.SQLITE")
    assert label("TOWN.SQLITE#visits") == f"sqlite://{folder}/TOWN.SQLITE#visits"


def test_a_duckdb_file_of_any_name_is_one(folder):
    located = locate("other.db#raw.visits")
    assert (located.kind, located.label) == ("duckdb", f"{folder}/other.db#raw.visits")
    assert columns("other.db#raw.visits") == "INTEGER"


def columns(source: str) -> str:
    """The type of the one column: each table has another."""
    with DuckDBEngine() as engine:
        return engine.open(locate(source), "t")["who"].type


TABLES = {
    "town.duckdb#visits": "VARCHAR",
    "town.duckdb#main.visits": "VARCHAR",
    "town.duckdb#raw.visits": "INTEGER",
    "duckdb://town.duckdb#RAW.Visits": "INTEGER",
    'town.duckdb#raw."visits"': "INTEGER",
    'town.duckdb#raw."in.and.out"': "DATE",
    'town.duckdb#"dotted.name"': "TIME",
    "town.duckdb#dotted.name": "TIME",
    "town.db#visits": "VARCHAR",
    "town.db#dotted.name": "BIGINT",
    'sqlite://town.db#"dotted.name"': "BIGINT",
}


@pytest.mark.parametrize("source", TABLES)
def test_the_schema_is_part_of_a_tables_name(folder, source):
    assert columns(source) == TABLES[source]


NO_TABLES = {
    "town.duckdb#vists": r"no table 'vists'\. Did you mean 'visits'\? There are: \"dotted\.name\", "
    r'raw\."in\.and\.out", raw\.visits, visits\.',
    "town.duckdb#old.visits": r"no table 'old\.visits'\. Did you mean 'raw\.visits' or 'visits'\?",
    "town.duckdb#raw.vists": r"no table 'raw\.vists'\. Did you mean 'raw\.visits'\? There",
    "town.duckdb#a.b.visits": r"no table 'a\.b\.visits'\. Did you mean",
    "town.db#raw.visits": r"no table 'raw\.visits'\. Did you mean 'visits'\? There are: \"dotted",
}


@pytest.mark.parametrize("source", NO_TABLES)
def test_a_table_that_is_not_there_and_those_that_are(folder, source):
    with pytest.raises(ct.InputError, match=NO_TABLES[source]):
        columns(source)


NO_NAME = {
    "town.duckdb": r'type town\.duckdb#TABLE\. There are: "dotted\.name", raw\.',
    "duckdb://town.duckdb": r"type town\.duckdb#TABLE\. There are: ",
    "town.db": r'type town\.db#TABLE\. There are: "dotted\.name", visits\.$',
    "sqlite://town.db": r"type town\.db#TABLE\. There are: ",
    "town.db#": r"type town\.db#TABLE\. There are: ",
    "town.db#  ": r"type town\.db#TABLE\. There are: ",
}


@pytest.mark.parametrize("source", NO_NAME)
def test_a_database_without_a_table_lists_its_tables(folder, source):
    with pytest.raises(ct.UsageError, match=rf"a database needs its table: {NO_NAME[source]}"):
        locate(source)


@pytest.mark.parametrize(
    "url",
    [
        "postgres://ana:s3cret@host/town",
        "postgres://ana:p@s3cret@host/town",
        "postgres://ana@host/town?password=s3cret",
        "postgres://host/town?user=ana&sslpassword=s3cret",
        "s3a://key:s3cret@bucket/part-?.parquet",
    ],
)
def test_a_name_tells_no_secret(url):
    named = url if url.endswith(".parquet") else f"{url}#visits"
    found = label(named)
    assert found is not None
    assert "s3cret" not in found
    assert "part-?.parquet" in found or found.endswith("#visits")
