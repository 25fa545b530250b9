"""The truth of rarer kinds; what every engine counts is in ``engine/test_lab_truth.py``."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import combinations

import pytest

import crowdtally as ct
from crowdtally.curator.request.request import make_request
from crowdtally.errors import UsageError
from crowdtally.lab.rehearse import largest_contribution, mean_contribution, true_counts
from crowdtally.records.duckdb import DuckDBEngine
from kit.truths import ITEMS, MET, ROWS, USERS, Opened, listed, opening, plain, truth


@pytest.fixture(scope="module")
def opened() -> Iterator[Opened]:
    with opening(DuckDBEngine) as rows:
        yield rows


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
