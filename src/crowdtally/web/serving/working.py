"""Questions are worked on in a few threads, each for a limited time."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

from crowdtally.patience import Patience, having
from crowdtally.web.serving.refusing import Refused

SECONDS = 2.0
"""What one question may take."""
THREADS = max(3, (os.cpu_count() or 2) + 1)
"""How many are worked on at once: more would only make each slower, and its time is limited."""
WAITING = 200
"""How many may wait for a thread."""
_Found = TypeVar("_Found")


class Work:
    """Threads that answer questions.

    A question whose time is over is refused, and what it runs is stopped. Until it has ended it
    keeps its thread, so that questions which are given up cannot take more than the threads.
    """

    def __init__(self, threads: int = THREADS, seconds: float = SECONDS) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="question")
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
        patience, begun = Patience(), asyncio.Event()
        loop, context = asyncio.get_running_loop(), copy_context()

        def work() -> _Found:
            loop.call_soon_threadsafe(begun.set)  # its time begins when a thread takes it
            with having(patience):
                return task()

        self._under_way += 1
        future = loop.run_in_executor(self._pool, context.run, work)
        future.add_done_callback(self._ended)
        try:
            await asyncio.wait_for(begun.wait(), 5 * self._seconds)
            return await asyncio.wait_for(asyncio.shield(future), self._seconds)
        except TimeoutError:
            patience.end()
            future.cancel()
            if not begun.is_set():
                raise Refused(429, "Try again in a few seconds.", retry_after="2") from None
            raise Refused(
                422,
                f"A question has {self._seconds:g} seconds, and this one was stopped. Ask for "
                "fewer rows, fewer values or a simpler condition.",
            ) from None

    def _ended(self, future: asyncio.Future[_Found]) -> None:
        self._under_way -= 1
        if not future.cancelled():
            future.exception()  # looked at: one that came too late is nobody's

    def close(self) -> None:
        """Let no question begin any more."""
        self._pool.shutdown(wait=False, cancel_futures=True)
