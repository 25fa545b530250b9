"""The steps of the methods, and the account that they are paid from."""

from __future__ import annotations

from itertools import combinations_with_replacement, product
from math import isqrt
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import crowdtally as ct
from crowdtally.curator.bounding.scaling import GRID, DPSense
from crowdtally.curator.counting.count import Reading, count
from crowdtally.curator.method import method_of
from crowdtally.curator.request.request import make_request
from crowdtally.lab.rehearse import Keyed
from crowdtally.records.duckdb import DuckDBEngine
from crowdtally.records.prepare import prepare
from kit.publishing import made, visits

# ---- Tables of rows scaled to a norm: each by its own rows, within the bound that it states ------


THETA, CAP, DAYS = 2, 3, ["a", "b", "c"]
HISTORIES = list(combinations_with_replacement(product(range(2), DAYS), 4))
"""Every history of four records: two items on three days."""


def counted() -> list[np.ndarray]:
    """The tables of items and of items in context, each user with items of her own."""
    rows = [(u, 2 * u + item, day) for u, own in enumerate(HISTORIES) for item, day in own]
    named = {name: [row[n] for row in rows] for n, name in enumerate(("user", "item", "day"))}
    records = ct.read(pa.table(named), user="user", item="item", contexts=["day"])
    request = make_request(
        records, ct.Domain(range(2 * len(HISTORIES)), {"day": DAYS}), epsilon=1, delta="1e-9",
        method=ct.DPSense(THETA, cap=CAP, norm="l2"),
    )  # fmt: skip
    with DuckDBEngine() as engine:
        prepared = prepare(engine, request.records, request.domain, request.sources)
        question = next(method_of(request).ask())
        found = count(question, Reading(engine, prepared)).found
    for counts in found:
        units = counts.dense().reshape(len(HISTORIES), -1)
        own = [int(sum(int(x) ** 2 for x in row)) for row in units]
        assert 0.999 * counts.l2_squared < max(own) <= counts.l2_squared == (GRID * THETA) ** 2
        assert units.sum(axis=1).max() <= counts.l1_bound
    return [counts.dense().reshape(len(HISTORIES), -1) for counts in found]


def scaled(row: list[int]) -> list[int]:
    squares = sum(x * x for x in row)
    each = GRID if squares <= THETA**2 else isqrt((GRID * THETA) ** 2 // squares)
    return [each * x for x in row]


def test_each_table_is_scaled_by_its_own_rows() -> None:
    """A user of one item on three days has Q = 3 in context, and 9 without."""
    items, edges = counted()
    for own, of_items, of_edges in zip(HISTORIES, items, edges, strict=True):
        by_item = [min(sum(i == item for i, _ in own), CAP) for item in range(2)]
        by_edge = [min(own.count(cell), CAP) for cell in product(range(2), DAYS)]
        assert of_items.tolist() == scaled(by_item)
        assert of_edges.tolist() == scaled(by_edge)


def test_the_bound_in_l2_is_that_of_the_norm() -> None:
    """A row of ones that is scaled to a sum of θ is shorter; one that is scaled to a norm is θ."""
    for cap in (1, CAP):
        rule = DPSense(9, cap=cap, norm="l2")
        assert rule.l2_squared("users") == (9 * GRID) ** 2
    assert DPSense(9, cap=1).l2_squared("users") == 9 * GRID**2
    assert DPSense(9, cap=CAP).l2_squared("users") == (9 * GRID) ** 2


# ---- ``--top K``: what is counted, on all neighbours of tiny databases: each cell by 0 or 1 ------


ITEMS, DAYS_TOP = 3, ["a", "b"]
CELLS = list(product(range(ITEMS), DAYS_TOP))
OTHERS = [(2, 0, "a"), (2, 0, "b"), (2, 1, "b"), (3, 0, "a"), (3, 0, "a"), (3, 2, "b")]
NOBODY = [(None, 0, "a"), (2, None, "a"), (2, 1, None), (2, 99, "a")]


def counted_top(hers: list[tuple[int, str]], per_user: str | tuple[str, ...] = ()) -> np.ndarray:
    """Distinct users of (item, day), the sampling key fixed."""
    rows = [*OTHERS, *NOBODY, *((1, item, day) for item, day in hers)]
    named = {name: [row[n] for row in rows] for n, name in enumerate(("user", "item", "day"))}
    records = ct.read(pa.table(named), user="user", item="item", contexts=["day"])
    request = make_request(
        records, ct.Domain(range(ITEMS), {"day": DAYS_TOP}), epsilon=1,
        method=ct.Top(1, context_per_user=per_user),
    )  # fmt: skip
    with DuckDBEngine() as engine:
        prepared = prepare(engine, request.records, request.domain, request.sources)
        first = next(method_of(request).ask())
        found = count(first, Keyed(engine, prepared, 5)).found
    return np.asarray(found.values.reshape(ITEMS, len(DAYS_TOP)))


HERS = [
    [cell for cell, has in zip(CELLS, chosen, strict=True) for _ in range(has)]
    for chosen in ((1, 0, 0, 0, 0, 0), (0, 3, 1, 0, 0, 0), (2, 1, 0, 1, 1, 1), (1, 2, 1, 3, 1, 9))
]


def test_users_of_several_contexts_count_once_in_each_cell() -> None:
    without = counted_top([])
    assert without.tolist() == [[2, 1], [0, 1], [0, 1]]
    for hers in HERS:
        added = counted_top(hers) - without
        assert added.ravel().tolist() == [int(cell in hers) for cell in CELLS]


@pytest.mark.parametrize("hers", HERS)
def test_a_user_of_one_context_is_in_one_block_also_where_that_was_declared_wrongly(
    hers: list[tuple[int, str]],
) -> None:
    """Blocks have draws of their own at the whole ε: in two of them she would pay half."""
    added = counted_top(hers, "day") - counted_top([], "day")
    assert set(added.ravel().tolist()) <= {0, 1}
    assert added.any(axis=0).sum() == 1
    assert (added.any(axis=1) == [any(item == i for i, _ in hers) for item in range(ITEMS)]).all()


@pytest.mark.parametrize("per_user", [False, True])
def test_top_items_by_rho_are_released_and_read(per_user: bool, tmp_path: Path) -> None:
    """Gaussian noise on the selected cells: checked, described, ranked and reported."""
    rows = visits({(item, day): 400 - 20 * item for item in range(6) for day in DAYS_TOP}, "day")
    method = ct.Top(3, context_per_user="day" if per_user else ())
    release = made(
        tmp_path, rows, ct.Domain(range(6), {"day": DAYS_TOP}), method=method, noise="gaussian",
        epsilon=4, delta="1e-9",
    )  # fmt: skip
    (table,) = release.metadata["tables"]
    assert table["sensitivity_squared"] == (3 if per_user else 6)
    assert table["publishing"] == "chosen"
    assert len(release.top(2, day="a")) == 2
    assert "the private selection of the items" in " ".join(str(release.describe()).split())
    assert "counted once in each of their cells" in str(release.top(2, day="a"))
    release.report(tmp_path / "report.json")
