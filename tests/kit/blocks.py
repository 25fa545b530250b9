"""Many small databases in one table, each with items of its own, to count their rows at once.

Each comes twice, with its first user and without: what they differ by is what she can change.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import pyarrow as pa

import crowdtally as ct
from crowdtally.curator.counting.rows import Visits, make_visits
from crowdtally.curator.request.request import make_request
from crowdtally.records.prepare import prepare

ITEMS, CONTEXTS = 6, 2
CROWD, ZOOM = (0, 1), (2, 3)
GROUPS = np.array([-1, -1, 0, 1, 1, 3])
"""Of a database's items: two in the crowd, two zoomed, and none in the third group."""
KEY = 4_711

History = tuple[tuple[int, int], ...]
"""One user's records: item and context of each."""
_OTHERS: tuple[History, ...] = (
    ((2, 0), (2, 0), (5, 0)),
    ((0, 1), (1, 1), (3, 1), (3, 1), (3, 1)),
)
"""Each in one context: users of two databases have different ids, so a hash may choose another."""


def first_users() -> list[History]:
    """Heavy users, repeats, one item alone, all in the crowd, outside it, every short history."""
    short = [
        tuple((item, (place + item) % CONTEXTS) for place, item in enumerate(items))
        for number in (1, 2, 3)
        for items in combinations_with_replacement(range(ITEMS), number)
    ]
    heavy: list[History] = [
        tuple((item, place % 2) for item in range(ITEMS) for place in range(7)),
        ((4, 0),) * 45,
        ((4, 0),) * 40 + ((2, 1),),
        ((0, 0), (1, 0)) * 12 + ((5, 1),),
        ((0, 1),) * 31 + ((2, 0), (3, 0), (4, 1), (5, 1)),
        ((2, 0),) * 9 + ((3, 1),) * 2 + ((4, 0),) * 30,
    ]
    return short + heavy


DATABASES: list[tuple[History, ...]] = [
    users for first in first_users() for users in ((first, *_OTHERS), _OTHERS)
]
"""With the first user, then without her, in turn."""
SIZE = ITEMS * len(DATABASES)


def spread(items: tuple[int, ...]) -> np.ndarray:
    """These items of every database."""
    return np.array([ITEMS * block + item for block in range(len(DATABASES)) for item in items])


def amounts(history: History, *, repeats: bool) -> Counter[int]:
    """x: her records at each item, or 1."""
    found = Counter(item for item, _ in history)
    return found if repeats else Counter(dict.fromkeys(found, 1))


@contextmanager
def visits_in(start: Any, *, per_user: bool, repeats: bool) -> Iterator[Visits]:
    """All databases' rows, held by an engine."""
    rows = [
        (f"{block}:{user}", ITEMS * block + item, context)
        for block, users in enumerate(DATABASES)
        for user, history in enumerate(users)
        for item, context in history
    ]
    users, items, contexts = (list(column) for column in zip(*rows, strict=True))
    table = pa.table({"user": users, "item": items, "context": contexts})
    records = ct.read(table, user="user", item="item", contexts=["context"])
    domain = ct.Domain(range(SIZE), {"context": range(CONTEXTS)})
    request = make_request(records, domain, epsilon=1)
    with start() as engine:
        prepared = prepare(engine, request.records, request.domain, request.sources)
        yield make_visits(engine, prepared, key=KEY, per_user=per_user, repeats=repeats)
