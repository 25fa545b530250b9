"""Made-up records that the benchmarks share: heavy-tailed users, skewed items, seven days."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np

ITEMS = 20_000
RECORDS_PER_USER = 60
DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]


def generate(path: Path, records: int) -> None:
    """Heavy-tailed users (mean about 60 records), skewed items, seven days, a stored record id."""
    rng = np.random.default_rng(7)
    wishes = rng.lognormal(3.3, 1.3, size=max(records // RECORDS_PER_USER, 1))
    per_user = np.maximum(1, (wishes * records / wishes.sum()).astype(np.int64))
    users = rng.permutation(np.repeat(np.arange(len(per_user)), per_user))
    columns = {
        "id": np.arange(len(users)),
        "user": users,
        "item": (ITEMS * rng.random(len(users)) ** 3).astype(np.int64),
        "day": rng.integers(0, 7, len(users)),
    }
    with duckdb.connect(":memory:") as connection:
        connection.register("columns", columns)
        days = ", ".join(f"'{day}'" for day in DAYS)
        connection.execute(
            f"COPY (SELECT id, user, item, [{days}][day + 1] AS day FROM columns) "
            f"TO '{path}' (FORMAT parquet)"
        )
