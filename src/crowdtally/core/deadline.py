"""Deadlines: a query is cancelled when its time is over or its client stops waiting.

A server gives each query a :class:`Patience` and ends it. Long calls run within :func:`stoppable`,
and loops call :func:`go_on` between steps. Without a patience, as on the command line, both do
nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from crowdtally.errors import UsageError


class TooMuchError(UsageError):
    """The query takes longer, or more memory, than the server allows."""


class Patience:
    """The time of one query; another thread ends it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[Callable[[], object]] = set()
        self._over = False

    def end(self) -> None:
        with self._lock:
            self._over = True
            running = tuple(self._running)
        for stop in running:
            stop()

    def go_on(self) -> None:
        if self._over:
            raise TooMuchError("the question takes too long: ask for less at once.")

    @contextmanager
    def running(self, stop: Callable[[], object]) -> Iterator[None]:
        with self._lock:
            self.go_on()
            self._running.add(stop)
        try:
            yield
        finally:
            with self._lock:
                self._running.discard(stop)


_patience: ContextVar[Patience | None] = ContextVar("patience", default=None)


@contextmanager
def having(patience: Patience) -> Iterator[None]:
    before = _patience.set(patience)
    try:
        yield
    finally:
        _patience.reset(before)


@contextmanager
def stoppable(stop: Callable[[], object]) -> Iterator[None]:
    """Run something that another thread can stop by calling ``stop``."""
    patience = _patience.get()
    if patience is None:
        yield
        return
    with patience.running(stop):
        yield


def go_on() -> None:
    """Raise :class:`TooMuchError` if the time of the query is over."""
    patience = _patience.get()
    if patience is not None:
        patience.go_on()
