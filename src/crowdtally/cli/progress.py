"""What is being done, on a terminal, while it takes long.

A stage that ends within a second leaves nothing. A longer one shows its name and its seconds, and
leaves one line. Nothing is shown where stderr is not a terminal. What it shows is for the curator:
how long something took may depend on the records.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

_SOON = 1.0
"""Seconds that a stage may take without a word."""


class Progress:
    """The stages of one command; a context manager, which leaves the terminal as it was."""

    def __init__(self, *, shown: bool) -> None:
        self._shown = shown
        self._lock = threading.Lock()
        self._words = ""
        self._began = 0.0
        self._timer: threading.Timer | None = None
        self._live: Any = None

    @classmethod
    def on_terminal(cls, *, quiet: bool = False) -> Progress:
        """Shown where stderr is a terminal and the curator did not ask for quiet."""
        return cls(shown=not quiet and sys.stderr.isatty())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self.clear()

    def stage(self, words: str) -> None:
        """The stage before has ended, and this one begins."""
        self.clear()
        if not self._shown:
            return
        self._words, self._began = words, time.monotonic()
        self._timer = threading.Timer(_SOON, self._show)
        self._timer.daemon = True
        self._timer.start()

    def going_on(self, words: str) -> None:
        """The stage goes on under other words: how far it has come."""
        self._words = words

    def clear(self) -> None:
        """Take away what moves, before something else is printed; a long stage leaves its line."""
        if self._timer is not None:
            self._timer.cancel()
        with self._lock:
            live, self._live, self._timer = self._live, None, None
            if live is None:
                return
            live.stop()
        print(f"{self._words}: {time.monotonic() - self._began:.0f} s", file=sys.stderr)

    def between(self, say: Callable[[str], None]) -> Callable[[str], None]:
        """A function that says something where nothing moves."""

        def said(words: str) -> None:
            self.clear()
            say(words)

        return said

    def _show(self) -> None:
        """In the timer's thread, where the stage is still on."""
        from rich.console import Console
        from rich.live import Live
        from rich.spinner import Spinner

        spinner, began = Spinner("dots"), self._began

        def line() -> Spinner:
            spinner.update(text=f"{self._words} … {time.monotonic() - began:.0f} s")
            return spinner

        # What others print goes its own way: nothing is redirected, and all of it is taken away.
        live = Live(
            get_renderable=line, console=Console(file=sys.stderr), transient=True,
            refresh_per_second=8, redirect_stdout=False, redirect_stderr=False,
        )  # fmt: skip
        with self._lock:
            if self._timer is threading.current_thread():
                live.start()
                self._live = live
