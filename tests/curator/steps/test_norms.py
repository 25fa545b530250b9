"""Tables of rows scaled to a norm: each by its own rows, within the bound that it states."""

from __future__ import annotations

from itertools import combinations_with_replacement, product
from math import isqrt

import numpy as np
import pyarrow as pa

import crowdtally as ct
from crowdtally.curator.bounding.scaling import GRID
from crowdtally.curator.converse import Reading, Released
from crowdtally.curator.method import steps_of
from crowdtally.curator.request.request import make_request
from crowdtally.records.duckdb import DuckDBEngine
from crowdtally.records.prepare import prepare

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
        bounding="dpsense", norm="l2", max_records=THETA, cap=CAP,
    )  # fmt: skip
    with DuckDBEngine() as engine:
        prepared = prepare(engine, request.records, request.domain, request.sources)
        (step,) = steps_of(request)
        _, found = step.count(Reading(engine, prepared), Released()).found
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
