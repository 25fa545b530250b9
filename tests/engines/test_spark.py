"""Spark alone: what travels, frames, executors that die, one user more."""

from __future__ import annotations

import datetime
import json
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as parquet
import pytest

import crowdtally as ct
from crowdtally.core.domain import Domain
from crowdtally.core.records import Records
from crowdtally.curator.bounding.sampling import SRA
from crowdtally.curator.counting.bounded import count
from crowdtally.errors import CrowdtallyError
from crowdtally.records.prepare import prepare
from crowdtally.records.spark.engine import SparkEngine
from crowdtally.records.spark.session import join_frame
from crowdtally.records.spark.sources import plan_of
from kit.computed import COMPUTED
from kit.crowds import Database, histories, records, users
from kit.databases import kept_by
from kit.every_source import place_in
from kit.kinds import ON_SPARK, Kind, Place
from kit.newcomers import LIMIT as LIMIT_NEIGHBOURS
from kit.newcomers import MANY, NEWCOMERS, WORDS, bounded, counted, sampled, visits
from kit.spark import DOMAIN, EVERYONE, STORED, engine_beside, executors, together, wait_for

# ---- Bounding on a cluster: where records lie changes nothing, and few of them travel ------------


def test_partitions_and_row_order_change_nothing(cluster: Any) -> None:
    rows = together(EVERYONE)
    order = np.random.default_rng(3).permutation(len(rows))
    found = []
    for table, parts in ((rows, 1), ([rows[i] for i in order], 7)):
        frame = cluster.createDataFrame(STORED.table(table)).repartition(parts)
        with SparkEngine(join_frame(frame)) as engine:
            prepared = prepare(engine, STORED.records(frame, DOMAIN), DOMAIN)
            found.append(kept_by(engine, prepared, SRA(2), 2**62 + 99, "records"))
    assert found[0] == found[1]


def test_the_fast_cut_works_before_records_travel(cluster: Any) -> None:
    """Otherwise every record of every user would be sent."""
    with engine_beside(cluster) as engine:
        table = engine.load("held", {"user": np.arange(9) % 2, "priority": np.arange(9)})
        found = engine._session.table(engine.least(table, 2).rows.get_name())
        *_, plan = plan_of(found).partition("== Physical Plan ==")
    assert plan.count("WindowGroupLimit") == 2


# ---- Executors that die: the same counts, the same bound -----------------------------------------


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


# ---- DataFrames as records: they choose the engine, and their own session stays as it was --------


def test_a_spark_dataframe_chooses_its_engine(cluster: Any, tmp_path: Path) -> None:
    rows = [
        (user, item, datetime.date(2024, 1, 1 + user)) for user in range(5) for item in range(4)
    ]
    frame = cluster.createDataFrame(rows, "user INT, item INT, day DATE")
    records = ct.read(
        frame, user="user", item="item", contexts={"wday": "isodow(day)"}, types={"day": "date"}
    )
    views = {view.name for view in cluster.catalog.listTables()}
    made = ct.release(
        records, ct.Domain(range(4), {"wday": range(1, 8)}), epsilon=50, method=ct.SRA(9),
        output=tmp_path / "made", ledger=tmp_path / "ledger.sqlite", dataset="frame",
        new_dataset=True,
    )  # fmt: skip
    table = parquet.read_table(tmp_path / "made" / "edges.parquet")
    assert table.num_rows == 4 * 7
    assert made.metadata["charged"]["epsilon"] == "50"
    assert {view.name for view in cluster.catalog.listTables()} == views, "views were left behind"
    assert cluster.conf.get("spark.sql.ansi.enabled") == "false"


def test_settings_of_the_frames_own_session_stay(cluster: Any, tmp_path: Path) -> None:
    theirs = cluster.newSession()
    theirs.conf.set("spark.sql.ansi.enabled", "true")
    frame = theirs.createDataFrame([(1, "a")], "user INT, item STRING")
    ct.release(
        ct.read(frame, user="user", item="item"), ct.Domain(["a"]), epsilon=1,
        output=tmp_path / "made", ledger=tmp_path / "ledger.sqlite", dataset="frame",
        new_dataset=True, method=ct.SRA(10),
    )  # fmt: skip
    assert theirs.conf.get("spark.sql.ansi.enabled") == "true"
    assert json.loads((tmp_path / "made" / "release.json").read_text())["guarantee"]


# ---- One user who joins or leaves changes nobody else's sample where Spark reads the records -----
#
# A few of the newcomers that every other kind of source meets in tests/neighbours: a job takes
# seconds here.


CASES = {
    "spark frame": ["a text beside nulls", "a fraction, then a text", "three zeros are one user",
                    "large ids: a text among users", "joins: a text among keys",
                    "chosen: a text among items", "as text: a text", "int64: a fraction"],
    "parquet on spark": ["large ids: a missing item", "times"],
    "pandas sent to spark": ["a text beside nulls", "as text: a missing item"],
}  # fmt: skip
MORE = {
    "spark frame": ["keys of two names: a text", "as text: a fraction", "compared as text: a text",
                    "int64 as text: a fraction", "float64: a text among fractions",
                    "of a joined table: a text"],
    "parquet on spark": ["a text beside nulls", "int64: a missing item"],
    "pandas sent to spark": ["large ids: a missing item", "int64: a fraction"],
}  # fmt: skip
"""Those who are like another newcomer, or whom DuckDB meets in the same way."""
EXACT = {
    "integers": MANY.plus([*visits(None), (99, None, "Mon"), (2**53 + 3, 2**53 + 3, "Mon")]),
    "words": WORDS.plus([("", "", "Mon"), *visits(None), ("e\u0301", "cafe\u0301", "Mon")]),
}


@pytest.fixture(scope="module")
def place(cluster: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with place_in(tmp_path_factory.mktemp("on-spark"), lambda: cluster) as made:
        yield made


@pytest.mark.parametrize(
    ("name", "title"),
    [
        pytest.param(name, title, marks=marks)
        for cases, marks in ((CASES, ()), (MORE, pytest.mark.long))
        for name, titles in cases.items()
        for title in titles
    ],
)
def test_a_newcomer_changes_nobody_elses_sample(name: str, title: str, place: Place) -> None:
    kind, newcomer = ON_SPARK[name], {**NEWCOMERS, **COMPUTED}[title]
    alone = sampled(place, kind, newcomer.base, LIMIT_NEIGHBOURS)
    together = sampled(place, kind, newcomer.joined, LIMIT_NEIGHBOURS)
    assert {user: together.get(user) for user in alone} == alone
    assert len(together.keys() - alone.keys()) <= 1
    assert len(alone) == len(histories(kind, newcomer.base)), "users were merged, or are missing"
    assert bounded(alone, together, newcomer.base, LIMIT_NEIGHBOURS)


@pytest.mark.parametrize("kind", ON_SPARK.values(), ids=list(ON_SPARK))
@pytest.mark.parametrize("database", EXACT.values(), ids=list(EXACT))
def test_every_record_and_every_user_is_counted(
    kind: Kind, database: Database, place: Place
) -> None:
    own = histories(kind, database)
    by_records, by_users = counted(place, kind, database)
    assert by_records.edges == records(own)
    assert by_users.edges == users(own)
