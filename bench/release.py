"""A whole release over DuckDB's plain, non-private GROUP BY of the same two tables.

Both read the same Parquet file. The release does everything a user gets: matching with public
lists, bounding, counting, the charge, noise, writing and flushing the folder. Imports are
excluded and their time is printed; runs alternate, and the best of each is taken.
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
from pathlib import Path
from typing import Any

_start = time.perf_counter()

import duckdb  # noqa: E402

import crowdtally as ct  # noqa: E402
import crowdtally.api  # noqa: E402
from made_up import DAYS, ITEMS, generate  # noqa: E402

IMPORT_SECONDS = time.perf_counter() - _start
LIMIT = 10
FLOORS = (
    "SELECT item, count(*) FROM read_parquet(?) GROUP BY item",
    "SELECT item, day, count(*) FROM read_parquet(?) GROUP BY item, day",
)


def floor(path: Path) -> float:
    start = time.perf_counter()
    with duckdb.connect(":memory:") as connection:
        for query in FLOORS:
            connection.execute(query, [str(path)]).fetchnumpy()
    return time.perf_counter() - start


def release(path: Path, folder: Path, record_id: str | None, number: int) -> float:
    records = ct.read(path, user="user", item="item", contexts=["day"], record_id=record_id)
    domain = ct.Domain(range(ITEMS), {"day": DAYS})
    start = time.perf_counter()
    ct.release(
        records, domain, epsilon=1, max_records=LIMIT,
        output=folder / f"release-{record_id}-{number}", ledger=folder / "ledger.sqlite",
        new_dataset=True,
    )  # fmt: skip
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=lambda text: int(float(text)), default=10_000_000)
    parser.add_argument("--repeats", type=int, default=9)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = folder / "records.parquet"
        generate(path, arguments.records)
        times: dict[str, list[float]] = {"floor": [], "with_id": [], "without_id": []}
        for number in range(arguments.repeats):
            times["floor"].append(floor(path))
            times["with_id"].append(release(path, folder, "id", number))
            times["without_id"].append(release(path, folder, None, number))
    best = {name: min(seconds) for name, seconds in times.items()}
    result: dict[str, Any] = {
        "records": arguments.records,
        "seconds": {name: round(seconds, 3) for name, seconds in best.items()},
        "ratio": round(best["with_id"] / best["floor"], 2),
        "ratio_without_id": round(best["without_id"] / best["floor"], 2),
        "peak_memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "import_seconds": round(IMPORT_SECONDS, 2),
        "duckdb": duckdb.__version__,
    }
    for name, seconds in times.items():
        print(f"{name:>12}: best {min(seconds):.3f} s of {[round(s, 3) for s in seconds]}")
    print(json.dumps(result))


if __name__ == "__main__":
    main()
