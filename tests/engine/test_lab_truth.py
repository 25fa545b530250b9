"""The truth that the lab compares with, against plain Python over the rows, on every engine."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from itertools import combinations
from typing import Any

import pyarrow as pa
import pytest

import crowdtally as ct
from crowdtally.curator.engine.prepare import Prepared, prepare
from crowdtally.curator.request.request import Request, make_request
from crowdtally.errors import UsageError
from crowdtally.lab.truth import largest_contribution, mean_contribution, true_counts
from kit.crowd import Start

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
    return [counts[cell] for cell in range(size)]


Opened = Callable[[str], tuple[Any, Prepared, Request]]
ASKED: dict[str, tuple[dict[str, Any], ct.Domain | None, dict[str, Any]]] = {
    "records": ({"user": "user", "item": "item", "contexts": ["day"]}, DOMAIN, {}),
    "pairs": ({"user": "user", "item": "item"}, ct.Domain(ITEMS), {"pairs": True}),
    "quantities": (
        {
            "user": "user", "item": "item", "contexts": ["day"],
            "quantity": "times", "max_quantity": 3,
        },
        DOMAIN, {},
    ),
    "rows": (
        {"user_per_row": True, "item": "item", "contexts": ["day"]}, DOMAIN, {"max_records": None},
    ),
    "weights": (
        {"user_per_row": True, "item": "item", "contexts": ["day"], "weight": "times"},
        DOMAIN, {"max_records": None},
    ),
    "attributes": (
        {"user": "user", "attributes": ["item", "day"]},
        ct.Domain(attributes={"item": ITEMS, "day": DAYS}), {},
    ),
    "nobody": ({"user": "user", "item": "item"}, ct.Domain(["z"]), {}),
}  # fmt: skip


@pytest.fixture(scope="module")
def opened(start_engine: Start) -> Iterator[Opened]:
    with ExitStack() as stack:

        @cache
        def prepared(name: str) -> tuple[Any, Prepared, Request]:
            roles, domain, options = ASKED[name]
            given = {"epsilon": 1, "max_records": 1} | options
            if given["max_records"] is None:
                del given["max_records"]
            if given.get("pairs"):
                given["max_records"] = 2
            request = make_request(ct.read(ROWS, **roles), domain, **given)
            engine = stack.enter_context(start_engine())
            return engine, prepare(engine, request.records, request.domain), request

        yield prepared


def truth(opened: Opened, name: str, what: Any) -> dict[str, list[int]]:
    engine, prepared, request = opened(name)
    found = true_counts(engine, prepared, what, request.tables)
    assert {array.dtype.name for array in found.values()} == {"int64"}
    return {table: array.tolist() for table, array in found.items()}


def test_records_are_all_counted_whatever_the_bound_is(opened: Opened) -> None:
    rows = plain()
    assert truth(opened, "records", "records") == {
        "items": listed(Counter(item for _, item, _, _ in rows), 4),
        "edges": listed(Counter(item * 2 + day for _, item, day, _ in rows), 8),
    }


def test_users_are_counted_once_in_each_cell_and_once_for_each_item(opened: Opened) -> None:
    rows = plain()
    found = truth(opened, "records", "users")
    assert found == {
        "items": listed(Counter(item for _, item in {(u, i) for u, i, _, _ in rows}), 4),
        "edges": listed(
            Counter(i * 2 + d for _, i, d in {(u, i, d) for u, i, d, _ in rows}), 8
        ),
    }  # fmt: skip
    assert sum(found["items"]) < sum(found["edges"]) < len(rows)


def test_quantities_count_as_often_as_they_say(opened: Opened) -> None:
    rows, edges = plain(quantities=True), Counter[int]()
    for _, item, day, times in rows:
        edges[item * 2 + day] += times
    found = truth(opened, "quantities", "records")
    assert found["edges"] == listed(edges, 8)
    assert found["items"] == [edges[2 * item] + edges[2 * item + 1] for item in range(4)]
    assert {times for _, _, _, times in rows} == {1, 2, 9, MOST}  # 9 is more than a release counts


def test_rows_are_persons_and_weights_are_several(opened: Opened) -> None:
    for name, quantities in (("rows", False), ("weights", True)):
        counts = Counter[int]()
        for _, item, day, times in plain(quantities=quantities, users=False):
            counts[item * 2 + day] += times
        assert truth(opened, name, "users")["edges"] == listed(counts, 8)
        engine, prepared, _ = opened(name)
        assert largest_contribution(engine, prepared, "users") == 1
        assert mean_contribution(engine, prepared, "users") == 1


def test_attributes(opened: Opened) -> None:
    counts = Counter(item * 2 + day for _, item, day, _ in plain())
    assert truth(opened, "attributes", "records") == {"cells": listed(counts, 8)}


def test_pairs_of_all_records(opened: Opened) -> None:
    own = defaultdict(list)
    for user, item in zip(USERS, MET, strict=True):
        if user is not None and item in ITEMS:
            own[user].append(ITEMS.index(item))
    of_records = Counter[int]()
    for items in own.values():
        for first, second in combinations(sorted(items), 2):
            if first != second:
                of_records[second * (second - 1) // 2 + first] += 1
    of_users = Counter(
        second * (second - 1) // 2 + first
        for items in own.values()
        for first, second in combinations(sorted(set(items)), 2)
    )
    assert truth(opened, "pairs", "records")["pairs"] == listed(of_records, 6)
    assert truth(opened, "pairs", "users")["pairs"] == listed(of_users, 6)


def test_contributions(opened: Opened) -> None:
    engine, prepared, _ = opened("records")
    records = Counter(user for user, _, _, _ in plain())
    cells = Counter(user for user, _, _ in {(u, i, d) for u, i, d, _ in plain()})
    assert largest_contribution(engine, prepared, "records") == max(records.values())
    assert largest_contribution(engine, prepared, "users") == max(cells.values())
    mean = sum(records.values()) / len(records)
    assert mean_contribution(engine, prepared, "records") == pytest.approx(mean)
    engine, prepared, _ = opened("quantities")
    said = Counter[str]()
    for user, _, _, times in plain(quantities=True):
        said[user] += times
    assert largest_contribution(engine, prepared, "records") == max(said.values())
    assert mean_contribution(engine, prepared, "records") == pytest.approx(
        sum(said.values()) / len(said)
    )


def test_nobody_has_anything(opened: Opened) -> None:
    engine, prepared, _ = opened("nobody")
    assert truth(opened, "nobody", "records") == {"items": [0]}
    for what in ("records", "users"):
        assert largest_contribution(engine, prepared, what) == 0
        assert mean_contribution(engine, prepared, what) == 0


def test_what_has_no_dense_truth_is_refused(opened: Opened) -> None:
    engine, prepared, _ = opened("records")
    wide = make_request(
        ct.read(ROWS, user="user", attributes=["item", "day"]),
        ct.Domain(attributes={"item": range(10**4), "day": range(10**4)}),
        epsilon=1, max_records=1, publishing="filter", size=10,
    )  # fmt: skip
    with pytest.raises(UsageError, match="'cells' has 100000000 cells") as refused:
        true_counts(engine, prepared, "records", wide.tables)
    assert "shorten the lists" in str(refused.value)
    with pytest.raises(UsageError, match="items without a public list"):
        true_counts(engine, prepared, "records", ())
