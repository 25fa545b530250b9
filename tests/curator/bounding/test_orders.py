"""In which order a user's records are taken: the user's own, and by what was released."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from crowdtally.curator.bounding.sampling import HPA, SRA
from crowdtally.records.duckdb import DuckDBEngine

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
    samples = kept(engine, HPA(3, popularity), what)
    assert list(samples.values()) == [set(range(CELLS - 3, CELLS))] * USERS
