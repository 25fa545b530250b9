"""A list of ten million items works, within the memory that docs/limits.md states."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import duckdb
import pyarrow.parquet
import pytest

import crowdtally as ct
from kit.command import INSTALLED

ITEMS = 10_000_000
MEGABYTE = 2**20


@pytest.mark.long
@pytest.mark.parametrize(
    ("item", "most"),
    [("{}", 1500 * MEGABYTE), ("'item number ' || {}", 2500 * MEGABYTE)],
    ids=["integers", "text"],
)
def test_ten_million_items(tmp_path: Path, item: str, most: int) -> None:
    with duckdb.connect() as base:
        value, visited = item.format("range"), item.format(f"(range * 7919 % {ITEMS})")
        base.execute(
            f"COPY (SELECT {value} AS item FROM range({ITEMS})) TO '{tmp_path}/items.parquet'"
        )
        base.execute(
            f"COPY (SELECT 'u' || (range % 1000) AS who, {visited} AS item FROM range(100000)) "
            f"TO '{tmp_path}/records.parquet'"
        )
    arguments = [
        "release", "records.parquet", "--user", "who", "--item", "item", "--items",
        "items.parquet", "--epsilon", "1", "--output", "out", "--max-records", "100",
        "--new-dataset",
    ]  # fmt: skip
    env = {**os.environ, "CROWDTALLY_LEDGER": str(tmp_path / "ledger.sqlite")}
    program = subprocess.Popen([str(INSTALLED), *arguments], cwd=tmp_path, env=env)
    _, status, used = os.wait4(program.pid, 0)
    program.returncode = os.waitstatus_to_exitcode(status)
    assert program.returncode == 0
    peak = used.ru_maxrss * 1024
    assert peak < most, f"{peak / MEGABYTE:.0f} MB"

    file = pyarrow.parquet.ParquetFile(tmp_path / "out" / "items.parquet")
    assert file.metadata.num_rows == ITEMS
    items = file.read(columns=["item"])["item"]
    assert items.equals(pyarrow.parquet.read_table(tmp_path / "items.parquet")["item"])
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["items.parquet", "release.json"]
    assert len(ct.load(tmp_path / "out").top(10)) == 10
