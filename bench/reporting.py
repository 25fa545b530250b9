"""How long a report of a large release takes, and how large it is.

``python bench/reporting.py`` makes releases of 10^5 items in seven days, by ``auto`` and by a named
rule, writes the report of each in a process of its own, and prints a table and, as its last line,
JSON::

    seconds   the longest of all reports, from the start of the program to the file
    cpu       the most processor time of one of them
    bytes     the largest page

A report is to take less than 10 s and to be smaller than 1 MB.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import crowdtally as ct
import made_up

METHODS: dict[str, dict[str, Any]] = {
    "auto": {},
    "sra": {"bounding": "sra", "max_records": 20},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--items", type=float, default=1e5)
    parser.add_argument("--records", type=float, default=1e6)
    chosen = parser.parse_args()
    items, records = int(chosen.items), int(chosen.records)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        _records(place / "records.parquet", items, records)
        found = [_measure(place, name, items) for name in METHODS]
    for name, seconds, cpu, size in found:
        print(f"{name:>6}  {items:,} items  {seconds:6.2f} s ({cpu:.2f} s cpu)  {size:,} bytes")
    _, seconds, cpu, size = (max(column) for column in zip(*found, strict=True))
    print(json.dumps({"seconds": seconds, "cpu": cpu, "bytes": size}))


def _records(path: Path, items: int, records: int) -> None:
    rng = np.random.default_rng(7)
    users = rng.integers(0, max(records // 20, 1), records)
    item = (items * rng.random(records) ** 3).astype(np.int64)
    day = np.array(made_up.DAYS)[rng.integers(0, 7, records)]
    pq.write_table(pa.table({"user": users, "item": item, "day": day}), path)


def _measure(place: Path, name: str, items: int) -> tuple[str, float, float, int]:
    release, page = place / name, place / f"{name}.html"
    ct.release(
        ct.read(place / "records.parquet", user="user", item="item", contexts=["day"]),
        ct.Domain(range(items), {"day": made_up.DAYS}),
        epsilon=1,
        ledger=place / f"{name}.sqlite",
        new_dataset=True,
        output=release,
        **METHODS[name],
    )
    command = [sys.executable, "-m", "crowdtally", "report", str(release), "-o", str(page)]
    start, before = time.perf_counter(), os.times()
    # A cache of its own: estimates of an earlier question are not there yet.
    settings = os.environ | {"CROWDTALLY_CACHE": str(place / "cache")}
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=settings)
    seconds, after = time.perf_counter() - start, os.times()
    cpu = sum(after[2:4]) - sum(before[2:4])
    return name, seconds, cpu, page.stat().st_size


if __name__ == "__main__":
    main()
