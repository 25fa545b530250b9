"""Sources that break their declaration: what is said of them, and that nothing is charged."""

from __future__ import annotations

import shutil
import sqlite3
import sys
from contextlib import closing

import duckdb
import pytest

from kit.command import crowdtally
from kit.town import Town

USAGE, INPUT = 2, 4


def test_the_records_own_values_are_no_list(town: Town) -> None:
    """It would publish every value that anybody has, such as Xanadu."""
    words = ("is read from the records' own table", "without looking at the records")
    for own in ("records.parquet", "records.parquet:place", "./records.parquet:place"):
        town.refuses(town.arguments(items=own), USAGE, *words, "--discover COLUMN")
    shutil.copy(town.folder / "records.parquet", town.folder / "more.parquet")
    town.refuses(town.arguments("*.parquet", items="more.parquet:place"), USAGE, *words)
    weekdays = {"context": "weekday", "values": "weekday=@records.parquet"}
    town.refuses(town.arguments(**weekdays), USAGE, "'weekday'", *words)
    town.table("people.parquet", user_id=["Zaphod-1"], age=[42])
    ages = {"context": "age", "values": "age=@people.parquet"}
    town.refuses(
        town.arguments(join="people.parquet:user_id", **ages), USAGE,
        "is read from the users' own table", "without looking",
    )  # fmt: skip
    town.table("catalogue.parquet", place=["bar", "cafe"], kind=["loud", "quiet"])
    kinds = {"context": "kind", "values": "kind=@catalogue.parquet"}
    catalogue = {"join": "catalogue.parquet:place", "items": "catalogue.parquet", **kinds}
    ended = crowdtally(*town.arguments(**catalogue))
    assert ended.code == 0, ended


@pytest.mark.parametrize(
    ("source", "code", "words"),
    [
        ("sqlite://base.db#vists", INPUT, ("no table 'vists'", "Did you mean 'visits'?")),
        ("sqlite://base.db#", USAGE, ("needs its table", "type base.db#visits.")),
        ("base.db", USAGE, ("needs its table", "There are: visits.")),
        ("base.db#raw.visits", INPUT, ("no table 'raw.visits'", "Did you mean 'visits'?")),
        ("base.db#vists", INPUT, ("no table 'vists'", "Did you mean 'visits'?")),
        ("bse.db#visits", INPUT, ("no such file: 'bse.db'", "Did you mean 'base.db'?")),
        ("sqlite:///base.db#visits", INPUT, ("no such file: '/base.db'", "type 'base.db'")),
        ("false.sqlite#visits", INPUT, ("cannot be read as a SQLite database",)),
        ("false.sqlite", INPUT, ("cannot be read as a SQLite database",)),
        ("false.duckdb#visits", INPUT, ("false.duckdb", "damaged, cut off or not of the kind")),
        ("false.duckdb", INPUT, ("cannot be read as a DuckDB database",)),
        ("folder.db#visits", INPUT, ("'folder.db' is a folder",)),
        ("folder.db", INPUT, ("'folder.db' is a folder",)),
        ("town.duckdb", USAGE, ("needs its table", "type town.duckdb#raw.visits.")),
        ("town.duckdb#visits", INPUT, ("no table 'visits'", "Did you mean 'raw.visits'?")),
        ("town.duckdb#row.visits", INPUT, ("no table 'row.visits'", "Did you mean 'raw.visits'?")),
        ("postgresql://host/base", USAGE, ("must name its table", "type URL#table")),
        ("postgresql://host/base#", USAGE, ("no table after '#'", "type URL#table")),
        ("sqlite://records.parquet#visits", INPUT, ("cannot be read as a SQLite database",)),
        ("mysql://ana:Xanadu@host/base#visits", USAGE, ("mysql", "Parquet or CSV", "host/base")),
    ],
)
def test_no_such_database(town: Town, source: str, code: int, words: tuple[str, ...]) -> None:
    with closing(sqlite3.connect(town.folder / "base.db")) as base, base:
        base.execute("CREATE TABLE visits (user_id TEXT, place TEXT)")
    with duckdb.connect(str(town.folder / "town.duckdb")) as base:
        base.execute("CREATE SCHEMA raw; CREATE TABLE raw.visits (user_id TEXT, place TEXT)")
    for name in ("false.sqlite", "false.duckdb"):
        town.write(name, "Xanadu, no database at all\n" * 200)
    (town.folder / "folder.db").mkdir()
    town.refuses(town.arguments(source), code, *words)


def test_postgresql_without_its_driver(town: Town, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    source = "postgresql://ana:Xanadu@host/base#raw.visits"
    town.refuses(town.arguments(source), 1, "pip install 'crowdtally[postgres]'")


def test_lists_and_joins_from_a_database(town: Town) -> None:
    """By the same names as records: FILE#[SCHEMA.]TABLE, and :COLUMN after it."""
    with closing(sqlite3.connect(town.folder / "base.sqlite")) as base, base:
        base.execute("CREATE TABLE places (place TEXT, kind TEXT)")
        base.execute("INSERT INTO places VALUES ('bar', 'loud'), ('cafe', 'quiet')")
    with duckdb.connect(str(town.folder / "town.duckdb")) as base:
        base.execute("CREATE SCHEMA raw; CREATE TABLE raw.days AS SELECT 'Mon' AS d, 1 AS n")
    lists = {
        "items": "base.sqlite#places:place", "join": "base.sqlite#places:place",
        "context": "kind", "values": "kind=@base.sqlite#places:kind",
    }  # fmt: skip
    ended = crowdtally(*town.arguments(**lists))
    assert ended.code == 0, ended
    days = {"context": "weekday", "values": "weekday=@town.duckdb#raw.days:d", "output": "days"}
    assert crowdtally(*town.arguments(**days)).code == 0
    wrong = {"context": "weekday", "values": "weekday=@town.duckdb#days:d", "output": "no"}
    town.refuses(town.arguments(**wrong), INPUT, "no table 'days'", "Did you mean 'raw.days'?")


EXPRESSIONS = {
    "parentheses": ("(" * 600 + "weekday" + ")" * 600, "nested too deeply"),
    "a long chain": ("weekday || " * 120 + "weekday", "nested too deeply"),
    "a long text": (f"'{'x' * 2000}'", "has 2002 characters, and at most 2000"),
    "repeat": ("repeat('x', 1000000000)", "repeat(), which is not an allowed function"),
    "rpad": ("rpad(weekday, 1000000000, 'x')", "rpad(), which is not an allowed function"),
    "printf": ("printf('%1000000000d', 1)", "printf(), which is not an allowed function"),
    "replacing by more": (
        "replace(" * 5 + "weekday" + ", 'M', 'MMMMMMMMMM')" * 5, "can lengthen a text 100000-fold"
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", EXPRESSIONS)
def test_an_expression_that_would_not_end(town: Town, case: str) -> None:
    text, words = EXPRESSIONS[case]
    given = town.arguments(context=f"day={text}", values="day=x")
    town.refuses(given, USAGE, "the expression of context 'day'", words)


def test_a_text_in_a_column_of_integers_is_dropped(town: Town) -> None:
    """Not blamed on the credentials, and not anybody else's business."""
    with closing(sqlite3.connect(town.folder / "base.db")) as base, base:
        base.execute("CREATE TABLE visits (user_id INTEGER, place TEXT)")
        base.executemany(
            "INSERT INTO visits VALUES (?, ?)", [(1, "bar"), (2, "cafe"), ("Xanadu", "bar")]
        )
    ended = crowdtally(*town.arguments("sqlite://base.db#visits"))
    assert ended.code == 0, ended
    assert "1 without a user" in ended.err
    assert "Xanadu" not in ended.err
