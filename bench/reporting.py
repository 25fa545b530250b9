"""How long a report and a site of a large release take, and how large they are.

``python bench/reporting.py`` makes releases of 10^5 items in seven days, by ``auto`` and by a named
rule, writes the report of each in a process of its own, then sites of 10^4 items in seven days, and
prints a table and, as its last line, JSON::

    seconds        the longest of all reports, from the start of the program to the file
    cpu            the most processor time of one of them
    bytes          the largest page
    site_seconds   the longest of all sites
    site_cpu       the most processor time of one of them
    site_bytes     the largest of all sites, without the copy of the release

A report is to take less than 10 s and to be smaller than 1 MB, a site to take less than 60 s.
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
    "sra": {"method": ct.SRA(20)},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--items", type=float, default=1e5)
    parser.add_argument("--site-items", type=float, default=1e4)
    parser.add_argument("--records", type=float, default=1e6)
    chosen = parser.parse_args()
    told: dict[str, float] = {}
    for what, items in (("", chosen.items), ("site_", chosen.site_items)):
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            _records(place / "records.parquet", int(items), int(chosen.records))
            found = [_measure(place, name, int(items), site=bool(what)) for name in METHODS]
        for name, (seconds, cpu, size) in zip(METHODS, found, strict=True):
            print(f"{'site' if what else 'report':>6}  {name:>4}  {int(items):7,} items  "
                  f"{seconds:6.2f} s ({cpu:.2f} s cpu)  {size:,} bytes")  # fmt: skip
        most = map(max, zip(*found, strict=True))
        told |= dict(
            zip((f"{what}{one}" for one in ("seconds", "cpu", "bytes")), most, strict=True)
        )
    print(json.dumps(told))


def _records(path: Path, items: int, records: int) -> None:
    rng = np.random.default_rng(7)
    users = rng.integers(0, max(records // 20, 1), records)
    item = (items * rng.random(records) ** 3).astype(np.int64)
    day = np.array(made_up.DAYS)[rng.integers(0, 7, records)]
    pq.write_table(pa.table({"user": users, "item": item, "day": day}), path)


def _measure(place: Path, name: str, items: int, *, site: bool) -> tuple[float, float, int]:
    release, target = place / name, place / (f"{name}-site" if site else f"{name}.html")
    ct.release(
        ct.read(place / "records.parquet", user="user", item="item", contexts=["day"]),
        ct.Domain(range(items), {"day": made_up.DAYS}),
        epsilon=1,
        ledger=place / f"{name}.sqlite",
        new_dataset=True,
        output=release,
        **METHODS[name],
    )
    verb, option = ("export", "--site") if site else ("report", "-o")
    command = [sys.executable, "-m", "crowdtally", verb, str(release), option, str(target)]
    start, before = time.perf_counter(), os.times()
    # A cache of its own: estimates of an earlier question are not there yet.
    settings = os.environ | {"CROWDTALLY_CACHE": str(place / "cache")}
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=settings)
    seconds, after = time.perf_counter() - start, os.times()
    cpu = sum(after[2:4]) - sum(before[2:4])
    return seconds, cpu, _size(target)


def _size(target: Path) -> int:
    """Of a page, or of all files of a site that it made itself."""
    if target.is_file():
        return target.stat().st_size
    copied = target / "release"
    made = (one for one in target.rglob("*") if one.is_file() and copied not in one.parents)
    return sum(one.stat().st_size for one in made)


if __name__ == "__main__":
    main()
