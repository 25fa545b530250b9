"""The rules that bound a user: in which order records are taken, and rows that are scaled."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import product
from math import isqrt
from typing import Any

import numpy as np
import pytest

from crowdtally.curator.bounding.sampling import HPA, SRA
from crowdtally.curator.bounding.scaling import GRID, l2_weighted, weight_of
from crowdtally.records.duckdb import DuckDBEngine

# ---- In which order a user's records are taken: the user's own, and by what was released ---------


USERS, CELLS = 30, 12


@pytest.fixture(scope="module")
def engine() -> Iterator[DuckDBEngine]:
    """Everybody has one record of each cell."""
    with DuckDBEngine() as opened:
        users, cells = np.divmod(np.arange(USERS * CELLS), CELLS)
        opened.load("records", {"user": users, "cell": cells})
        yield opened


def kept(engine: DuckDBEngine, rule: Any, what: str) -> dict[int, set[int]]:
    found = rule.keep(engine, engine.table("records"), cells=CELLS, key=5, what=what)
    columns = engine.arrays(found.rows)
    cells: dict[int, set[int]] = defaultdict(set)
    for user, cell in zip(columns["user"].tolist(), columns["cell"].tolist(), strict=True):
        cells[user].add(cell)
    return cells


@pytest.mark.parametrize("what", ["records", "users"])
def test_two_users_of_one_history_keep_different_records(engine: DuckDBEngine, what: str) -> None:
    """A hash that leaves the user out gives everybody the same sample, and all others nothing."""
    samples = kept(engine, SRA(2), what)
    assert {len(cells) for cells in samples.values()} == {2}
    assert set.union(*samples.values()) == set(range(CELLS))


@pytest.mark.parametrize("what", ["records", "users"])
def test_hand_picking_takes_the_most_popular(engine: DuckDBEngine, what: str) -> None:
    popularity = np.arange(CELLS) * 10 - 30
    samples = kept(engine, HPA(3, popularity=popularity), what)
    assert list(samples.values()) == [set(range(CELLS - 3, CELLS))] * USERS


# ---- Rows scaled to a Euclidean norm: the bound by brute force, and engines against plain
#      Python


Row = tuple[int, ...]
ROWS: list[Row] = [row for row in product(range(5), repeat=4) if any(row)]
"""Every row of up to four counts in four cells."""
THETAS = (1, 2, 3, 5)


def by_definition(row: Row, theta: int) -> list[int]:
    """The whole w with w²·Q ≤ g²θ² < (w+1)²·Q, or g."""
    squares = sum(x * x for x in row)
    if squares <= theta**2:
        return [GRID * x for x in row]
    each = isqrt(GRID**2 * theta**2 // squares)
    assert each**2 * squares <= (GRID * theta) ** 2 < (each + 1) ** 2 * squares
    return [each * x for x in row]


def weighted_in(engine: Any, rows: list[Row], theta: int) -> list[list[int]]:
    """Each user's cells as her own, so that nothing is added up."""
    held = [(u, c, x) for u, row in enumerate(rows) for c, x in enumerate(row) if x]
    users, cells, amounts = (np.array(column) for column in zip(*held, strict=True))
    own = users * len(rows[0]) + cells
    loaded = engine.load("amounts", {"user": users, "cell": own, "amount": amounts})
    found = engine.arrays(l2_weighted(engine, loaded, theta))
    table = np.zeros(len(rows) * len(rows[0]), dtype=np.int64)
    np.add.at(table, found["cell"], found["weight"])
    assert len(found["cell"]) == len(held)
    return table.reshape(len(rows), -1).tolist()


@pytest.mark.quick_on_spark
def test_every_engine_scales_as_the_definition_does(start_engine: Any) -> None:
    with start_engine() as engine:
        for theta in THETAS if start_engine is DuckDBEngine else (2,):
            wanted = [by_definition(row, theta) for row in ROWS]
            assert weighted_in(engine, ROWS, theta) == wanted


@pytest.mark.parametrize("theta", THETAS)
def test_no_user_changes_more_than_the_bound(theta: int) -> None:
    """Neighbours differ by one row: what it weighs is what changes, whoever else is there."""
    for row in ROWS:
        squares = sum(x * x for x in row)
        norm = sum((weight_of(squares, theta) * x) ** 2 for x in row)
        assert norm <= (GRID * theta) ** 2
        if squares >= theta**2:  # a floor loses less than a unit per count
            assert norm > (GRID * theta - isqrt(squares) - 1) ** 2


def test_tables_of_two_calls_do_not_meet() -> None:
    """An expression is computed late: the weights of a later call may not take its place."""
    with DuckDBEngine() as engine:
        columns = {"user": [1, 1], "cell": [0, 1], "amount": [3, 4]}
        rows = engine.load("rows", {name: np.array(values) for name, values in columns.items()})
        first, _ = l2_weighted(engine, rows, 1), l2_weighted(engine, rows, 4)
        assert sorted(engine.arrays(first)["weight"].tolist()) == [
            3 * (GRID // 5), 4 * (GRID // 5),
        ]  # fmt: skip


def test_rows_beyond_64_bits_weigh_nothing() -> None:
    """Their squares are held, so that their norm is not known: they lose all of it."""
    with DuckDBEngine() as engine:
        cells = np.arange(2**10)
        columns = {"user": cells // 2**9, "cell": cells, "amount": np.full(2**10, 2**26)}
        columns["amount"][2**9 + 1 :] = 0
        rows = engine.load("rows", columns)
        found = engine.arrays(l2_weighted(engine, rows, 2**13))
        weights = dict(zip(found["cell"].tolist(), found["weight"].tolist(), strict=True))
        assert {weights[cell] for cell in range(2**9)} == {0}
        assert weights[2**9] == weight_of(2**52, 2**13) * 2**26 == GRID * 2**13
