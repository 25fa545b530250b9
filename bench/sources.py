"""Seconds of a whole release from each kind of source over the same from Parquet.

The same made-up records (user, item, day, a stored id) lie in Parquet, CSV, DuckDB, SQLite and a
real PostgreSQL. A release does everything a user gets, from opening the source to the flushed
folder. Runs take turns, and the best of each kind is taken. ``reading`` is what opening alone
takes: a database is copied there, value by value, and that is where its time goes.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import duckdb

import crowdtally as ct
import crowdtally.api
from crowdtally.records.duckdb import DuckDBEngine
from crowdtally.records.locate import locate
from made_up import DAYS, ITEMS, generate
from served import server

LIMIT = 10
COLUMNS = "id BIGINT, user_id BIGINT, item BIGINT, day VARCHAR(9)"


def release(source: str, output: Path, ledger: Path) -> float:
    records = ct.read(source, user="user_id", item="item", contexts=["day"], record_id="id")
    domain = ct.Domain(range(ITEMS), {"day": DAYS})
    start = time.perf_counter()
    ct.release(
        records, domain, epsilon=1, method=ct.SRA(LIMIT), output=output, ledger=ledger,
        dataset="bench", new_dataset=True,
    )  # fmt: skip
    return time.perf_counter() - start


def reading(source: str) -> float:
    with DuckDBEngine() as engine:
        start = time.perf_counter()
        engine.open(locate(source), "source")
        return time.perf_counter() - start


@contextmanager
def everywhere(folder: Path, records: int) -> Iterator[dict[str, str]]:
    """The same records in every kind of source."""
    generate(folder / "made.parquet", records)
    with duckdb.connect(str(folder / "records.duckdb")) as base:
        base.execute(
            'CREATE TABLE records AS SELECT id, "user" AS user_id, item, day '
            f"FROM '{folder / 'made.parquet'}'"
        )
        for kind in ("parquet", "csv"):
            base.execute(f"COPY records TO '{folder / f'records.{kind}'}' (FORMAT {kind})")
        rows = base.execute("FROM records").fetchall()
    with closing(sqlite3.connect(folder / "records.sqlite")) as file, file:
        file.execute(f"CREATE TABLE records ({COLUMNS})")
        file.executemany("INSERT INTO records VALUES (?, ?, ?, ?)", rows)
    with server() as url:
        _fill(url, folder / "records.csv")
        yield {
            "parquet": str(folder / "records.parquet"),
            "csv": str(folder / "records.csv"),
            "duckdb": f"{folder / 'records.duckdb'}#records",
            "sqlite": f"sqlite://{folder / 'records.sqlite'}#records",
            "postgresql": f"{url}#records",
        }


def _fill(url: str, path: Path) -> None:
    import psycopg

    with psycopg.connect(url) as base:
        base.execute(f"CREATE TABLE records ({COLUMNS})")
        with base.cursor().copy("COPY records FROM STDIN (FORMAT csv, HEADER)") as copy:
            copy.write(path.read_bytes())


def measured(records: int, repeats: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with everywhere(folder, records) as sources:
            whole: dict[str, list[float]] = {kind: [] for kind in sources}
            opening: dict[str, list[float]] = {kind: [] for kind in sources}
            for number in range(repeats):
                for kind, source in sources.items():
                    output = folder / f"release-{kind}-{number}"
                    whole[kind].append(release(source, output, folder / "ledger.sqlite"))
                    opening[kind].append(reading(source))
    best = {kind: min(seconds) for kind, seconds in whole.items()}
    return {
        "records": records,
        "seconds": {kind: round(seconds, 3) for kind, seconds in best.items()},
        "reading": {kind: round(min(seconds), 3) for kind, seconds in opening.items()},
        "ratio": {kind: round(best[kind] / best["parquet"], 2) for kind in best},
        "duckdb": duckdb.__version__,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=lambda text: int(float(text)), default=1_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    found = measured(arguments.records, arguments.repeats)
    for kind, seconds in found["seconds"].items():
        print(
            f"{kind:>12}: {seconds:.3f} s, of which {found['reading'][kind]:.3f} s to open; "
            f"{found['ratio'][kind]:.2f} times Parquet"
        )
    print(json.dumps(found))


if __name__ == "__main__":
    main()
