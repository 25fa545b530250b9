"""Whole releases: both engines give the same tables where the bound keeps everything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

import crowdtally as ct
from crowdtally.api import read
from crowdtally.curator.request.request import make_request
from crowdtally.ledger import Ledger
from crowdtally.records.duckdb import DuckDBEngine
from kit.cluster import engine_beside
from kit.crowd import Start
from kit.publishing import publish
from kit.silent import SilentDraws

DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
CONTEXTS = {"gender": None, "day": "dayname(to_timestamp(seconds))"}
BOTH = {"gender": ["F", "M", "é"], "day": DAYS}
METHODS: dict[str, tuple[bool, dict[str, Any]]] = {
    "sra": (True, {"max_records": 500}),
    "hpa": (False, {"bounding": "hpa", "max_records": 500, "popularity_records": 400}),
    "dpsense": (True, {"bounding": "dpsense", "max_records": 3, "cap": 2}),
    "interval": (True, {"count": "users", "noise": "interval"}),
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
    town: Path, contexts: bool, options: dict[str, Any], start: Start, target: Path
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
        records,
        None if options.get("discover_items") else domain,
        epsilon=20,
        **({} if "noise" in options else {"max_records": 10}) | options,
    )
    ledger = Ledger.open(target.parent / "ledger.sqlite", create=True)
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


def test_each_row_as_many_persons_as_its_weight(start_engine: Start, tmp_path: Path) -> None:
    weights = [1, 5, 0, -2, None, 2**33]
    table = pa.table({"item": ["a", "b", "a", "b", "a", "a"], "weight": weights})
    records = read(table, item="item", user_per_row=True, weight="weight")
    made = publish(
        make_request(records, ct.Domain(["a", "b", "c"]), epsilon=1), "town", tmp_path / "made",
        ledger=Ledger.open(tmp_path / "ledger.sqlite", create=True),
        draws=SilentDraws(), tell=lambda _: None,
        start_engine=start_engine,
    )  # fmt: skip
    counts = parquet.read_table(made.folder / "items.parquet").column("count")
    assert counts.to_pylist() == [2**33 + 1, 5, 0]
