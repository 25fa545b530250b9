"""One set of people, one budget: which dataset a release is charged to, however it was typed."""

from __future__ import annotations

from pathlib import Path

import pytest

import crowdtally as ct
from crowdtally.curator.dataset import dataset_of
from crowdtally.records.locate import Sources
from crowdtally.records.names import one_name, postgres_name


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with two files of records."""
    monkeypatch.chdir(tmp_path)
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("who,item\nana,x\n")
    return tmp_path


def named(source: object, *known: str, given: str | None = None) -> str:
    records = ct.read(source, user="who", item="item")
    return dataset_of(Sources(records), given, known).name


SAME = [
    "postgres://host/town#visits",
    "postgresql://host/town#visits",
    "postgresql://ana:s3cret@host/town#visits",
    "postgresql+psycopg://host/town#visits",
    "postgresql://HOST:5432/town#VISITS",
    "postgresql://host/town?sslmode=require&application_name=x#public.visits",
    "postgresql://host/town?application_name=x&sslmode=require#visits",
    "postgresql://host?dbname=town#visits",
    "postgresql://?host=host&port=5432&dbname=town#visits",
    'postgresql://host/town#public."visits"',
]


@pytest.mark.parametrize("url", SAME)
def test_one_table_of_postgresql_has_one_name(url):
    assert named(url) == "postgresql://host/town#visits"
    assert one_name(url) == named(url), "as an earlier version would have called it"


@pytest.mark.parametrize(
    "other",
    [
        "postgresql://host/town#raw.visits",
        "postgresql://host/other#visits",
        "postgresql://host:5433/town#visits",
        "postgresql://elsewhere/town#visits",
        "postgresql://host/town?hostaddr=10.0.0.1#visits",
    ],
)
def test_other_tables_have_other_names(other):
    assert named(other) != named(SAME[0])


def test_a_name_is_its_own_name():
    name = postgres_name("postgres:///town?host=/run/pg&port=5433&user=ana", "raw.Visits")
    assert name == "postgresql:///town?host=/run/pg&port=5433#raw.visits"
    assert one_name(name) == name


@pytest.mark.parametrize("old", SAME[:3])
def test_a_label_of_an_old_ledger_keeps_being_charged(old):
    assert named("postgresql://host/town#visits", "other", old) == old


def test_two_labels_of_one_table_must_be_told_apart():
    with pytest.raises(ct.UsageError, match="one budget: say which is meant with --dataset"):
        named(SAME[0], SAME[0], SAME[1])
    assert named(SAME[0], SAME[0], SAME[1], given=SAME[0]) == SAME[0]


def test_a_file_within_an_older_pattern(folder):
    pattern = str(folder / "*.csv")
    assert named("*.csv") == pattern, "a pattern keeps its own name"
    with pytest.raises(ct.UsageError, match=r"are charged to the dataset '.*\*\.csv' already"):
        named("a.csv", pattern)
    assert named("a.csv", pattern, given="mine") == "mine"
    assert named("a.csv", pattern, str(folder / "a.csv")) == str(folder / "a.csv")
    assert named("a.csv", str(folder / "*.parquet")) == str(folder / "a.csv")


def test_what_the_records_are_read_from(folder):
    records = ct.read("*.csv", user="who", item="item")
    found = dataset_of(Sources(records), None, ())
    assert found.sources == (str(folder / "a.csv"), str(folder / "b.csv"))
    assert not found.chosen
    assert dataset_of(Sources(records), "mine", ()).chosen
    address = dataset_of(
        Sources(ct.read(f"file://{folder}/a.csv", user="who", item="item")), None, ()
    )
    assert address.sources == (str(folder / "a.csv"),)
    assert address.name == str(folder / "a.csv"), "the same file, read by Spark"
