"""The lab's estimates of a run of ``auto`` are what a reader of the saved release is told."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import crowdtally as ct
from crowdtally.curator.request.request import make_request
from crowdtally.lab.estimates import estimate_auto
from crowdtally.lab.rehearse import Rehearsal
from crowdtally.ledger import Ledger
from crowdtally.noise.draws import SystemDraws
from crowdtally.reader.estimates.estimator import ReleaseView
from crowdtally.records.duckdb import DuckDBEngine
from kit.publishing import publish

USERS, ITEMS = 3_000, 90
DESIGNS: Mapping[str, tuple[int, dict[str, Any]]] = {
    "records, contexts of records": (ITEMS, {"method": ct.Auto("recommend")}),
    "users, contexts of users": (
        ITEMS, {"method": ct.Auto("recommend", repeats=False, context_per_user="day")}
    ),
    "short list, contexts of users": (
        2, {"method": ct.Auto("recommend", repeats=False, context_per_user="day")}
    ),
}  # fmt: skip


class Seeded(SystemDraws):
    """The same noise each time, for a release and for a rehearsal."""

    def __init__(self) -> None:
        super().__init__()
        self._rng = np.random.default_rng(7)

    def laplace(self, scale: Fraction, size: int) -> Any:
        return np.rint(self._rng.laplace(0, float(scale), size)).astype(np.int64)

    def interval(self, rate: Fraction, size: int) -> Any:
        return self._rng.integers(-20, 20, size)


@pytest.fixture(scope="module")
def table() -> pa.Table:
    rng = np.random.default_rng(3)
    users = np.repeat(np.arange(USERS), 12)
    items = (ITEMS * rng.random(len(users)) ** 2).astype(np.int64)
    return pa.table({"user": users, "item": items, "day": np.array(["x", "y"])[users % 2]})


@pytest.mark.parametrize("name", DESIGNS)
def test_estimates_are_those_of_a_reader(name: str, table: pa.Table, tmp_path: Path) -> None:
    size, options = DESIGNS[name]
    records = ct.read(table, user="user", item="item", contexts=["day"])
    request = make_request(
        records, ct.Domain(range(size), {"day": ["x", "y"]}), epsilon=1, **options
    )
    with DuckDBEngine() as engine:
        found = estimate_auto(request, Rehearsal(request, engine).run(0, Seeded()))
    ledger = Ledger.open(tmp_path / "ledger.db", create=True)
    published = publish(
        request, "made up", tmp_path / "release", ledger=ledger, draws=Seeded(), tell=lambda _: None
    )
    read = ReleaseView(published)
    assert read.items is not None
    np.testing.assert_allclose(found.mean, read.items.believed.mean)
    edges = found.edges
    assert edges is not None
    for context in range(2):
        column = read.in_contexts(np.arange(2) == context)
        assert column is not None
        np.testing.assert_allclose(edges[:, context], column.mean)
    by_table = found.by_table()
    assert set(by_table) == {"items", "edges"}
    assert by_table["edges"].shape == (size * 2,)
