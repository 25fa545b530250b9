"""The truth that the lab compares with is that of plain Python, on every engine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from crowdtally.lab.rehearse import largest_contribution, mean_contribution
from kit.reference import MOST, Opened, listed, opening, plain, truth
from kit.spark import Start

pytestmark = pytest.mark.parametrize(
    # The lab counts on DuckDB; that others would find the same is not for every day.
    "start_engine",
    ["duckdb", pytest.param("spark", marks=pytest.mark.long)],
    indirect=True,
    scope="session",
)


@pytest.fixture(scope="module")
def opened(start_engine: Start) -> Iterator[Opened]:
    with opening(start_engine) as rows:
        yield rows


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
    engine, prepared, _ = opened("quantities")
    said = Counter[str]()
    for user, _, _, times in rows:
        said[user] += times
    assert largest_contribution(engine, prepared, "records") == max(said.values())
    mean = sum(said.values()) / len(said)
    assert mean_contribution(engine, prepared, "records") == pytest.approx(mean)
