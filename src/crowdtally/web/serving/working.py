"""Questions are worked on in a few threads, each for a limited time."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextvars import copy_context
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from crowdtally.core.deadline import Patience, having
from crowdtally.web.serving.refusing import Refused

SECONDS = 2.0
"""What one question may take."""
THREADS = max(3, (os.cpu_count() or 2) + 1)
"""How many are worked on at once: more would only make each slower, and its time is limited."""
WAITING = 200
"""How many may wait for a thread."""
GRACE = 3.0
"""Seconds that questions have to end once the server stops."""
_Found = TypeVar("_Found")


class Work:
    """Threads that answer questions.

    A question whose time is over is refused, and what it runs is stopped. Until it has ended it
    keeps its thread, so that questions which are given up cannot take more than the threads.

    The threads are daemons, and no pool of the standard library, which Python waits for at its end:
    a question that nothing stops must not keep the process alive.
    """

    def __init__(self, threads: int = THREADS, seconds: float = SECONDS) -> None:
        self._queue: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        self._threads = [
            threading.Thread(target=self._work, name=f"question-{number}", daemon=True)
            for number in range(threads)
        ]
        self._begun = False
        self._seconds = seconds
        self._under_way = 0
        self._most = threads + WAITING

    async def run(self, task: Callable[[], _Found]) -> _Found:
        """What the task returns.

        Raises:
            Refused: it takes too long, or too many are waiting.
        """
        if self._under_way >= self._most:
            raise Refused(429, "Try again in a few seconds.", retry_after="2")
        patience, context, begun = Patience(), copy_context(), list[float]()

        def work() -> _Found:
            begun.append(time.monotonic())  # its time begins when a thread takes it
            with having(patience):
                return task()

        self._under_way += 1
        future = asyncio.wrap_future(self._submitted(lambda: context.run(work)))
        future.add_done_callback(self._ended)
        try:
            await self._waited(future, begun)
            if future.done() and not future.cancelled():
                return future.result()
            if not begun:
                raise Refused(429, "Try again in a few seconds.", retry_after="2")
            raise Refused(
                422,
                f"A question has {self._seconds:g} seconds, and this one was stopped. Ask for "
                "fewer rows, fewer values or a simpler condition.",
            )
        finally:  # also where the server stops, and does not wait for the answer
            patience.end()
            future.cancel()

    async def _waited(self, future: asyncio.Future[Any], begun: Sequence[float]) -> None:
        """Wait until a question is answered, or its time is over.

        No thread tells that it has taken a question, which would wake this one for each of them:
        only a question that is not answered by then is looked at again.
        """
        asked = time.monotonic()
        while not future.done():
            end = begun[0] + self._seconds if begun else asked + 5 * self._seconds
            left = end - time.monotonic()
            if left <= 0:
                return
            await asyncio.wait([future], timeout=min(left, self._seconds))

    def _submitted(self, task: Callable[[], _Found]) -> Future[_Found]:
        """The task in its place among those that wait for a thread."""
        if not self._begun:
            self._begun = True
            for thread in self._threads:
                thread.start()
        future: Future[_Found] = Future()
        self._queue.put((future, task))
        return future

    def _work(self) -> None:
        """Do one task after the other, in a thread."""
        while (taken := self._queue.get()) is not None:
            future, task = taken
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(task())
                except BaseException as error:
                    future.set_exception(error)
            del taken, future, task  # what it answered is not kept until the next one

    def _ended(self, future: asyncio.Future[_Found]) -> None:
        self._under_way -= 1
        if not future.cancelled():
            future.exception()  # looked at: one that came too late is nobody's

    def close(self) -> None:
        """Let no question begin any more, and wait a moment for those under way."""
        try:
            while True:
                waiting = self._queue.get_nowait()
                if waiting is not None:
                    waiting[0].cancel()
        except Empty:
            pass
        for _ in self._threads:
            self._queue.put(None)
        end = time.monotonic() + GRACE
        for thread in self._threads if self._begun else ():
            thread.join(max(0.0, end - time.monotonic()))
