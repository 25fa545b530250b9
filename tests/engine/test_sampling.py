"""What a sampling rule keeps and what is counted of it: bounded, stable, and exactly that."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from crowdtally.core.counts import What
from crowdtally.core.layout import Pairs
from crowdtally.curator.bounding.sampling import SRA
from crowdtally.curator.counting.bounded import count
from crowdtally.records import engine as window
from kit import reference
from kit.crowd import (
    BARE,
    EVERYONE,
    RULES,
    STORED,
    Crowd,
    Histories,
    Start,
    farthest,
    tally,
    together,
)
from kit.histories import Shape

Crowds = Callable[[Shape], Crowd]
KEY, NO_CUT = 2**62 + 99, 100
OWN = reference.histories(together(EVERYONE))
CASES = [
    ("sra", 2, BARE, "records"),
    ("sra", 2, STORED, "users"),
    ("sra", NO_CUT, BARE, "users"),
    ("hpa", 2, BARE, "records"),
]
PAIRS: list[tuple[int, What]] = [(3, "records"), (NO_CUT, "users")]


def check_sample(full: Histories, fewer: Histories, own: Histories, limit: int) -> None:
    """As many records as the rule allows, all the user's own, whoever else is there."""
    assert full.keys() == own.keys()
    for user, cells in own.items():
        assert full[user].total() == min(limit, cells.total())
        assert full[user] <= cells
    assert len(fewer) < len(full)
    assert all(full[user] == cells for user, cells in fewer.items())


@pytest.mark.parametrize(("name", "limit", "shape", "what"), CASES, ids=str)
def test_items_and_contexts(
    name: str, limit: int, shape: Shape, what: What, crowds: Crowds
) -> None:
    crowd, rule = crowds(shape), RULES[name](limit)
    full, fewer = crowd.kept(rule, KEY, what)
    check_sample(full, fewer, reference.available(OWN, what), limit)
    for table in (lambda kept: reference.of_items(kept, what), lambda kept: kept):
        one, other = (reference.total(table(kept)) for kept in (full, fewer))
        assert farthest(one, other) <= limit
    items, edges = count(crowd.engine, crowd.everyone, rule, key=KEY, what=what).found
    assert tally(items, crowd.items) == reference.total(reference.of_items(full, what))
    assert tally(edges, crowd.cells) == reference.total(full)
    assert (items.l1_bound, edges.l1_bound) == (limit, limit)


@pytest.mark.parametrize(("limit", "what"), PAIRS)
def test_pairs_of_items(limit: int, what: What, crowds: Crowds) -> None:
    crowd, rule = crowds(BARE).without_contexts(), SRA(limit)
    full, fewer = crowd.kept(rule, KEY, what)
    check_sample(full, fewer, reference.of_items(OWN, what), limit)
    one, other = (reference.total(reference.of_pairs(kept, what)) for kept in (full, fewer))
    assert farthest(one, other) <= limit * (limit - 1) // 2
    items, pairs = count(crowd.engine, crowd.everyone, rule, key=KEY, what=what, pairs=True).found
    assert tally(items, crowd.items) == reference.total(full)
    assert tally(pairs, Pairs(crowd.everyone.domain.items)) == one
    assert (items.l1_bound, pairs.l1_bound) == (limit, limit * (limit - 1) // 2)


@pytest.mark.parametrize("what", ["records", "users"])
def test_domains_beyond_64_bits_number_their_cells_in_text(what: What, start_engine: Start) -> None:
    users, cells = [1, 1, 1, 2], ["5.1", "5.1", "0.77", "9.9"]
    with start_engine() as engine:
        held = {"user": np.array(users), "cell": np.array(cells, dtype=object)}
        table = engine.load("held", held)
        kept = SRA(2).keep(engine, table, cells=2**70, key=3, what=what)
        found = engine.columns(kept.rows)
    kept = Counter(zip(found["user"].tolist(), found["cell"].tolist(), strict=True))
    assert kept[2, "9.9"] == 1
    assert sum(times for (user, _), times in kept.items() if user == 1) == 2
    assert set(kept) <= set(zip(users, cells, strict=True))


def test_the_fast_cut_is_the_window(start_engine: Start) -> None:
    rng = np.random.default_rng(8)
    users, few = rng.integers(0, 60, 900), rng.integers(0, 5, 900)
    priorities = np.where(rng.random(900) < 0.5, few, rng.integers(0, 2**63 - 1, 900))
    with start_engine() as engine:
        wide = engine.load("held", {"user": users, "priority": priorities, "cell": few})
        for table, limit in ((wide, 4), (wide.select("user", "priority"), 3)):
            fast = engine.columns(engine.least(table, limit).rows)
            slow = engine.columns(window.least(table, limit))
            assert _rows(fast) == _rows(slow)


def _rows(columns: dict[str, Any]) -> list[tuple[int, ...]]:
    return sorted(zip(*(columns[name].tolist() for name in sorted(columns)), strict=True))
