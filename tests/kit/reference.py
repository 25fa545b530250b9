"""What tables must hold, by plain Python: no engine, no cell numbers, no SQL."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from itertools import combinations
from typing import Any

import pyarrow as pa

import crowdtally as ct
from crowdtally.core.counts import What
from crowdtally.curator.bounding.scaling import GRID
from crowdtally.curator.request.request import Request, make_request
from crowdtally.lab.rehearse import true_counts
from crowdtally.records.engine import Engine
from crowdtally.records.prepare import Prepared, prepare
from kit.databases import RowRandom
from kit.spark import CONTEXTS, LISTED, Histories, Tally

# ---- What a crowd's tables must hold, by plain Python: no engine, no cell numbers, no SQL --------


_LISTED = frozenset(LISTED)


def histories(rows: Sequence[RowRandom]) -> Histories:
    """Each user's records that can be counted, by cell."""
    found: Histories = defaultdict(Counter)
    for user, item, context, _ in rows:
        if user is not None and item in _LISTED and context in range(CONTEXTS):
            found[user][item, context] += 1
    return found


def available(own: Histories, what: What) -> Histories:
    """What a rule may choose from: all records, or each cell once."""
    if what == "records":
        return own
    return {user: Counter(dict.fromkeys(cells, 1)) for user, cells in own.items()}


def of_items(own: Histories, what: What = "records") -> Histories:
    """The same by item alone; a user who met one in two contexts is one user of it."""
    found: Histories = defaultdict(Counter)
    for user, cells in own.items():
        for (item, *_), times in cells.items():
            found[user][item,] += times
    return available(found, what)


def of_pairs(own: Histories, what: What) -> Histories:
    """Each user's unordered pairs of records (or of cells) of different items."""
    found: Histories = defaultdict(Counter)
    for user, met in of_items(own, what).items():
        for (one, n), (other, m) in combinations(sorted(met.items()), 2):
            found[user][one[0], other[0]] += n * m
    return found


def scaled(own: Histories, theta: int, cap: int) -> Histories:
    """Each user's row after DPSense, in units of 1/g."""
    found: Histories = {}
    for user, cells in own.items():
        row = {cell: min(times, cap) for cell, times in cells.items()}
        total = sum(row.values())
        found[user] = Counter({cell: _weight(x, total, theta) for cell, x in row.items()})
    return found


def _weight(amount: int, row_sum: int, theta: int) -> int:
    return GRID * amount if row_sum <= theta else GRID * theta * amount // row_sum


def total(own: Histories) -> Tally:
    """The table: all users' rows added up."""
    summed: Tally = Counter()
    for cells in own.values():
        summed.update(cells)
    return Counter({cell: value for cell, value in summed.items() if value})


def row_sums(own: Histories, cap: int) -> dict[object, int]:
    """Each user's row sum, each cell capped."""
    return {user: sum(min(n, cap) for n in cells.values()) for user, cells in own.items()}


def largest(own: Mapping[object, Tally]) -> int:
    """The most that one user has."""
    return max(cells.total() for cells in own.values())


# ---- Rows with everything that may be wrong with a row, counted by plain Python ------------------


ITEMS, DAYS = ("a", "b", "c", "d"), ("Mon", "Tue")
USERS = [f"u{n % (n % 7 + 2)}" if n % 11 else None for n in range(400)]
MET = [("a", "b", "c", "abroad", None, "a", "a")[n % 7] for n in range(400)]
DAY = [("Mon", "Tue", "never")[n * n % 5 % 3] for n in range(400)]
TIMES = [(1, 2, 0, None, -3, 9, 10**12)[n % 37 % 7] for n in range(400)]
ROWS = pa.table({"user": USERS, "item": MET, "day": DAY, "times": pa.array(TIMES, pa.int64())})
DOMAIN = ct.Domain(ITEMS, {"day": DAYS}, item="item")
MOST = 2**33

RowFaulty = tuple[str, int, int, int]


def plain(*, quantities: bool = False, users: bool = True) -> list[RowFaulty]:
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


BOUNDED = {"method": ct.SRA(1)}
Opened = Callable[[str], tuple[Any, Prepared, Request]]
ASKED: dict[str, tuple[dict[str, Any], ct.Domain | None, dict[str, Any]]] = {
    "records": ({"user": "user", "item": "item", "contexts": ["day"]}, DOMAIN, BOUNDED),
    "pairs": (
        {"user": "user", "item": "item"}, ct.Domain(ITEMS), {"pairs": True, "method": ct.SRA(2)},
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
