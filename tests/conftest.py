"""What all tests share: chance, and one Spark for a whole run, since starting one takes seconds."""

from __future__ import annotations

import gc
import os
import re
import secrets
import tempfile
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from kit import repeatable
from kit.repeatable import memory

if TYPE_CHECKING:
    from crowdtally.records.engine import Engine

ON_SHARED_SPARK = "tests/engines/"
IN_BROWSER = "tests/browser/"
"""Tests that share one browser."""
APART = "tests/engines/apart/"
"""Tests that start a Spark of their own, or none."""
_ON_SPARK = re.compile(r"\[spark[-\]]")
"""In a test's name: ``start_engine`` opens Spark, wherever the test stands."""
_LONGEST = ("tests/system/", "tests/mutants/", "tests/guarantees/", "tests/ledger/")
"""Where files take longest: begun first, so that none is left to one worker in the end."""
SEED = "CROWDTALLY_MUTANT_SEED"
"""Decides which mutants are tried, and at which of many equal writes processes are killed.

Set here, before workers start, so that all know the same.
"""
ONE_CASE = "CROWDTALLY_MUTANT_QUICK"
"""Set: a mutant is tried without starting Spark where another case shows it as well."""
os.environ.setdefault(SEED, str(secrets.randbelow(10**6)) if repeatable.is_searching() else "0")
ROOM = 4 << 30
"""Bytes that temporary folders may need at a time; they are removed as their tests pass."""
if in_memory := memory(ROOM):
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", in_memory)  # where pytest makes them
    os.environ.setdefault("TMPDIR", in_memory)  # and where all others do
    tempfile.tempdir = None  # read $TMPDIR anew
repeatable.begin()
gc.disable()  # until all tests are collected: what they are made of stays


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell each worker where all keep what is made once."""
    node.workerinput["shared"] = repeatable.new_shared_folder()


def pytest_configure(config: pytest.Config) -> None:
    if folder := getattr(config, "workerinput", {}).get("shared"):
        repeatable.share(folder)


def pytest_report_header() -> str:
    """Said on success too: what passed today can be repeated."""
    drawn = "drawn anew" if repeatable.is_searching() else "the same in each run"
    return f"examples and noise: {drawn}; mutants: {SEED}={os.environ[SEED]}"


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Before any fixture of the test draws."""
    repeatable.of_test(item.nodeid)


def shares_spark(nodeid: str) -> bool:
    """Whether a test may use the one Spark that a run starts."""
    if nodeid.startswith(APART):
        return False
    return nodeid.startswith(ON_SHARED_SPARK) or _ON_SPARK.search(nodeid) is not None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Spark's tests come first, since they take longest; then other long files."""
    for item in items:
        if _ON_SPARK.search(item.nodeid) and not _is_quick_on_spark(item):
            item.add_marker(pytest.mark.long)
    if os.environ.get(ONE_CASE):
        items[:] = _without_slow_cases(items)
    items.sort(key=lambda item: _turn(item.nodeid))


def _turn(nodeid: str) -> tuple[bool, bool, bool]:
    """Before the shared Spark come those that would meet it where one process runs all."""
    apart, shared = nodeid.startswith(APART), shares_spark(nodeid)
    return not apart, not shared, not nodeid.startswith(_LONGEST)


def _without_slow_cases(items: list[pytest.Item]) -> list[pytest.Item]:
    """Without the cases on Spark, and the long ones, of each test that has others."""
    slow = {
        item
        for item in items
        if _ON_SPARK.search(item.nodeid) or item.get_closest_marker("long") is not None
    }
    others = {_without_case(item) for item in items if item not in slow}
    return [item for item in items if item not in slow or _without_case(item) not in others]


def _without_case(item: pytest.Item) -> str:
    return item.nodeid.partition("[")[0]


def pytest_collection_finish() -> None:
    """Let the garbage collector pass over the half a million objects that tests are made of.

    And look seldom at the rest: a release makes thousands that live for milliseconds.
    """
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    gc.enable()


def _is_quick_on_spark(item: pytest.Item) -> bool:
    """Whether its marker, if there is one, names the case."""
    marker = item.get_closest_marker("quick_on_spark")
    return marker is None or any(item.name.endswith(f"[spark-{case}]") for case in marker.args)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With ``--dist loadfile`` a worker takes a file, and one of them all that share Spark."""
    if config.getoption("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class SparkTogether(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            if nodeid.startswith(IN_BROWSER):
                return "browser"
            return "spark" if shares_spark(nodeid) else super()._split_scope(nodeid)

    return SparkTogether(config, log)


@pytest.fixture(scope="session")
def cluster() -> Iterator[Any]:
    """A Spark session whose executors are two processes of their own."""
    from crowdtally.records.spark.session import join
    from kit.spark import LOCAL_CLUSTER, QUICK, need_spark

    need_spark()
    joined = join(LOCAL_CLUSTER, QUICK)
    yield joined.session
    joined.leave()


@pytest.fixture(scope="session")
def connect_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a Connect server in another process."""
    from kit.spark import connect_server

    with connect_server(tmp_path_factory.mktemp("connect")) as url:
        yield url


@pytest.fixture(scope="session", params=["duckdb", "spark"])
def start_engine(request: pytest.FixtureRequest) -> Callable[[], Engine]:
    """What opens an engine: a test that takes it runs on each."""
    if request.param == "duckdb":
        from crowdtally.records.duckdb import DuckDBEngine  # Ibis: not for every test

        return DuckDBEngine
    from kit.spark import engine_beside

    cluster = request.getfixturevalue("cluster")
    return lambda: engine_beside(cluster)
