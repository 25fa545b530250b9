"""One dataset, one name: whatever way the source was typed, its budget is the same."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import duckdb
import pytest

from crowdtally.curator.engine.sources import locate


def label(source: str) -> str | None:
    return locate(source).label


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a database of each kind and a link to it."""
    with duckdb.connect(str(tmp_path / "town.duckdb")) as base:
        base.execute("CREATE TABLE visits (who VARCHAR)")
    with closing(sqlite3.connect(tmp_path / "town.db")) as base:
        base.execute("CREATE TABLE visits (who TEXT)")
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
        f"sqlite://{folder}/town.db#visits",
    ]  # fmt: skip
    assert {label(name) for name in names} == {f"sqlite://{folder}/town.db#visits"}


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
