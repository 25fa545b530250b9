"""Items without a list: each user counts for at most l distinct ones, whatever the engine."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import crowdtally as ct
from crowdtally.core.records import Records
from crowdtally.curator.choices.selection import Discovered, UnknownCells
from crowdtally.curator.counting.count import Reading
from crowdtally.curator.request.request import make_request
from crowdtally.records import engine as window
from crowdtally.records.prepare import prepare
from kit import reference
from kit.databases import RowRandom
from kit.draws import SilentDraws
from kit.publishing import run_steps
from kit.spark import BARE, EVERYONE, OTHERS, Histories, Start, Tally, farthest, together
from kit.subjects import known_keys


@pytest.fixture(autouse=True)
def _nothing_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every item passes."""

    def everything(_: UnknownCells, counts: Any, draws: Any) -> Discovered:
        return Discovered(np.arange(len(counts)), counts)

    monkeypatch.setattr(UnknownCells, "select", everything)


def distinct_items(rows: Sequence[RowRandom]) -> Histories:
    """The distinct items of each user, also those outside any list."""
    found: Histories = defaultdict(Counter)
    for user, item, *_ in rows:
        if user is not None and item is not None:
            found[user][item,] = 1
    return found


def discovered(start: Start, rows: list[RowRandom], limit: int) -> Tally:
    """How many users of which item are counted."""
    records = Records(BARE.table(rows), "user", "item")
    request = make_request(
        records, None, epsilon=1, delta="1e-6", method=ct.Discover("item", limit)
    )
    with start() as engine:
        reading = Reading(engine, prepare(engine, records, None))
        with known_keys(4711):  # one and the same key each time
            released = run_steps(request, reading, SilentDraws())
    (table,) = released.tables
    assert released.facts.as_dict()["other"]["count"] == 0
    items = table.layout.columns(np.arange(table.layout.size))["item"].tolist()
    assert items == sorted(items)
    assert all(isinstance(item, str) for item in items), "no schema declares a frame's types"
    return Counter({(int(item),): n for item, n in zip(items, table.values.tolist(), strict=True)})


def test_all_items_of_all_users(start_engine: Start) -> None:
    rows = together(EVERYONE)
    assert discovered(start_engine, rows, 100) == reference.total(distinct_items(rows))


def test_at_most_l_of_each_user(start_engine: Start) -> None:
    rows, fewer = together(EVERYONE), together(OTHERS)
    full, other = (discovered(start_engine, side, 2) for side in (rows, fewer))
    assert full.total() == sum(min(2, own.total()) for own in distinct_items(rows).values())
    assert full <= reference.total(distinct_items(rows))
    assert farthest(full, other) == 2


def test_one_item_too_many_is_caught(start_engine: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    least = window.least
    monkeypatch.setattr(window, "least", lambda table, limit: least(table, limit + 1))
    full, other = (discovered(start_engine, together(side), 2) for side in (EVERYONE, OTHERS))
    assert farthest(full, other) > 2
