"""Executors that die: the same counts, the same bound."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from typing import Any

import pytest

from crowdtally.core.domain import Domain
from crowdtally.core.records import Records
from crowdtally.curator.bounding.sampling import SRA
from crowdtally.curator.counting.bounded import count
from crowdtally.errors import CrowdtallyError
from crowdtally.records.prepare import prepare
from crowdtally.records.spark.engine import SparkEngine
from crowdtally.records.spark.session import join_frame
from kit.cluster import executors, wait_for

ROWS, USERS, ITEMS, LIMIT, KEY = 200_000, 3_000, 500, 5, 77


def crowd(cluster: Any) -> Any:
    """Records enough for a job of seconds, made by the executors from nothing."""
    return cluster.range(0, ROWS, 1, 4).selectExpr(
        f"concat('u', pmod(xxhash64(id), {USERS})) AS user",
        f"pmod(xxhash64(id, 5), {ITEMS}) AS item",
        "pmod(id, 3) AS context",
    )


class Run(threading.Thread):
    """A count on the cluster, beside which things happen."""

    def __init__(self, cluster: Any) -> None:
        super().__init__()
        self.cluster, self.failure = cluster, None
        self.tables: list[list[int]] = []
        self.most = 0

    def run(self) -> None:
        try:
            self._count()
        except Exception as error:
            self.failure = error

    def _count(self) -> None:
        frame = crowd(self.cluster)
        domain = Domain(range(ITEMS), {"context": range(3)}, item="item")
        with SparkEngine(join_frame(frame)) as engine:
            prepared = prepare(engine, Records(frame, "user", "item", {"context": None}), domain)
            counted = count(engine, prepared, SRA(LIMIT), key=KEY, what="records").found
            self.tables = [counts.dense().tolist() for counts in counted]
            kept = (
                SRA(LIMIT)
                .keep(engine, prepared.rows, cells=domain.size, key=KEY, what="records")
                .rows
            )
            each = kept.group_by("user").agg(times=kept.count())
            found = engine.arrays(each.aggregate(most=each.times.max(), users=each.count()))
            self.most = int(found["most"][0])
            assert int(found["users"][0]) == USERS


def stages(cluster: Any) -> dict[int, Any]:
    tracker = cluster.sparkContext.statusTracker()
    found = {number: tracker.getStageInfo(number) for number in tracker.getActiveStageIds()}
    return {number: info for number, info in found.items() if info is not None}


def running(cluster: Any, place: int) -> bool:
    """Whether tasks of the ``place``-th new stage run."""
    active = stages(cluster)
    seen: set[int] = cluster.__dict__.setdefault("seen_stages", set())
    seen |= set(active)
    order = sorted(seen)
    return len(order) > place and any(
        info.numActiveTasks > 0 for number, info in active.items() if number >= order[place]
    )


def disturbed(cluster: Any, *moments: tuple[int, int]) -> Run:
    """A run during which, at each moment (stage, how many), executors are killed."""
    wait_for(lambda: len(executors()) == 2)
    cluster.__dict__["seen_stages"] = set()
    run = Run(cluster)
    run.start()
    for place, many in moments:
        wait_for(lambda place=place: running(cluster, place) or not run.is_alive())
        assert run.is_alive(), "the run was over before anything could be killed"
        for process in executors()[:many]:
            process.send_signal(signal.SIGKILL)
    run.join()
    return run


@pytest.fixture(scope="module")
def undisturbed(cluster: Any) -> Run:
    run = disturbed(cluster)
    assert run.failure is None
    assert run.most == LIMIT
    return run


def same(run: Run, undisturbed: Run) -> None:
    assert run.failure is None
    assert run.tables == undisturbed.tables
    assert run.most == LIMIT


def test_an_executor_dies_between_the_two_shuffles(cluster: Any, undisturbed: Run) -> None:
    same(disturbed(cluster, (1, 1)), undisturbed)


@pytest.mark.long
@pytest.mark.parametrize(
    "moments",
    [((0, 1),), ((1, 2),), ((0, 1), (1, 1)), ((2, 1),), ((3, 2),)],
    ids=["reading", "both between", "twice", "after", "later"],
)
def test_executors_die_at_other_moments(
    moments: tuple[tuple[int, int], ...], cluster: Any, undisturbed: Run
) -> None:
    same(disturbed(cluster, *moments), undisturbed)


@pytest.mark.long
def test_lost_caches_are_computed_again_the_same(cluster: Any) -> None:
    """Users are counted from a table that was computed once: killed, it comes out the same."""
    found = []
    for kill in (False, True):
        frame = crowd(cluster)
        domain = Domain(range(ITEMS), {"context": range(3)}, item="item")
        with SparkEngine(join_frame(frame)) as engine:
            prepared = prepare(engine, Records(frame, "user", "item", {"context": None}), domain)
            materialise: Callable[..., Any] = engine.materialise

            def losing(expression: Any, name: str, materialise: Any = materialise) -> Any:
                made = materialise(expression, name)
                engine.arrays(made.aggregate(rows=made.count()))  # fills the cache
                for process in executors():
                    process.send_signal(signal.SIGKILL)
                return made

            if kill:
                engine.materialise = losing  # type: ignore[method-assign]
            counted = count(engine, prepared, SRA(LIMIT), key=KEY, what="users").found
            found.append([counts.dense().tolist() for counts in counted])
    assert found[0] == found[1]


@pytest.mark.long
def test_an_executor_without_memory(cluster: Any) -> None:
    """A record that no executor can hold: a clear message, and not the record."""
    frame = cluster.range(1).selectExpr("id AS user", "size(sequence(1, 400000000 + id)) AS item")
    with SparkEngine(join_frame(frame)) as engine:
        prepared = prepare(engine, Records(frame, "user", "item"), Domain(range(3), item="item"))
        with pytest.raises(CrowdtallyError, match="ran out of memory: give each more"):
            count(engine, prepared, SRA(1), key=1, what="records")
