"""Rows that are scaled by their own sum, and distinct users: by definition, and on neighbours."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from crowdtally.core.counts import Counts
from crowdtally.curator.bounding.scaling import GRID
from crowdtally.curator.counting import rows as scaled_rows
from crowdtally.curator.counting.rows import (
    LARGEST_AMOUNT,
    Visits,
    all_members,
    all_members_by_context,
    members,
    scaled_groups,
    scaled_inside,
    scaled_totals,
)
from crowdtally.records.duckdb import DuckDBEngine
from kit import blocks
from kit.blocks import CROWD, DATABASES, GROUPS, ITEMS, SIZE, ZOOM, amounts, spread, visits_in

THETA, INSIDE, CAP = 4, 1, 11


def by_database(values: np.ndarray, width: int) -> np.ndarray:
    return np.asarray(values).reshape(len(DATABASES), width)


def changed(values: np.ndarray) -> np.ndarray:
    """What the first user of each database changes."""
    return values[0::2] - values[1::2]


def scaled(items: tuple[int, ...], bound: int, *, repeats: bool) -> np.ndarray:
    """By definition: R over exactly these items, floors by whole numbers, sums over users."""
    found = np.zeros((len(DATABASES), ITEMS), dtype=np.int64)
    for block, users in enumerate(DATABASES):
        for history in users:
            row = amounts(history, repeats=repeats)
            total = sum(row[item] for item in items)
            for item in items:
                whole, cut = GRID * row[item], GRID * bound * row[item] // max(total, 1)
                found[block, item] += whole if total <= bound else cut
    return found


OUTSIDE = tuple(item for item in range(ITEMS) if item not in CROWD)
MODES = {
    "repeats": {"repeats": True, "per_user": False},
    "once": {"repeats": False, "per_user": False},
    "once, in one context": {"repeats": False, "per_user": True},
}


@pytest.fixture(scope="module", params=list(MODES))
def held(start_engine: Any, request: pytest.FixtureRequest) -> Iterator[tuple[Visits, bool, bool]]:
    """The rows, whether repeats count, and whether a user has one context."""
    mode = MODES[request.param]
    if start_engine is not DuckDBEngine and request.param == "once":
        pytest.skip("the other two have all of Spark's expressions")
    with visits_in(start_engine, **mode) as visits:
        yield visits, mode["repeats"], mode["per_user"]


def spare(visits: Visits, *, expression_seen: bool) -> None:
    """Spark takes seconds a job: each of its expressions is tried once."""
    if expression_seen and not isinstance(visits.engine, DuckDBEngine):
        pytest.skip("the same expression as in another test")


def test_the_table_is_scaled_by_what_is_outside_the_crowd(held: Any) -> None:
    visits, repeats, _ = held
    spare(visits, expression_seen=not repeats)
    counts = scaled_totals(visits, THETA, SIZE, without=spread(CROWD))
    found = by_database(counts.dense(), ITEMS)
    assert (found == scaled(OUTSIDE, THETA, repeats=repeats)).all()
    assert not found[:, CROWD].any()
    norms = np.abs(changed(found)).sum(axis=1)
    assert norms.max() <= counts.l1_bound == GRID * THETA
    assert (norms == counts.l1_bound).any(), "nobody reaches the bound: it is not tested"


def test_the_zoom_is_scaled_by_what_is_inside(held: Any) -> None:
    visits, repeats, _ = held
    spare(visits, expression_seen=not repeats)
    counts = scaled_inside(visits, INSIDE, spread(ZOOM))
    found = by_database(counts.dense(), len(ZOOM))
    assert (found == scaled(ZOOM, INSIDE, repeats=repeats)[:, ZOOM]).all()
    norms = np.abs(changed(found)).sum(axis=1)
    assert norms.max() <= counts.l1_bound == GRID * INSIDE
    assert (norms == counts.l1_bound).any()


def test_bins_add_up_scaled_rows(held: Any) -> None:
    visits, repeats, _ = held
    spare(visits, expression_seen=True)
    every = np.concatenate(
        [np.where(GROUPS < 0, -1, GROUPS + 4 * block) for block in range(len(DATABASES))]
    )
    crowd = spread(CROWD)
    counts = scaled_groups(visits, CAP, every, 4 * len(DATABASES), without=crowd)
    found = by_database(counts.dense(), 4)
    rows = scaled(OUTSIDE, CAP, repeats=repeats)
    assert all((found[:, g] == rows[:, g == GROUPS].sum(axis=1)).all() for g in range(4))
    norms = np.abs(changed(found)).sum(axis=1)
    assert norms.max() <= counts.l1_bound == GRID * CAP
    assert not repeats or (norms > GRID * CAP * 0.99).any()


def test_a_user_is_one_member_whatever_she_has(held: Any) -> None:
    visits, _, one_context = held
    spare(visits, expression_seen=not one_context)
    chosen = spread((1, 3, 4))
    found = by_database(members(visits, chosen).values, 3)
    wanted = [
        [sum(any(i == item for i, _ in history) for history in users) for item in (1, 3, 4)]
        for users in DATABASES
    ]
    assert (found == wanted).all()
    assert set(np.unique(changed(found))) == {0, 1}
    every = all_members(visits, SIZE).values
    assert (by_database(every, ITEMS)[:, (1, 3, 4)] == found).all()
    if one_context:
        split = all_members_by_context(visits, SIZE, blocks.CONTEXTS).values
        split = split.reshape(len(DATABASES), ITEMS, blocks.CONTEXTS)
        assert (split.sum(axis=2) == by_database(every, ITEMS)).all()
        own = changed(split)
        assert set(np.unique(own)) == {0, 1}
        assert (own.any(axis=1).sum(axis=1) == 1).all(), "a user is in cells of several contexts"


def test_an_item_in_no_group_is_a_fault(duckdb_rows: Visits) -> None:
    with pytest.raises(ValueError, match="in no group"):
        scaled_groups(duckdb_rows, 2, np.array([0, -1, 1]), 2, without=np.array([], dtype=np.int64))


@pytest.fixture
def duckdb_rows() -> Iterator[Visits]:
    """One user with the most records that count, at three items."""
    from crowdtally.core.domain import Domain
    from crowdtally.records.engine import Dropped

    with DuckDBEngine() as engine:
        columns = {"user": [1, 1, 1], "item": [0, 1, 2], "amount": [LARGEST_AMOUNT] * 3}
        rows = engine.load("rows", {name: np.array(values) for name, values in columns.items()})
        yield Visits(engine, rows, rows, Dropped(3, 0, 0), 1, Domain(range(3)))


def test_the_largest_numbers_stay_within_64_bits(duckdb_rows: Visits) -> None:
    counts = scaled_totals(duckdb_rows, 2**13, 3)
    assert counts.dense().tolist() == [GRID * 2**13 // 3] * 3
    assert scaled_totals(duckdb_rows, 2**13, 3, without=np.array([1, 2])).dense().tolist() == [
        GRID * 2**13, 0, 0,
    ]  # fmt: skip


def test_totals_of_groups_never_wrap_round(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of items at the limit of what an engine adds up, five are beyond 64 bits."""
    totals = Counts(6, np.arange(6), np.array([2**61] * 5 + [7]), GRID)
    monkeypatch.setattr(scaled_rows, "scaled_totals", lambda *_, **__: totals)
    groups = np.array([0, 0, 0, 0, 0, 1])
    found = scaled_groups(None, 1, groups, 2, without=np.empty(0))  # type: ignore[arg-type]
    assert found.values.tolist() == [2**62, 7]
    assert found.values.dtype == np.int64
