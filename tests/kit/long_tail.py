"""A made-up crowd with a long tail: every step of ``auto`` on items runs on it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import numpy as np
import pyarrow as pa

USERS, ITEMS, EPSILON = 1960, 80_000, 20
"""Few users per item (a zoom), but enough in all for a cheap pilot."""
COMMON = (3, 17, 40_000)
"""Items that half of the users have."""
Rows = dict[int, set[int]]
"""The distinct items of each user."""


def rows_of_all() -> Rows:
    """Most have a few items, some hundreds."""
    rng = np.random.default_rng(11)
    found: Rows = defaultdict(set)
    for user in range(USERS):
        number = min(int(rng.lognormal(2.5, 1.2)) + 1, 700)
        found[user] |= set((ITEMS * rng.random(number) ** 2).astype(int).tolist())
        found[user] |= {item for item in COMMON if rng.random() < 0.5}
    return found


def table_of(rows: Rows, *, leave_out: Iterable[int] = ()) -> pa.Table:
    """As records, each twice: repeats do not count."""
    left = set(leave_out)
    pairs = [(u, i) for u, items in rows.items() if u not in left for i in sorted(items)] * 2
    users, items = zip(*pairs, strict=True)
    return pa.table({"user": list(users), "item": list(items)})


def scaled(rows: Rows, items: set[int] | None, bound: int, grid: int) -> dict[int, int]:
    """By definition: each row divided by its own sum over these items."""
    found: dict[int, int] = defaultdict(int)
    for own in rows.values():
        row = own if items is None else own & items
        weight = grid if len(row) <= bound else grid * bound // len(row)
        for item in row:
            found[item] += weight
    return found
