"""Releases by Spark on two worker processes: how their cost grows with the records.

For each number of records an SRA and an HPA release of the same Parquet file, with everything that
a user gets: matching with public lists, bounding, counting, the charge, noise, writing.
Starting Spark and a first tiny release are start-up, and apart. Shuffle bytes and spills are read
from Spark's own event log. Beside it stand DuckDB's time and, where it is installed, Tumult's for
item counts alone.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import crowdtally as ct
from crowdtally.records.spark.session import join
from made_up import DAYS, ITEMS, generate

LIMIT = 10
METHODS: dict[str, dict[str, Any]] = {
    "sra": {},
    "hpa": {"method": ct.HPA(popularity_records=5)},
}
Figures = dict[str, Any]


def whole(text: str) -> int:
    return int(float(text))


def release(path: Path, folder: Path, method: str, engine: str) -> float:
    records = ct.read(path, user="user", item="item", contexts=["day"], record_id="id")
    domain = ct.Domain(range(ITEMS), {"day": DAYS})
    start = time.perf_counter()
    ct.release(
        records, domain, epsilon=1, method=ct.SRA(LIMIT), engine=engine,
        output=folder / f"{method}-{engine}-{time.monotonic_ns()}",
        ledger=folder / "ledger.sqlite", **METHODS[method], new_dataset=True,
    )  # fmt: skip
    return time.perf_counter() - start


def tasks(log: Path) -> Iterator[dict[str, Any]]:
    """The tasks that have ended, in Spark's event log."""
    for file in (path for path in log.rglob("*") if path.is_file()):
        with file.open() as lines:
            for line in lines:
                if '"SparkListenerTaskEnd"' in line and line.endswith("}\n"):
                    yield json.loads(line)


def traffic(log: Path, since: float, until: float) -> Figures:
    """What the tasks that were launched in a span of time (in seconds) wrote and held."""
    found = {
        "shuffle_bytes": 0,
        "spilled_bytes": 0,
        "peak_task_memory_bytes": 0,
        "cpu_seconds": 0.0,
    }
    for task in tasks(log):
        if not since * 1000 <= task["Task Info"]["Launch Time"] <= until * 1000:
            continue
        metrics = task.get("Task Metrics") or {}
        written = metrics.get("Shuffle Write Metrics", {}).get("Shuffle Bytes Written", 0)
        found["shuffle_bytes"] += written
        found["spilled_bytes"] += metrics.get("Disk Bytes Spilled", 0)
        found["cpu_seconds"] += metrics.get("Executor CPU Time", 0) / 1e9
        peak = max(found["peak_task_memory_bytes"], metrics.get("Peak Execution Memory", 0))
        found["peak_task_memory_bytes"] = peak
    return {**found, "cpu_seconds": round(found["cpu_seconds"], 2)}


def tumult(path: Path) -> float | None:
    """Item counts alone, by Tumult Analytics on the running session, where it is installed."""
    if find_spec("tmlt") is None:
        return None
    from pyspark.sql import SparkSession
    from tmlt.analytics import (  # type: ignore[import-not-found]
        AddRowsWithID,
        KeySet,
        MaxRowsPerID,
        PureDPBudget,
        QueryBuilder,
        Session,
    )  # fmt: skip

    spark = SparkSession.builder.getOrCreate()
    start = time.perf_counter()
    session = Session.from_dataframe(
        PureDPBudget(1), "records", spark.read.parquet(str(path)), AddRowsWithID("user")
    )
    keys = KeySet.from_dict({"item": list(range(ITEMS))})
    query = QueryBuilder("records").enforce(MaxRowsPerID(LIMIT)).groupby(keys).count()
    session.evaluate(query, PureDPBudget(1)).toPandas()
    return time.perf_counter() - start


def measured(path: Path, folder: Path, log: Path, records: int) -> Figures:
    figures: Figures = {"file_bytes": path.stat().st_size}
    for method in METHODS:
        duckdb = release(path, folder, method, "duckdb")
        began = time.time()
        seconds = release(path, folder, method, "spark")
        ended = time.time()
        time.sleep(1)  # the event log is written a little later
        figures[method] = {
            "seconds": round(seconds, 2),
            "seconds_per_million": round(seconds * 1e6 / records, 3),
            "duckdb_seconds": round(duckdb, 2),
            **traffic(log, began, ended),
        }
    figures["tumult_items_seconds"] = tumult(path)
    return figures


def show(records: int, figures: Figures) -> None:
    print(f"{records:.0e} records, {figures['file_bytes'] / 1e6:.0f} MB of Parquet")
    for method in METHODS:
        found = figures[method]
        print(
            f"  {method}: {found['seconds']:.2f} s, {found['seconds_per_million']:.2f} s per 10^6; "
            f"{found['cpu_seconds'] * 1e6 / records:.2f} executor CPU s per 10^6; "
            f"shuffle {found['shuffle_bytes'] / records:.1f} bytes a record, spilled "
            f"{found['spilled_bytes'] / 1e6:.0f} MB, task memory "
            f"{found['peak_task_memory_bytes'] / 1e6:.0f} MB; "
            f"DuckDB {found['duckdb_seconds']:.2f} s"
        )
    other = figures["tumult_items_seconds"]
    print(f"  Tumult, items alone: {'not installed' if other is None else f'{other:.1f} s'}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=whole, nargs="+", default=[10**6, 10**7])
    parser.add_argument("--master", default="local-cluster[2,1,1024]")
    arguments = parser.parse_args()
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        log = folder / "events"
        log.mkdir()
        start = time.perf_counter()
        joined = join(
            arguments.master,
            {
                "spark.eventLog.enabled": "true", "spark.eventLog.dir": f"file://{log}",
                "spark.eventLog.compress": "false", "spark.eventLog.rolling.enabled": "false",
            },
        )  # fmt: skip
        generate(folder / "tiny.parquet", 10_000)
        for method in METHODS:
            release(folder / "tiny.parquet", folder, method, "spark")
        startup = time.perf_counter() - start
        found: dict[int, Figures] = {}
        for records in sorted(arguments.records):
            path = folder / f"{records}.parquet"
            generate(path, records)
            found[records] = measured(path, folder, log, records)
            show(records, found[records])
            path.unlink()
        joined.leave()
    result: Figures = {
        "master": arguments.master,
        "startup_seconds": round(startup, 1),
        "records": {str(records): figures for records, figures in found.items()},
    }
    if {10**6, 10**7} <= found.keys():
        result["growth"] = {
            method: round(found[10**7][method]["seconds"] / found[10**6][method]["seconds"], 2)
            for method in METHODS
        }
        print("From 10^6 to 10^7 records the time grows " + ", ".join(
            f"{times} times ({method})" for method, times in result["growth"].items()
        ) + ".")  # fmt: skip
    print(json.dumps(result))


if __name__ == "__main__":
    main()
