"""``--top K``: what is counted, on all neighbours of tiny databases: each cell by 0 or 1."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import crowdtally as ct
from crowdtally.curator.converse import Released
from crowdtally.curator.method import steps_of
from crowdtally.curator.request.request import make_request
from crowdtally.lab.rehearse import Keyed
from crowdtally.records.duckdb import DuckDBEngine
from crowdtally.records.prepare import prepare
from kit.made import made, visits

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


@pytest.mark.parametrize("per_user", [False, True])
def test_top_items_by_rho_are_released_and_read(per_user: bool, tmp_path: Path) -> None:
    """Gaussian noise on the selected cells: checked, described, ranked and reported."""
    rows = visits({(item, day): 400 - 20 * item for item in range(6) for day in DAYS}, "day")
    options: dict[str, Any] = {"context_per_user": "day"} if per_user else {}
    release = made(
        tmp_path, rows, ct.Domain(range(6), {"day": DAYS}), top=3, noise="gaussian", epsilon=4,
        delta="1e-9", **options,
    )  # fmt: skip
    (table,) = release.metadata["tables"]
    assert table["sensitivity_squared"] == (3 if per_user else 6)
    assert table["publishing"] == "chosen"
    assert len(release.top(2, day="a")) == 2
    assert "the private selection of the items" in " ".join(str(release.describe()).split())
    assert "counted once in each of their cells" in str(release.top(2, day="a"))
    release.report(tmp_path / "report.json")
