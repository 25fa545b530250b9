"""A small domain: all items as distinct users, in each context by a draw of its own."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest

import crowdtally as ct
from crowdtally.curator.converse import Reading, Released
from crowdtally.curator.method import steps_of
from crowdtally.curator.request.request import make_request
from crowdtally.laws.interval import IntervalNoise
from crowdtally.records.duckdb import DuckDBEngine
from crowdtally.records.prepare import prepare
from kit.seam import Drawn, Seam

USERS = 3000
ITEMS, DAYS = 5, ["a", "b"]


def released(**options: Any) -> tuple[Released, list[Drawn]]:
    """Users of even numbers have all items on day a, the others two on both days, each twice."""
    rows = [
        (user, item, day)
        for user in range(USERS)
        for item in range(5 if user % 2 == 0 else 2)
        for day in ("aa" if user % 2 == 0 else "ab")
    ]
    users, items, days = (list(column) for column in zip(*rows, strict=True))
    table = pa.table({"user": users, "item": items, "day": days})
    records = ct.read(table, user="user", item="item", contexts=["day"])
    domain = ct.Domain(range(ITEMS), {"day": DAYS})
    request: Any = make_request(records, domain, epsilon=10, count="users", **options)
    found, draws = Released(), Seam()
    with DuckDBEngine() as engine:
        prepared = prepare(engine, request.records, request.domain, request.sources)
        reading = Reading(engine, prepared)
        for step in steps_of(request):
            if getattr(step, "name", "") in ("sizes", "pilot", "crowd", "items", "zoom", "bins"):
                found = step.release(step.count(reading, found), found, draws)
    return found, draws.drawn


def test_all_items_at_once() -> None:
    found, drawn = released()
    table = found.table("items")
    assert found.decided is not None
    assert found.decided.small
    assert [one.name for one in found.tables] == ["sizes", "items"]
    assert table is not None
    assert isinstance(table.law, IntervalNoise)
    pieces = table.law.phantoms + 1
    assert table.values.tolist() == [pieces * n for n in (USERS, USERS, *[USERS // 2] * 3)]
    # 3% for the sizes, 2% for the contexts: the rest is spent here, and nothing is set aside
    assert drawn[1] == Drawn("interval", Fraction(95, 10), ITEMS + table.law.phantoms)


def test_each_context_has_a_draw_of_its_own() -> None:
    found, drawn = released(context_per_user="day")
    table = found.table("edges")
    assert found.table("items") is None
    assert table is not None
    law = table.law
    assert isinstance(law, IntervalNoise)
    assert law.blocks == 2
    same = Drawn("interval", Fraction(95, 10), ITEMS + law.phantoms)
    assert drawn[1:] == [same, same]
    counts = table.values.reshape(ITEMS, len(DAYS)) // (law.phantoms + 1)
    assert counts.sum(axis=1).tolist() == [USERS, USERS, *[USERS // 2] * 3]
    assert counts[2:].tolist() == [[USERS // 2, 0]] * 3
    assert (counts[0] == counts[1]).all(), "a user has her two items in two contexts"
    assert list(table.layout.names) == ["item", "day"]


@pytest.mark.parametrize("aim", ["top", "counts"])
def test_phantoms_where_counts_matter(aim: str) -> None:
    found, _ = released(for_=aim)
    law = found.tables[-1].law
    assert isinstance(law, IntervalNoise)
    assert law.phantoms == {"top": 0, "counts": 1}[aim]
