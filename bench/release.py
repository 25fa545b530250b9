"""A whole release over DuckDB's plain, non-private GROUP BY of the same Parquet file.

The release does everything a user gets: matching with public lists, bounding, counting, the
charge, noise, writing and flushing the folder. SRA's two tables are set against two GROUP BYs, of
items and of items × contexts. ``auto``, of items alone and with contexts, is set against the one of
items × contexts. Imports are excluded and their time is printed; runs alternate, and the best of
each is taken. The last line is one JSON object with the list ``missed``.
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
GROUP_BY = {
    "group_by_items": "SELECT item, count(*) FROM read_parquet(?) GROUP BY item",
    "group_by_cells": "SELECT item, day, count(*) FROM read_parquet(?) GROUP BY item, day",
}
RELEASES: dict[str, dict[str, Any]] = {
    "sra_with_id": {"record_id": "id", "method": ct.SRA(LIMIT)},
    "sra_without_id": {"method": ct.SRA(LIMIT)},
    "auto_items": {"contexts": ()},
    "auto_contexts": {},
}
TARGETS = {"auto_items": 4, "auto_contexts": 5}
"""So many times as long as the GROUP BY of items × contexts, at most."""


def group_by(path: Path, query: str) -> float:
    """Seconds of a plain query."""
    start = time.perf_counter()
    with duckdb.connect(":memory:") as connection:
        connection.execute(query, [str(path)]).fetchnumpy()
    return time.perf_counter() - start


def release(
    path: Path, output: Path, contexts: tuple[str, ...] = ("day",), record_id: str | None = None,
    **options: Any,
) -> float:  # fmt: skip
    """Seconds of a whole release; by ``auto`` where nothing else is asked for."""
    records = ct.read(path, user="user", item="item", contexts=contexts, record_id=record_id)
    domain = ct.Domain(range(ITEMS), {"day": DAYS} if contexts else {})
    start = time.perf_counter()
    ct.release(
        records, domain, epsilon=1, output=output, ledger=output.parent / "ledger.sqlite",
        new_dataset=True, **options,
    )  # fmt: skip
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--records", type=lambda text: int(float(text)), default=10_000_000)
    parser.add_argument("--repeats", type=int, default=9)
    arguments = parser.parse_args()
    times: dict[str, list[float]] = {name: [] for name in (*GROUP_BY, *RELEASES)}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = folder / "records.parquet"
        generate(path, arguments.records)
        for number in range(arguments.repeats):
            for name, query in GROUP_BY.items():
                times[name].append(group_by(path, query))
            for name, options in RELEASES.items():
                times[name].append(release(path, folder / f"{name}-{number}", **options))
    for name, seconds in times.items():
        print(f"{name:>14}: best {min(seconds):.3f} s of {[round(s, 3) for s in seconds]}")
    best = {name: min(seconds) for name, seconds in times.items()}
    cells = best["group_by_cells"]
    both = best["group_by_items"] + cells
    ratios = {name: best[name] / (cells if name in TARGETS else both) for name in RELEASES}
    missed = [
        {"target": f"{name} over the GROUP BY of items × contexts", "wanted": wanted,
         "found": round(ratios[name], 2)}
        for name, wanted in TARGETS.items() if ratios[name] > wanted
    ]  # fmt: skip
    print(json.dumps({
        "records": arguments.records,
        "seconds": {name: round(seconds, 3) for name, seconds in best.items()},
        "ratio": {name: round(ratio, 2) for name, ratio in ratios.items()},
        "missed": missed,
        "peak_memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "import_seconds": round(IMPORT_SECONDS, 2),
        "duckdb": duckdb.__version__,
    }))  # fmt: skip


if __name__ == "__main__":
    main()
