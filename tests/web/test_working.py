"""Questions have a limited time: what they run is stopped, and others are answered meanwhile."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

from crowdtally.core import deadline
from crowdtally.core.deadline import Patience, TooMuchError, go_on, having, stoppable
from crowdtally.format import tables
from crowdtally.web import server
from crowdtally.web.gate import Refused
from crowdtally.web.server import Work
from kit.pages import in_own_loop

ENDLESS = "SELECT count(*) FROM range(100000000) a, range(10000) b WHERE a.range + b.range = 17"
"""It takes an hour: that it ends is that it was stopped."""


@pytest.fixture
def work() -> Iterator[Callable[..., Work]]:
    made = []

    def make(threads: int = 2, seconds: float = 0.3) -> Work:
        made.append(Work(threads, seconds))
        return made[-1]

    yield make
    for one in made:
        one.close()


def _asked(work: Work, *tasks: Callable[[], Any]) -> list[Any]:
    async def all_of_them() -> list[Any]:
        return await asyncio.gather(*map(work.run, tasks), return_exceptions=True)

    return in_own_loop(all_of_them())


def test_an_answer_and_a_failure_reach_whoever_asked(work: Callable[..., Work]) -> None:
    found = _asked(work(seconds=300), lambda: 7, lambda: 1 // 0)
    assert found[0] == 7
    assert isinstance(found[1], ZeroDivisionError)


def test_a_question_to_a_file_is_stopped_when_its_time_is_over(
    work: Callable[..., Work], tmp_path: Path
) -> None:
    path = tmp_path / "table.parquet"
    duckdb.sql("SELECT range AS item FROM range(1000)").write_parquet(str(path))
    ended: list[BaseException] = []
    done = threading.Event()

    def question() -> None:
        try:
            tables.ask(path, ENDLESS).fetchall()
        except BaseException as error:
            ended.append(error)
            raise
        finally:
            done.set()

    (refused,) = _asked(work(), question)
    assert isinstance(refused, Refused)
    assert refused.status == 422
    assert "0.3 seconds" in refused.words
    assert done.wait(300), "it goes on although nobody waits"
    assert [type(one) for one in ended] == [TooMuchError]
    assert tables.ask(path, "SELECT count(*) FROM release").fetchall() == [(1000,)]


def test_a_question_that_is_given_up_keeps_its_thread_but_no_other(
    work: Callable[..., Work],
) -> None:
    go, made = threading.Event(), work(threads=2, seconds=2)
    slow, quick = _asked(made, lambda: go.wait(300), lambda: "quick")
    assert (slow.status, quick) == (422, "quick")
    go.set()


def test_its_time_begins_when_a_thread_takes_it(work: Callable[..., Work]) -> None:
    def nap() -> str:
        time.sleep(0.5)
        return "done"

    assert _asked(work(threads=1, seconds=1.8), *[nap] * 4) == ["done"] * 4


def test_too_many_at_once_are_told_to_come_again(
    work: Callable[..., Work], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "WAITING", 2)
    made = work(threads=1, seconds=2)
    go = threading.Event()
    threading.Timer(0.2, go.set).start()
    found = _asked(made, *[lambda: go.wait(5)] * 5)
    refused = [one for one in found if isinstance(one, Refused)]
    assert [one.status for one in refused] == [429, 429]
    assert all(one.headers["retry-after"] == "2" for one in refused)
    assert _asked(made, lambda: "again") == ["again"], "places are free again"


def test_one_that_no_thread_takes_is_told_to_come_again(work: Callable[..., Work]) -> None:
    made, go = work(threads=1, seconds=0.1), threading.Event()
    ran = []

    def late() -> None:
        ran.append(1)

    first, second = _asked(made, lambda: go.wait(10), late)
    go.set()
    assert (first.status, second.status) == (422, 429)
    assert ran == [], "what was given up does not begin"


def test_a_failure_that_comes_too_late_is_nobodys(
    work: Callable[..., Work], caplog: pytest.LogCaptureFixture, recwarn: pytest.WarningsRecorder
) -> None:
    made, go, done = work(), threading.Event(), threading.Event()

    def fail() -> None:
        go.wait(10)
        done.set()
        raise ValueError("late")

    async def ask() -> None:
        with pytest.raises(Refused):
            await made.run(fail)
        go.set()
        done.wait(5)
        await asyncio.sleep(0.05)
        assert await made.run(lambda: 3) == 3

    in_own_loop(ask())
    assert caplog.records == []
    assert list(recwarn) == []


def test_steps_are_stopped_between_them() -> None:
    one = Patience()
    with having(one):
        go_on()
        one.end()
        with pytest.raises(TooMuchError):
            go_on()
        with pytest.raises(TooMuchError), stoppable(lambda: None):
            raise AssertionError("it must not begin")
    go_on()


def test_a_sketch_stops_between_its_rows() -> None:
    from crowdtally.core.hierarchy import Sketching
    from crowdtally.reader.estimates.cell_sums import sketch_sum

    one, cells = Patience(), np.arange(5)
    sketching = Sketching(100, 8, 2, 1)
    one.end()
    with having(one), pytest.raises(TooMuchError):
        sketch_sum(np.zeros(16), cells, sketching)
    assert sketch_sum(np.zeros(16), cells, sketching).value == 0


def test_without_a_patience_nothing_is_stopped() -> None:
    with stoppable(lambda: pytest.fail("nobody waits")):
        go_on()


def test_what_has_ended_is_not_stopped() -> None:
    stopped, one = [], Patience()
    with having(one), stoppable(lambda: stopped.append(1)):
        pass
    one.end()
    assert stopped == []


def test_each_question_has_its_own_patience(work: Callable[..., Work]) -> None:
    seen = _asked(work(seconds=300), *[lambda: (time.sleep(0.05), deadline._patience.get())[1]] * 2)
    assert len({id(one) for one in seen}) == 2
    assert None not in seen
    assert deadline._patience.get() is None


STUCK = """
import asyncio, threading
from crowdtally.web.gate import Refused
from crowdtally.web.server import Work

def endless():
    while True:
        pass

async def ask(work):
    try:
        await work.run(endless)
    except Refused as refused:
        print(refused.status)

work = Work(threads=2, seconds=0.2)
asyncio.run(ask(work))
work.close()
print("stopped.", flush=True)
"""


def test_a_process_ends_although_a_question_does_not() -> None:
    """Nothing stops a thread of Python, and the standard library's pools are waited for."""
    done = subprocess.run(
        [sys.executable, "-c", STUCK], capture_output=True, text=True, timeout=60, check=True
    )
    assert (done.stdout, done.stderr) == ("422\nstopped.\n", "")


def test_a_question_is_stopped_where_the_server_does_not_wait(work: Callable[..., Work]) -> None:
    """A server that stops gives up the answers under way, and then what runs for them."""
    stopped = threading.Event()

    def question() -> None:
        with stoppable(stopped.set):
            stopped.wait(10)

    async def given_up(made: Work) -> None:
        asked = asyncio.create_task(made.run(question))
        await asyncio.sleep(0.2)
        asked.cancel()
        with suppress(asyncio.CancelledError):
            await asked

    in_own_loop(given_up(work(seconds=30)))
    assert stopped.is_set()


def test_what_waits_when_the_work_is_closed_does_not_begin(work: Callable[..., Work]) -> None:
    made, go, begun = work(threads=1, seconds=5), threading.Event(), list[int]()

    async def closed() -> list[Any]:
        first = asyncio.create_task(made.run(lambda: go.wait(10)))
        await asyncio.sleep(0.1)
        second = asyncio.create_task(made.run(lambda: begun.append(2)))
        await asyncio.sleep(0.1)
        threading.Timer(0.2, go.set).start()
        await asyncio.to_thread(made.close)
        second.cancel()
        return await asyncio.gather(first, second, return_exceptions=True)

    assert in_own_loop(closed())[0] is True
    assert begun == []
