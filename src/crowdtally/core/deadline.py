"""How long a question may take: whoever waits can give up, and what runs for it is stopped.

A server hands each question a :class:`Patience` and ends it when its time is over. What takes long
enters itself with :func:`stoppable`, and what goes in steps asks :func:`go_on` between them.
Without a patience, as on the command line, both do nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from crowdtally.errors import UsageError


class TooMuchError(UsageError):
    """The question takes longer, or more memory, than whoever answers it allows."""


class Patience:
    """The time that one question has; another thread ends it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[Callable[[], object]] = set()
        self._over = False

    def end(self) -> None:
        """Stop what runs, and let nothing begin."""
        with self._lock:
            self._over = True
            running = tuple(self._running)
        for stop in running:
            stop()

    def go_on(self) -> None:
        """Raise where the time is over."""
        if self._over:
            raise TooMuchError("the question takes too long: ask for less at once.")

    @contextmanager
    def running(self, stop: Callable[[], object]) -> Iterator[None]:
        """While something runs that ``stop`` stops."""
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
    """Answer a question that has so much patience."""
    before = _patience.set(patience)
    try:
        yield
    finally:
        _patience.reset(before)


@contextmanager
def stoppable(stop: Callable[[], object]) -> Iterator[None]:
    """Run something that ``stop``, called by another thread, stops."""
    patience = _patience.get()
    if patience is None:
        yield
        return
    with patience.running(stop):
        yield


def go_on() -> None:
    """Raise :class:`TooMuchError` where the time of the question is over."""
    patience = _patience.get()
    if patience is not None:
        patience.go_on()
