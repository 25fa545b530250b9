"""``--top K``: what is counted, on all neighbours of tiny databases: each cell by 0 or 1."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import crowdtally as ct
from crowdtally.curator.engine.duckdb import DuckDBEngine
from crowdtally.curator.engine.prepare import prepare
from crowdtally.curator.request.request import make_request
from crowdtally.curator.steps.making import steps_of
from crowdtally.curator.steps.step import Released
from crowdtally.lab.rehearsing import Keyed

ITEMS, DAYS = 3, ["a", "b"]
CELLS = list(product(range(ITEMS), DAYS))
OTHERS = [(2, 0, "a"), (2, 0, "b"), (2, 1, "b"), (3, 0, "a"), (3, 0, "a"), (3, 2, "b")]
NOBODY = [(None, 0, "a"), (2, None, "a"), (2, 1, None), (2, 99, "a")]


def counted(hers: list[tuple[int, str]], **options: Any) -> np.ndarray:
    """Distinct users of (item, day), the sampling key fixed."""
    rows = [*OTHERS, *NOBODY, *((1, item, day) for item, day in hers)]
    named = {name: [row[n] for row in rows] for n, name in enumerate(("user", "item", "day"))}
    records = ct.read(pa.table(named), user="user", item="item", contexts=["day"])
    request = make_request(
        records, ct.Domain(range(ITEMS), {"day": DAYS}), epsilon=1, top=1, **options
    )
    with DuckDBEngine() as engine:
        prepared = prepare(engine, request.records, request.domain, request.sources)
        first, *_ = steps_of(request)
        found = first.count(Keyed(engine, prepared, 5), Released()).found
    return np.asarray(found.values.reshape(ITEMS, len(DAYS)))


HERS = [
    [cell for cell, has in zip(CELLS, chosen, strict=True) for _ in range(has)]
    for chosen in ((1, 0, 0, 0, 0, 0), (0, 3, 1, 0, 0, 0), (2, 1, 0, 1, 1, 1), (1, 2, 1, 3, 1, 9))
]


def test_users_of_several_contexts_count_once_in_each_cell() -> None:
    without = counted([])
    assert without.tolist() == [[2, 1], [0, 1], [0, 1]]
    for hers in HERS:
        added = counted(hers) - without
        assert added.ravel().tolist() == [int(cell in hers) for cell in CELLS]


@pytest.mark.parametrize("hers", HERS)
def test_a_user_of_one_context_is_in_one_block_also_where_that_was_declared_wrongly(
    hers: list[tuple[int, str]],
) -> None:
    """Blocks have draws of their own at the whole ε: in two of them she would pay half."""
    added = counted(hers, context_per_user="day") - counted([], context_per_user="day")
    assert set(added.ravel().tolist()) <= {0, 1}
    assert added.any(axis=0).sum() == 1
    assert (added.any(axis=1) == [any(item == i for i, _ in hers) for item in range(ITEMS)]).all()
