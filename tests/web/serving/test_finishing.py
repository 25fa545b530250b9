"""What is begun is finished: one thing after the other."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from crowdtally.web.gate import Refused
from crowdtally.web.server import MOST_FINISHING, Finishing


def run(waiting: Coroutine[Any, Any, Any]) -> Any:
    """In a thread of its own: a browser's tests may have left an event loop in this one."""
    with ThreadPoolExecutor(1) as alone:
        return alone.submit(asyncio.run, waiting).result()


def test_one_thing_is_done_after_the_other() -> None:
    finishing, at_once, most = Finishing(), [0], [0]

    def task() -> int:
        at_once[0] += 1
        most[0] = max(most[0], at_once[0])
        time.sleep(0.01)
        at_once[0] -= 1
        return 7

    async def many() -> list[int]:
        return await asyncio.gather(*(finishing.run(task) for _ in range(10)))

    assert run(many()) == [7] * 10
    assert most == [1]
    assert not finishing.is_busy
    finishing.close()


def test_who_stops_waiting_stops_nothing_and_the_end_waits() -> None:
    finishing, done, may = Finishing(), list[str](), threading.Event()

    def task() -> None:
        assert may.wait(20)
        done.append("done")

    async def impatient() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(finishing.run(task), 0.05)

    run(impatient())
    assert finishing.is_busy
    threading.Timer(0.2, may.set).start()
    finishing.close()
    assert done == ["done"]


def test_not_too_many_wait() -> None:
    finishing, may = Finishing(), threading.Event()

    async def crowd() -> None:
        tasks = [finishing.run(lambda: may.wait(20)) for _ in range(MOST_FINISHING + 1)]
        waiting = list(map(asyncio.ensure_future, tasks))
        await asyncio.sleep(0.05)
        with pytest.raises(Refused, match="few seconds"):
            await finishing.run(int)
        may.set()
        await asyncio.gather(*waiting)

    run(crowd())
    finishing.close()


def test_a_failure_is_told_to_who_waits() -> None:
    finishing = Finishing()

    async def failing() -> None:
        with pytest.raises(ZeroDivisionError):
            await finishing.run(lambda: 1 // 0)

    run(failing())
    finishing.close()
