"""Whole releases: both engines give the same tables where the bound keeps everything."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

import crowdtally as ct
from crowdtally.budget import Ledger
from crowdtally.curator.engine.duckdb import DuckDBEngine
from crowdtally.curator.publish import publish
from crowdtally.curator.request import make_request
from crowdtally.facade import read
from kit.cluster import engine_beside
from kit.silent import SilentDraws

DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
CONTEXTS = {"gender": None, "day": "dayname(to_timestamp(seconds))"}
BOTH = {"gender": ["F", "M", "é"], "day": DAYS}
METHODS: dict[str, tuple[bool, dict[str, Any]]] = {
    "sra": (True, {"max_records": 500}),
    "sra of users": (True, {"max_records": 500, "count": "users"}),
    "hpa": (False, {"bounding": "hpa", "max_records": 500, "popularity_records": 400}),
    "dpsense": (True, {"bounding": "dpsense", "max_records": 3, "cap": 2}),
    "dpsense-s": (
        False,
        {"bounding": "dpsense-s", "max_records": 8, "choose": "dpsense", "count": "users"},
    ),
    "pairs": (False, {"max_records": 100, "pairs": True, "count": "users"}),
    "discovery": (False, {"max_records": 25, "discover_items": True, "delta": "1e-6"}),
}


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Records in two files, some without a user, a partner or a listed item; and who is who."""
    folder, rng, rows = tmp_path_factory.mktemp("town"), np.random.default_rng(11), 900
    users = [None if rng.random() < 0.03 else f"u{number}" for number in rng.integers(0, 70, rows)]
    table = pa.table(
        {
            "user": users,
            "item": [f"i{number}" for number in (23 * rng.random(rows) ** 2).astype(int)],
            "seconds": rng.integers(0, 10**9, rows),
        }
    )
    parquet.write_table(table.slice(0, 500), folder / "part-0.parquet")
    parquet.write_table(table.slice(500), folder / "part-1.parquet")
    people = [f"u{number}" for number in range(65)]
    genders = rng.choice(["F", "M", "é", "e\u0301"], len(people))
    parquet.write_table(pa.table({"user": people, "gender": genders}), folder / "people.parquet")
    return folder


def tables(
    town: Path, contexts: bool, options: dict[str, Any], start: Callable[[], Any], target: Path
) -> dict[str, Any]:
    """Every table of a release without noise."""
    records = read(
        str(town / "part-*.parquet"), user="user", item="item",
        contexts=CONTEXTS if contexts else {},
        joins=[(str(town / "people.parquet"), "user")] if contexts else [],
    )  # fmt: skip
    options = dict(options)
    items = [f"i{number}" for number in range(20)]
    domain = ct.Domain(items, BOTH if contexts else {})
    request = make_request(
        records, None if options.get("discover_items") else domain, epsilon=20, **options
    )
    ledger = Ledger.open(target.parent / "ledger.sqlite")
    made = publish(
        request, "town", target,
        ledger=ledger, draws=SilentDraws(), tell=lambda _: None, start_engine=start,
    )  # fmt: skip
    return {path.name: parquet.read_table(path) for path in sorted(made.folder.glob("*.parquet"))}


@pytest.mark.parametrize("name", METHODS)
def test_both_engines_count_the_same(name: str, town: Path, cluster: Any, tmp_path: Path) -> None:
    contexts, options = METHODS[name]
    here = tables(town, contexts, options, DuckDBEngine, tmp_path / "duckdb")
    there = tables(town, contexts, options, lambda: engine_beside(cluster), tmp_path / "spark")
    assert here.keys() == there.keys()
    for table, rows in here.items():
        assert rows.num_rows > 0
        assert sum(rows.column("count").to_pylist()) > 0
        assert rows.equals(there[table]), table


def test_each_row_as_many_persons_as_its_weight(cluster: Any, tmp_path: Path) -> None:
    weights = [1, 5, 0, -2, None, 2**33]
    table = pa.table({"item": ["a", "b", "a", "b", "a", "a"], "weight": weights})
    records = read(table, item="item", user_per_row=True, weight="weight")
    request = make_request(records, ct.Domain(["a", "b", "c"]), epsilon=1)
    found = []
    for name, start in (("here", DuckDBEngine), ("there", lambda: engine_beside(cluster))):
        made = publish(
            request, "town", tmp_path / name, ledger=Ledger.open(tmp_path / "ledger.sqlite"),
            draws=SilentDraws(), tell=lambda _: None, start_engine=start,
        )  # fmt: skip
        found.append(parquet.read_table(made.folder / "items.parquet").column("count").to_pylist())
    assert found[0] == found[1] == [2**33 + 1, 5, 0]


def test_a_spark_dataframe_chooses_its_engine(cluster: Any, tmp_path: Path) -> None:
    rows = [
        (user, item, datetime.date(2024, 1, 1 + user)) for user in range(5) for item in range(4)
    ]
    frame = cluster.createDataFrame(rows, "user INT, item INT, day DATE")
    records = ct.read(frame, user="user", item="item", contexts={"wday": "isodow(day)"})
    views = {view.name for view in cluster.catalog.listTables()}
    made = ct.release(
        records, ct.Domain(range(4), {"wday": range(1, 8)}), epsilon=50, max_records=9,
        output=tmp_path / "made", ledger=tmp_path / "ledger.sqlite", dataset="frame",
    )  # fmt: skip
    table = parquet.read_table(tmp_path / "made" / "edges.parquet")
    assert table.num_rows == 4 * 7
    assert made.metadata["charged"]["epsilon"] == "50"
    assert {view.name for view in cluster.catalog.listTables()} == views, "views were left behind"
    assert cluster.conf.get("spark.sql.ansi.enabled") == "false"


def test_settings_of_the_frames_own_session_stay(cluster: Any, tmp_path: Path) -> None:
    theirs = cluster.newSession()
    theirs.conf.set("spark.sql.ansi.enabled", "true")
    frame = theirs.createDataFrame([(1, "a")], "user INT, item STRING")
    ct.release(
        ct.read(frame, user="user", item="item"), ct.Domain(["a"]), epsilon=1,
        output=tmp_path / "made", ledger=tmp_path / "ledger.sqlite", dataset="frame",
    )  # fmt: skip
    assert theirs.conf.get("spark.sql.ansi.enabled") == "true"
    assert json.loads((tmp_path / "made" / "release.json").read_text())["guarantee"]
