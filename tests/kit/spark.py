"""A Spark of two worker processes, a Connect server, and hundreds of small databases at once."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import psutil
import pytest

from crowdtally.core.counts import Counts, What
from crowdtally.core.domain import Domain
from crowdtally.core.layout import Grid, Layout, grid
from crowdtally.curator.bounding.sampling import HPA, SRA
from crowdtally.errors import CrowdtallyError
from crowdtally.records.prepare import Prepared, prepare
from crowdtally.records.spark import session as spark_probe
from crowdtally.records.spark import session as spark_session
from crowdtally.records.spark.engine import SparkEngine
from kit.databases import RowRandom, Shape

# ---- A Spark of two worker processes on this machine, a Connect server, and what tests do to
#      them


LOCAL_CLUSTER = "local-cluster[2,1,1024]"
# One compiler, whose code all fits: in the 48 MB that it gets by itself it is thrown away and made
# again. Classes of Spark's own jars need not be verified. Room for what a query leaves behind.
_LIGHT_JAVA = (
    "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m "
    "-XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote -XX:+UseSerialGC -Xmn256m"
)
QUICK = {
    "spark.driver.extraJavaOptions": _LIGHT_JAVA,
    "spark.executor.extraJavaOptions": _LIGHT_JAVA,
    "spark.sql.shuffle.partitions": "2",
}
"""Settings under which tiny jobs cost little."""


def need_spark() -> None:
    """Skip where Java or pyspark is missing; fail on CI, where both must be there."""
    try:
        spark_probe.require_pyspark()
        spark_probe.find_java()
    except CrowdtallyError as error:
        if os.environ.get("CI"):
            pytest.fail(f"Spark's tests must run on CI: {error}")
        pytest.skip(str(error))


def engine_beside(session: Any) -> SparkEngine:
    """An engine in a session of its own on a running Spark.

    With the settings that every session is asked for; that they are taken, and that Spark works, is
    not tried out once more for each test.
    """
    own = session.newSession()
    for name, value in spark_session.REQUIRED.items():
        own.conf.set(name, value)
    return SparkEngine(spark_session.Joined(own, is_local=True, leave=lambda: None))


def executors() -> list[psutil.Process]:
    """The processes of the executors that this process's Spark has."""
    found = psutil.Process().children(recursive=True)
    return [child for child in found if _is_executor(child)]


def _is_executor(process: psutil.Process) -> bool:
    try:
        words = process.cmdline()
    except psutil.Error:
        return False
    return any("CoarseGrainedExecutorBackend" in word for word in words)


def wait_for(condition: Any, seconds: float = 300) -> None:
    """Until the condition holds; fails where it does not in time."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"nothing within {seconds} seconds"
        time.sleep(0.02)


@contextmanager
def connect_server(folder: Path) -> Iterator[str]:
    """A Connect server in a process of its own; its URL."""
    need_spark()
    port = _free_port()
    home = spark_session._spark_home()
    settings = {**QUICK, "spark.connect.grpc.binding.port": str(port), "spark.ui.enabled": "false"}
    command = [
        f"{home}/bin/spark-submit", "--master", "local[2]",
        "--class", "org.apache.spark.sql.connect.service.SparkConnectServer",
        *(word for name, value in settings.items() for word in ("--conf", f"{name}={value}")),
        "spark-internal",
    ]  # fmt: skip
    environment = {**os.environ, "SPARK_HOME": home, "SPARK_LOCAL_IP": "127.0.0.1"}
    with (folder / "server.log").open("wb") as log:
        server = subprocess.Popen(
            command, stdout=log, stderr=log, env=environment, cwd=folder, stdin=subprocess.DEVNULL
        )
    try:
        wait_for(lambda: server.poll() is not None or _listens(port))
        assert server.poll() is None, "the Connect server did not start"
        yield f"sc://127.0.0.1:{port}"
    finally:
        server.terminate()
        try:
            server.wait(20)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _listens(port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0


# ---- Hundreds of small databases in one table: an engine that takes seconds a job sees them at
#      once
#
# The database's number is part of each user's id and of each item, so that databases have neither
# a user nor a cell in common: what is kept or counted falls apart into what each alone would
# give.


DATABASES, ITEMS, CONTEXTS = 300, 4, 3
STEP = ITEMS + 1
"""How far apart databases' items are: one more than are listed, so that some are outside."""
LISTED = [STEP * number + item for number in range(DATABASES) for item in range(ITEMS)]
DOMAIN = Domain(LISTED, {"context": range(CONTEXTS)}, item="item")
PLAIN = Domain(LISTED, item="item")

BARE, STORED = Shape("string"), Shape("string", id="int64")
POPULARITY = np.tile(np.array([9, -3, 4, 4], dtype=np.int64), DATABASES)
RULES: dict[str, Callable[[int], Any]] = {
    "sra": SRA,
    "hpa": lambda limit: HPA(limit, popularity=POPULARITY),
}
# Names that some program or other takes for equal.
_NAMES = ["1", "01", " 1", "1 ", "a", "A", "\u00e9", "e\u0301", "", "NULL"]

Cell = tuple[int, ...]
"""What names a cell: its item, then its context or the other item of a pair."""
Tally = Counter[Cell]
"""The count of each cell that is not zero."""
Histories = dict[Any, Tally]
"""For each user how many records of which cell."""
Start = Callable[[], Any]
"""What opens an engine."""


# ---- databases -----------------------------------------------------------------------------------


def databases(seed: int) -> list[list[RowRandom]]:
    """Databases of one to four users: nulls, values outside the lists, repeated rows and ids."""
    rng = np.random.default_rng(seed)
    return [_database(number, rng) for number in range(DATABASES)]


def _database(number: int, rng: np.random.Generator) -> list[RowRandom]:
    users = rng.choice(_NAMES, rng.integers(1, 5), replace=False)
    rows: list[RowRandom] = []
    for user in users:
        for _ in range(rng.integers(1, 9)):
            item, context, place = rng.integers(0, [STEP, CONTEXTS + 1, 12])
            rows.append((f"{number}:{user}", *_with_nulls([STEP * number + item, context, place],
                                                          rng)))  # fmt: skip
        rows.extend(rows[-1:] * rng.integers(0, 3))
    rows.append((None, STEP * number, 0, 0))
    return [rows[place] for place in rng.permutation(len(rows))]


def _with_nulls(values: Sequence[Any], rng: np.random.Generator) -> tuple[Any, ...]:
    return tuple(None if rng.random() < 0.06 else int(value) for value in values)


def together(parts: Sequence[Sequence[RowRandom]]) -> list[RowRandom]:
    return [row for rows in parts for row in rows]


def neighbours(parts: Sequence[Sequence[RowRandom]]) -> list[list[RowRandom]]:
    """Each database without its first user."""
    return [[row for row in rows if row[0] != _first(rows)] for rows in parts]


def _first(rows: Sequence[RowRandom]) -> str:
    return min(row[0] for row in rows if row[0] is not None)


EVERYONE = databases(seed=5)
OTHERS = neighbours(EVERYONE)
ROWS = sum(map(len, EVERYONE))


# ---- what is compared ----------------------------------------------------------------------------


def tally(counts: Counts, layout: Layout) -> Tally:
    """A table of counts by the names of its cells."""
    assert counts.size == layout.size
    named = layout.columns(counts.cells)
    names = zip(*(column.tolist() for column in named.values()), strict=True)
    return Counter(dict(zip(names, counts.values.tolist(), strict=True)))


def farthest(one: Mapping[Cell, int], other: Mapping[Cell, int]) -> int:
    """The largest L1 distance of a table, over all databases."""
    apart: Counter[int] = Counter()
    for cell in one.keys() | other.keys():
        apart[cell[0] // STEP] += abs(one.get(cell, 0) - other.get(cell, 0))
    return max(apart.values())


# ---- both sides of every database in an engine ---------------------------------------------------


@dataclass(frozen=True)
class Crowd:
    """All databases with every user, and all of them without their first, in one engine."""

    engine: Any
    everyone: Prepared
    others: Prepared

    def kept(self, rule: Any, key: int, what: What) -> tuple[Histories, Histories]:
        """What a rule keeps of everyone's records and of the others', by one job."""
        sides = [
            rule.keep(self.engine, side.rows, cells=side.domain.size, key=key, what=what).rows
            for side in (self.everyone, self.others)
        ]
        marked = [kept.mutate(side=ibis.literal(number)) for number, kept in enumerate(sides)]
        found = self.engine.columns(marked[0].union(marked[1]))
        result: tuple[Histories, Histories] = (defaultdict(Counter), defaultdict(Counter))
        for user, cell, side in zip(
            *(found[name].tolist() for name in ("user", "cell", "side")), strict=True
        ):
            result[side][user][self._named(cell)] += 1
        return result

    @property
    def items(self) -> Grid:
        """How the items are numbered."""
        return grid([self.everyone.domain.items])

    @property
    def cells(self) -> Grid:
        """How the items in context are numbered."""
        return grid(self.everyone.domain.axes)

    def _named(self, cell: int) -> Cell:
        item, context = divmod(cell, self.everyone.domain.contexts_size)
        return (LISTED[item], context) if self.everyone.domain.contexts else (LISTED[item],)

    def without_contexts(self) -> Crowd:
        """The same records, of items alone."""
        return Crowd(self.engine, _items_alone(self.everyone), _items_alone(self.others))


def _items_alone(prepared: Prepared) -> Prepared:
    rows = prepared.rows
    item = (rows.cell // prepared.domain.contexts_size).cast("int64")
    return replace(prepared, rows=rows.mutate(cell=item), lists=PLAIN)


@contextmanager
def crowd_in(start: Start, shape: Shape) -> Iterator[Crowd]:
    """Both sides, prepared as a release prepares them and then held."""
    with start() as engine:
        sides = []
        for name, parts in (("everyone", EVERYONE), ("others", OTHERS)):
            records = shape.records(shape.table(together(parts)), DOMAIN)
            prepared = prepare(engine, records, DOMAIN)
            sides.append(replace(prepared, rows=engine.materialise(prepared.rows, name)))
        yield Crowd(engine, *sides)
