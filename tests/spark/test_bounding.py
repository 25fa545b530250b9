"""The engine suite over both engines: what a rule keeps, on hundreds of databases at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from crowdtally.curator.bounding.sra import SRA
from crowdtally.curator.engine import window
from crowdtally.values.counts import What
from kit.crowd import BARE, RULES, STORED, databases, farthest, kept, neighbours, together
from kit.histories import CONTEXTS, Kept, Shape, in_domain
from kit.mutants import DistinctIds, HashedUser, HashOfAllRows, KeepOneMore, PositionalIds

Start = Callable[[], Any]
CROWD = databases(300, seed=5)
LIMIT, KEY = 2, 2**62 + 99
CASES = [
    ("sra", BARE, "records"),
    ("sra", STORED, "records"),
    ("sra", STORED, "users"),
    ("hpa", BARE, "records"),
    ("tempered", STORED, "records"),
]


def both(start: Start, rule: Any, shape: Shape, what: What) -> tuple[Kept, Kept]:
    """What is kept of each database and of its neighbour."""
    full, fewer = together(CROWD), together(neighbours(CROWD))
    return (
        kept(start, shape.table(full), shape, rule, KEY, what),
        kept(start, shape.table(fewer), shape, rule, KEY, what),
    )


def exceeds(one: Kept, other: Kept, limit: int) -> bool:
    return farthest(one, other, 1) > limit or farthest(one, other, CONTEXTS) > limit


@pytest.mark.parametrize(("name", "shape", "what"), CASES, ids=lambda case: str(case))
def test_bounded_own_and_stable(name: str, shape: Shape, what: What, start_engine: Start) -> None:
    rule = RULES[name](LIMIT)
    everyone, others = both(start_engine, rule, shape, what)
    own = in_domain(together(CROWD))
    assert everyone.keys() == own.keys()
    for user, cells in own.items():
        available = cells if what == "records" else dict.fromkeys(cells, 1)
        assert everyone[user].total() == min(LIMIT, sum(available.values()))
        assert all(times <= available.get(cell, 0) for cell, times in everyone[user].items())
    assert len(others) < len(everyone)
    assert all(everyone[user] == cells for user, cells in others.items())
    assert not exceeds(everyone, others, LIMIT)


@pytest.mark.parametrize("wrong", [KeepOneMore, HashOfAllRows, HashedUser, PositionalIds])
def test_mutants_are_caught(wrong: Any, cluster: Any) -> None:
    from kit.cluster import engine_beside

    one, other = both(lambda: engine_beside(cluster), wrong(LIMIT), BARE, "records")
    changed = any(one.get(user) != cells for user, cells in other.items())
    assert exceeds(one, other, LIMIT) or changed


def test_distinct_ids_across_users_are_caught(start_engine: Start) -> None:
    shape = STORED
    full = kept(start_engine, shape.table(together(CROWD)), shape, DistinctIds(LIMIT), KEY,
                "records")  # fmt: skip
    own = in_domain(together(CROWD))
    assert any(user not in full for user in own)


def test_partitions_and_row_order_change_nothing(cluster: Any) -> None:
    from crowdtally.curator.engine.spark import SparkEngine
    from crowdtally.curator.engine.spark_session import join_frame

    rows = together(CROWD)
    order = np.random.default_rng(3).permutation(len(rows))
    found = []
    for table, parts in ((rows, 1), ([rows[i] for i in order], 7)):
        frame = cluster.createDataFrame(STORED.table(table)).repartition(parts)
        start = lambda frame=frame: SparkEngine(join_frame(frame))  # noqa: E731
        found.append(kept(start, frame, STORED, SRA(LIMIT), KEY, "records"))
    assert found[0] == found[1]


@pytest.mark.parametrize("what", ["records", "users"])
def test_domains_beyond_64_bits_number_their_cells_in_text(what: What, start_engine: Start) -> None:
    users, cells = [1, 1, 1, 2], ["5.1", "5.1", "0.77", "9.9"]
    with start_engine() as engine:
        held = {"user": np.array(users), "cell": np.array(cells, dtype=object)}
        table = engine.load("held", held)
        found = engine.columns(SRA(2).keep(engine, table, cells=2**70, key=3, what=what))
    kept = Counter(zip(found["user"].tolist(), found["cell"].tolist(), strict=True))
    assert kept[2, "9.9"] == 1
    assert sum(times for (user, _), times in kept.items() if user == 1) == 2
    assert set(kept) <= set(zip(users, cells, strict=True))


def test_whole_division_is_exact_beyond_floats(start_engine: Start) -> None:
    """The compiler's own way, by floats, loses the last digits beyond 2^53."""
    numbers = np.array([2**62 + 1, 2**53 + 1, -7, 7, 0], dtype=np.int64)
    with start_engine() as engine:
        table = engine.load("held", {"number": numbers})
        by_three = (table.number // 3).cast("int64")
        found = engine.arrays(table.select("number", third=by_three))
    thirds = dict(zip(found["number"].tolist(), found["third"].tolist(), strict=True))
    assert thirds == {number: number // 3 for number in numbers.tolist()}


def test_the_fast_cut_is_the_window(cluster: Any) -> None:
    from kit.cluster import engine_beside

    rng = np.random.default_rng(8)
    users, few = rng.integers(0, 60, 900), rng.integers(0, 5, 900)
    priorities = np.where(rng.random(900) < 0.5, few, rng.integers(0, 2**63 - 1, 900))
    with engine_beside(cluster) as engine:
        wide = engine.load("held", {"user": users, "priority": priorities, "cell": few})
        for table in (wide, wide.select("user", "priority")):
            for limit in (1, 4):
                fast, slow = (
                    engine.columns(cut(table, limit)) for cut in (engine.least, window.least)
                )
                assert _rows(fast) == _rows(slow)


def _rows(columns: dict[str, Any]) -> list[tuple[int, ...]]:
    return sorted(zip(*(columns[name].tolist() for name in sorted(columns)), strict=True))


def test_the_fast_cut_works_before_records_travel(cluster: Any) -> None:
    """Otherwise every record of every user would be sent."""
    from crowdtally.curator.engine.spark_sources import plan_of
    from kit.cluster import engine_beside

    with engine_beside(cluster) as engine:
        table = engine.load("held", {"user": np.arange(9) % 2, "priority": np.arange(9)})
        found = engine._session.table(engine.least(table, 2).get_name())
        *_, plan = plan_of(found).partition("== Physical Plan ==")
    assert plan.count("WindowGroupLimit") == 2
