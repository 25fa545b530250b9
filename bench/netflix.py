"""The Netflix look-alike, 10^8 records: made, counted plainly, and released with HPA on DuckDB.

Each of the three runs in a process of its own, which tells its seconds, without imports, and its
peak memory. The plain count is DuckDB's GROUP BY of item and weekday. The release is everything
a user gets: HPA with l = 10 and ε = 1, items and their weekdays, the charge to a ledger of its own,
and the folder on the disk.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

LIMIT = 10
STEPS: dict[str, Callable[[Path, Path, str], float]] = {}


def step(function: Callable[[Path, Path, str], float]) -> Callable[[Path, Path, str], float]:
    """Enter what one process measures: (records, scratch folder, scale) -> seconds."""
    STEPS[function.__name__] = function
    return function


@step
def generate(records: Path, folder: Path, scale: str) -> float:
    from crowdtally_research.lookalikes.writing import plan, write

    planned = plan("netflix", records, scale, seed=1)
    start = time.perf_counter()
    write(planned)
    return time.perf_counter() - start


@step
def group_by(records: Path, folder: Path, scale: str) -> float:
    import duckdb

    start = time.perf_counter()
    with duckdb.connect(":memory:") as connection:
        connection.execute(
            "SELECT item_id, weekday, count(*) FROM read_parquet(?) GROUP BY item_id, weekday",
            [str(records)],
        ).fetchnumpy()
    return time.perf_counter() - start


@step
def release(records: Path, folder: Path, scale: str) -> float:
    import crowdtally as ct
    import crowdtally.api
    from crowdtally.lab.demo import DAYS

    items = ct.read_list(records.with_name(f"{records.stem}.items.parquet"), "item_id")
    domain = ct.Domain(items, {"weekday": DAYS})
    source = ct.read(
        records, user="user_id", item="item_id", contexts=["weekday"], record_id="record_id"
    )
    start = time.perf_counter()
    ct.release(
        source, domain, epsilon=1, method=ct.HPA(LIMIT), output=folder / "release",
        ledger=folder / "ledger.sqlite", dataset="netflix look-alike", new_dataset=True,
    )  # fmt: skip
    return time.perf_counter() - start


def measured(name: str, records: Path, folder: Path, scale: str) -> dict[str, float]:
    """Seconds and peak megabytes of one step in a process of its own."""
    done = subprocess.run(
        [sys.executable, __file__, "--step", name, str(records), str(folder), scale],
        stdout=subprocess.PIPE, text=True, check=True,
    )  # fmt: skip
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    print(f"{name:>10}: {found['seconds']:>8.2f} s  {found['peak_mb']:>6} MB", flush=True)
    return found


def one_step(name: str, records: str, folder: str, scale: str) -> None:
    seconds = STEPS[name](Path(records), Path(folder), scale)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(json.dumps({"seconds": seconds, "peak_mb": peak}))


def compared(records: Path, folder: Path, scale: str) -> dict[str, Any]:
    """What all steps took, and what they took over the plain count."""
    from crowdtally_research.lookalikes.statistics import statistics_of

    numbers = statistics_of("netflix", scale)
    found = {name: measured(name, records, folder, scale) for name in STEPS}
    plain = found["group_by"]
    return {
        "records": numbers.records,
        "users": numbers.users,
        "records_per_second": round(numbers.records / found["generate"]["seconds"]),
        "seconds": {name: round(one["seconds"], 2) for name, one in found.items()},
        "peak_mb": {name: one["peak_mb"] for name, one in found.items()},
        "ratio": round(found["release"]["seconds"] / plain["seconds"], 1),
        "ratio_memory": round(found["release"]["peak_mb"] / plain["peak_mb"], 1),
        "ratio_generate": round(found["generate"]["seconds"] / plain["seconds"], 1),
        "file_mb": records.stat().st_size >> 20,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", default="1", help="the share of users and records: 0.1")
    parser.add_argument("--keep", metavar="FILE", type=Path, help="keep the records here")
    parser.add_argument("--step", nargs=4, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.step:
        one_step(*arguments.step)
        return
    with tempfile.TemporaryDirectory() as name:
        records = arguments.keep or Path(name) / "netflix.parquet"
        print(json.dumps(compared(records, Path(name), arguments.scale)))


if __name__ == "__main__":
    main()
