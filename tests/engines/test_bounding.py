"""Users are sampled and scaled alike on both engines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import ibis
import numpy as np
import pytest

from crowdtally.core.counts import What
from crowdtally.core.layout import Pairs
from crowdtally.curator.bounding.sampling import HPA, SRA
from crowdtally.curator.bounding.scaling import GRID, DPSense, DPSenseS, weighted
from crowdtally.curator.counting.bounded import count, count_scaled
from crowdtally.records import engine as window
from crowdtally.records.engine import Engine, held_sum
from crowdtally.records.prepare import Prepared
from kit import reference
from kit.databases import Shape
from kit.rules import fit, law_of_subsets
from kit.spark import (
    BARE,
    EVERYONE,
    OTHERS,
    RULES,
    STORED,
    Crowd,
    Histories,
    Start,
    farthest,
    tally,
    together,
)

# ---- What a sampling rule keeps and what is counted of it: bounded, stable, and exactly that -----


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


# ---- Under one key, users with equal histories keep each subset equally often, and
#      independently
#
# That is what the counts of one release rest on; privacy needs none of it. The key is the same in
# every run of the tests, so a verdict is the same too.


USERS, CELLS, KEY_LAW = 20_000, 8, 2**61 + 12345
FOUR = [0, 1, 2, 3]
History = Mapping[str, list[Any]]
"""The cells and perhaps ids of every user's records."""
HISTORIES: dict[str, tuple[History, What]] = {
    "sequential ids": ({"cell": FOUR, "id": [1, 2, 3, 4]}, "records"),
    "text ids": ({"cell": FOUR, "id": ["a1", "a2", "b1", ""]}, "records"),
    "no ids, repeated records": ({"cell": [0, 0, 1, 2]}, "records"),
    "users": ({"cell": [0, 0, 0, 1, 2, 2, 3]}, "users"),
}


def crowded(history: History) -> dict[str, Any]:
    """The same history for each of the users, whose names are texts."""
    columns = {name: np.tile(np.array(values), USERS) for name, values in history.items()}
    if "id" in columns and columns["id"].dtype.kind == "U":
        columns["id"] = columns["id"].astype(object)
    users = np.array([f"u{number}" for number in range(USERS)], dtype=object)
    return {"user": np.repeat(users, len(history["cell"])), **columns}


def samples(start: Start, history: History, rule: Any, what: What) -> list[tuple[int, ...]]:
    """What each user keeps, in the order of their numbers."""
    with start() as engine:
        rows = engine.load("held", crowded(history))
        found = engine.columns(rule.keep(engine, rows, cells=CELLS, key=KEY_LAW, what=what).rows)
    numbers = np.array([int(user[1:]) for user in found["user"].tolist()])
    order = np.lexsort((found["cell"], numbers))
    kept = found["cell"][order].reshape(USERS, rule.limit)
    assert (numbers[order].reshape(USERS, rule.limit) == np.arange(USERS)[:, None]).all()
    return list(map(tuple, kept.tolist()))


@pytest.mark.quick_on_spark("sequential ids", "no ids, repeated records")
@pytest.mark.parametrize("name", HISTORIES)
def test_a_uniform_subset_is_kept(name: str, start_engine: Start) -> None:
    history, what = HISTORIES[name]
    kept = samples(start_engine, history, SRA(2), what)
    law = law_of_subsets(history["cell"] if what == "records" else FOUR, 2)
    verdict = fit(kept, law)
    assert verdict.fits, str(verdict)
    joint = {(one, other): law[one] * law[other] for one in law for other in law}
    verdict = fit(list(pairwise(kept)), joint)
    assert verdict.fits, f"neighbouring users' samples are related: {verdict}"


def test_items_of_equal_popularity_are_taken_uniformly(start_engine: Start) -> None:
    """Item 3 ranks first, the others are equal: one of them goes with it."""
    popularity = np.array([4, 4, 4, 9, 0, 0, 0, 0], dtype=np.int64)
    kept = samples(start_engine, {"cell": FOUR}, HPA(2, popularity=popularity), "records")
    verdict = fit(kept, dict.fromkeys([(0, 3), (1, 3), (2, 3)], 1 / 3))
    assert verdict.fits, str(verdict)


class WithoutTheUser(SRA):
    """Every user keeps the same records."""

    def keep(self, engine: Any, rows: ibis.Table, **given: Any) -> ibis.Table:
        order = engine.hash(given["key"], [rows.cell])
        return engine.least(rows.select("user", "cell", priority=order), self.limit)


def test_a_hash_without_the_user_is_rejected(start_engine: Start) -> None:
    kept = samples(start_engine, {"cell": FOUR}, WithoutTheUser(2), "records")
    assert not fit(kept, law_of_subsets(FOUR, 2)).fits


# ---- Rows scaled as a whole: exactly what integer arithmetic says, on every engine ---------------


SIDES = [reference.histories(together(side)) for side in (EVERYONE, OTHERS)]
RULES_SCALING = [DPSense(2), DPSenseS(3, cap=2, scalings=["3/2"])]


def check(rule: DPSense, crowd: Crowd, table: Callable[[Histories], Histories]) -> None:
    """Each database's counts with and without its first user, and how far they are apart."""
    found = [_counted(rule, crowd.engine, side) for side in (crowd.everyone, crowd.others)]
    for counts, own in zip(found, SIDES, strict=True):
        expected = reference.scaled(table(own), rule.limit, rule.most)
        assert tally(counts, crowd.cells) == reference.total(expected)
        assert reference.largest(expected) <= counts.l1_bound == GRID * rule.limit
        assert counts.unit == rule.scaling / GRID
    assert farthest(*(tally(counts, crowd.cells) for counts in found)) <= rule.l1_bound


def _counted(rule: DPSense, engine: Any, side: Prepared) -> Any:
    return count_scaled(engine, side, rule, side.domain.size).found


@pytest.mark.parametrize("rule", RULES_SCALING, ids=str)
def test_items_in_context(rule: DPSense, crowds: Crowds) -> None:
    check(rule, crowds(BARE), lambda own: own)


def test_items(crowds: Crowds) -> None:
    check(DPSense(1, cap=3), crowds(BARE).without_contexts(), reference.of_items)


def test_the_largest_weights_are_exact(start_engine: Start) -> None:
    """θ and cap at their ends: products near 2^61, quotients that floats would round."""
    theta, cap = 2**31, 2**10
    amounts, sums = np.array([cap, cap, 1, 7, 3]), np.array([1, 3, 5, 0, -1]) + theta
    with start_engine() as engine:
        held = {"cell": np.arange(5), "amount": amounts, "row_sum": sums}
        found = engine.arrays(weighted(engine.load("held", held), theta))
    weights = dict(zip(found["cell"].tolist(), found["weight"].tolist(), strict=True))
    assert weights == {
        cell: GRID * amount if total <= theta else GRID * theta * amount // total
        for cell, (amount, total) in enumerate(zip(amounts.tolist(), sums.tolist(), strict=True))
    }


def test_whole_division_is_exact_beyond_floats(start_engine: Start) -> None:
    """The compiler's own way, by floats, loses the last digits beyond 2^53."""
    numbers = np.array([2**62 + 1, 2**53 + 1, -7, 7, 0], dtype=np.int64)
    with start_engine() as engine:
        table = engine.load("held", {"number": numbers})
        by_three = (table.number // 3).cast("int64")
        found = engine.arrays(table.select("number", third=by_three))
    thirds = dict(zip(found["number"].tolist(), found["third"].tolist(), strict=True))
    assert thirds == {number: number // 3 for number in numbers.tolist()}


# ---- Sums over users, on each engine: exact, and never too large for 64 bits after the charge ----


HELD = 2**61
MOST = 2**40
"""The largest weight that the contract speaks of."""


def test_sums_of_weights_are_exact_and_held_at_their_limit(
    start_engine: Callable[[], Engine],
) -> None:
    """Weights of 2^58 and more stand for more users than a test can have."""
    weights = {
        0: [0, 1, MOST, MOST - 1, 2**20, 2**20 - 1, 12345678901],
        1: [HELD // 8] * 8,  # at the limit
        2: [2**60] * 16,  # 2^64: a sum of 64 bits would be 0
        3: [2**60] * 16 + [MOST + 7],  # one user more
        4: [2**62] * 8,
        5: [HELD - 1],
    }
    cells = np.repeat(list(weights), [len(some) for some in weights.values()])
    values = np.concatenate([np.array(some, dtype=np.int64) for some in weights.values()])
    with start_engine() as engine:
        rows = engine.load("weights", {"cell": cells.astype(np.int64), "weight": values})
        found = engine.arrays(rows.group_by("cell").agg(total=held_sum(rows.weight)))
    totals = dict(zip(found["cell"].tolist(), found["total"].tolist(), strict=True))
    assert totals[0] == sum(weights[0])
    assert totals[1] == totals[2] == totals[4] == HELD
    assert totals[5] == HELD - 1
    assert 0 <= totals[3] - totals[2] <= MOST + 7
    assert found["total"].dtype == np.int64
