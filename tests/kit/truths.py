"""Rows with everything that may be wrong with a row, counted by plain Python."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import Any

import pyarrow as pa

import crowdtally as ct
from crowdtally.curator.request.request import Request, make_request
from crowdtally.lab.rehearse import true_counts
from crowdtally.records.engine import Engine
from crowdtally.records.prepare import Prepared, prepare

ITEMS, DAYS = ("a", "b", "c", "d"), ("Mon", "Tue")
USERS = [f"u{n % (n % 7 + 2)}" if n % 11 else None for n in range(400)]
MET = [("a", "b", "c", "abroad", None, "a", "a")[n % 7] for n in range(400)]
DAY = [("Mon", "Tue", "never")[n * n % 5 % 3] for n in range(400)]
TIMES = [(1, 2, 0, None, -3, 9, 10**12)[n % 37 % 7] for n in range(400)]
ROWS = pa.table({"user": USERS, "item": MET, "day": DAY, "times": pa.array(TIMES, pa.int64())})
DOMAIN = ct.Domain(ITEMS, {"day": DAYS}, item="item")
MOST = 2**33

Row = tuple[str, int, int, int]


def plain(*, quantities: bool = False, users: bool = True) -> list[Row]:
    """(user, item, day, times) of the rows that count."""
    found = []
    for user, item, day, times in zip(USERS, MET, DAY, TIMES, strict=True):
        if item in ITEMS and day in DAYS and (user is not None or not users):
            often = 1 if not quantities else min(times or 0, MOST)
            if often > 0:
                found.append((str(user), ITEMS.index(item), DAYS.index(day), often))
    return found


def listed(counts: Counter[int], size: int) -> list[int]:
    """The counts of all cells in order."""
    return [counts[cell] for cell in range(size)]


BOUNDED = {"max_records": 1}
Opened = Callable[[str], tuple[Any, Prepared, Request]]
ASKED: dict[str, tuple[dict[str, Any], ct.Domain | None, dict[str, Any]]] = {
    "records": ({"user": "user", "item": "item", "contexts": ["day"]}, DOMAIN, BOUNDED),
    "pairs": (
        {"user": "user", "item": "item"}, ct.Domain(ITEMS), {"pairs": True, "max_records": 2},
    ),
    "quantities": (
        {
            "user": "user", "item": "item", "contexts": ["day"],
            "quantity": "times", "max_quantity": 3,
        },
        DOMAIN, BOUNDED,
    ),
    "rows": (
        {"user_per_row": True, "item": "item", "contexts": ["day"]}, DOMAIN, {},
    ),
    "weights": (
        {"user_per_row": True, "item": "item", "contexts": ["day"], "weight": "times"},
        DOMAIN, {},
    ),
    "attributes": (
        {"user": "user", "attributes": ["item", "day"]},
        ct.Domain(attributes={"item": ITEMS, "day": DAYS}), BOUNDED,
    ),
    "nobody": ({"user": "user", "item": "item"}, ct.Domain(["z"]), BOUNDED),
}  # fmt: skip


@contextmanager
def opening(start_engine: Callable[[], Engine]) -> Iterator[Opened]:
    """What opens the rows as one of :data:`ASKED`, each in an engine of its own."""
    with ExitStack() as stack:

        @cache
        def prepared(name: str) -> tuple[Any, Prepared, Request]:
            roles, domain, options = ASKED[name]
            request = make_request(ct.read(ROWS, **roles), domain, epsilon=1, **options)
            engine = stack.enter_context(start_engine())
            return engine, prepare(engine, request.records, request.domain), request

        yield prepared


def truth(opened: Opened, name: str, what: Any) -> dict[str, list[int]]:
    """What the lab takes for the truth, by table."""
    engine, prepared, request = opened(name)
    found = true_counts(engine, prepared, what, request.tables)
    assert {array.dtype.name for array in found.values()} == {"int64"}
    return {table: array.tolist() for table, array in found.items()}
