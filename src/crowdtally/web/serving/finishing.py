"""What must be finished once it is begun: one thread, one thing after the other, no limit of time.

A browser that goes away, or a server that is asked to stop, leaves half of nothing behind.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from typing import Any, TypeVar

from crowdtally.web.serving.refusing import Refused

WAITING = 20
"""How many may wait for their turn."""
_Found = TypeVar("_Found")


class Finishing:
    """A thread that does things one after the other, each to its end."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="deed")
        self._under_way = 0

    @property
    def is_busy(self) -> bool:
        """Whether something is being done."""
        return self._under_way > 0

    async def run(self, task: Callable[[], _Found]) -> _Found:
        """What the task returns. Whoever stops waiting for it does not stop it.

        Raises:
            Refused: too many are waiting.
        """
        if self._under_way > WAITING:
            raise Refused(429, "Try again in a few seconds.", retry_after="2")
        self._under_way += 1
        future = self._pool.submit(copy_context().run, task)
        future.add_done_callback(self._ended)
        return await asyncio.wrap_future(future)

    def _ended(self, future: Future[Any]) -> None:
        self._under_way -= 1

    def close(self) -> None:
        """Let nothing more begin, and wait for what has begun."""
        self._pool.shutdown(wait=True, cancel_futures=True)
