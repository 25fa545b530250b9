"""One dataset, one name, however its source was typed; and no password in it."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import duckdb
import pytest

import crowdtally as ct
from crowdtally.core.records import without_secrets
from crowdtally.ledger.database.location import place
from crowdtally.records.duckdb import DuckDBEngine
from crowdtally.records.locate import locate

# ---- One dataset, one name: whatever way the source was typed, its budget is the same ------------


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


# ---- A password never shows: not in a name, a message, a prompt's answer or a notebook's ---------


HELD = [
    "plain", "sl/ash", "a@t", "ha#sh", "quest?ion", "per%2Fcent", "co:lon", "sl/ash@t", "12/34",
    "a?b=c&d", "12?34", "12#34", "[open", "close]", "12/3@4#5?6", "a//b", "a@b/c",
]  # fmt: skip
"""Passwords as people have them; most should have been escaped."""
TAILS = ["", "#visits", "#raw.visits", "?sslmode=require#visits"]


def _url(held: str, tail: str) -> str:
    return f"postgresql://ana:Xyzzy{held}Plugh@db.example:5432/town{tail}"


@pytest.mark.parametrize("held", HELD)
@pytest.mark.parametrize("tail", TAILS)
def test_no_part_of_a_password_is_shown(held: str, tail: str) -> None:
    url = _url(held, tail)
    records = ct.read(url, user="user", item="place", joins=[(url, "place")], same_person=url)
    shown = [without_secrets(url), repr(records), records._repr_html_()]
    try:
        shown.append(str(locate(url).label))
    except ct.CrowdtallyError as error:
        shown.append(str(error))
    for text in shown:
        assert "xyzzy" not in text.casefold()
        assert "plugh" not in text.casefold()


@pytest.mark.parametrize("held", HELD)
def test_no_part_of_a_ledgers_password_is_shown(held: str) -> None:
    try:
        text = str(place(_url(held, "")))
    except ct.UsageError as error:
        text = str(error)
    assert "Xyzzy" not in text
    assert "Plugh" not in text


@pytest.mark.parametrize("held", ["sl/ash", "ha#sh", "quest?ion", "12/34", "12#34", "[open"])
def test_what_would_be_read_as_another_address_is_refused(held: str) -> None:
    with pytest.raises(ct.UsageError, match="special characters of a password written as %XX"):
        locate(_url(held, "#visits"))


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("postgresql://ana:p%2Fw@h/town#t", "postgresql://h/town#t"),
        ("postgresql+psycopg://ana:p@h/town#t", "postgresql://h/town#t"),
        ("postgresql://ana:p@h1:1,h2:2/town#t", "postgresql://h1:1,h2:2/town#t"),
        ("postgresql://[::1]:6000/town#t", "postgresql://[::1]:6000/town#t"),
        ("postgresql:///town?host=@sock&user=a@b#t", "postgresql:///town?host=@sock#t"),
        ("postgresql:///town?password=p@w#t", "postgresql:///town#t"),
    ],
)
def test_addresses_that_can_be_read_keep_their_names(url: str, name: str) -> None:
    assert locate(url).label == name


def test_a_password_among_the_parameters_is_not_shown_whatever_it_holds() -> None:
    assert without_secrets("postgresql://h/db?password=a#b@c#t") == "postgresql://h/db?password=…#t"


def test_an_at_sign_in_a_path_is_no_password() -> None:
    assert without_secrets("hdfs://node:8020/a@b.parquet") == "hdfs://node:8020/a@b.parquet"
    assert without_secrets("s3a://bucket/a@b.parquet") == "s3a://bucket/a@b.parquet"
