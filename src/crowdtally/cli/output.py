"""What commands print: answers, questions, progress."""

from __future__ import annotations

import codecs
import io
import json
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Annotated, Any, Protocol, Self, TextIO

from crowdtally.cli import options
from crowdtally.errors import UsageError

if TYPE_CHECKING:
    from crowdtally.reader.release import Release


# What the program prints reaches whoever reads it, and never stops the work.

_ESCAPE = "crowdtally-escape"


@contextmanager
def printing() -> Iterator[None]:
    """Print in any encoding, and go on where the reader has gone, as in ``top … | head``.

    So the exit code still says how the work ended, and no release stops half-way.
    """
    codecs.register_error(_ESCAPE, _escaped)
    with ExitStack() as stack:
        for stream, redirected in ((sys.stdout, redirect_stdout), (sys.stderr, redirect_stderr)):
            ours = _tolerant(stream)
            stack.enter_context(redirected(ours))
            stack.callback(_flushed, ours)
        yield


def spelled_out(words: str) -> str:
    r"""A message in which a terminal finds nothing to obey: others' words may be quoted in it.

    >>> spelled_out("two\nlines, caf\u00e9\x1b[2J")
    'two\nlines, café\\x1b[2J'
    """
    return "".join(
        letter if letter.isprintable() or letter == "\n" else repr(letter)[1:-1] for letter in words
    )


class _Outlet(io.FileIO):
    """A file that takes what it is given, also where nobody reads it any more."""

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            return memoryview(data).nbytes


def _tolerant(stream: TextIO | None) -> TextIO:
    """The same place to print to, without failing where a reader or a letter is missing."""
    if stream is None:  # closed before the program started
        return io.StringIO()
    if not isinstance(stream, io.TextIOWrapper):
        return stream
    raw = getattr(stream.buffer, "raw", stream.buffer)
    if type(raw) is not io.FileIO:  # a console of Windows, or not a file at all
        stream.reconfigure(errors=_ESCAPE)
        return stream
    stream.flush()
    return io.TextIOWrapper(
        io.BufferedWriter(_Outlet(raw.fileno(), "w", closefd=False)),
        encoding=stream.encoding, errors=_ESCAPE,
        line_buffering=stream.line_buffering or stream.write_through,
    )  # fmt: skip


def _flushed(stream: TextIO) -> None:
    with suppress(OSError):  # a full disk was told already
        stream.flush()


def _escaped(error: UnicodeError) -> tuple[str, int]:
    """What the encoding lacks, as JSON writes it: right there, readable elsewhere."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end


# Answers on the command line: as a table, CSV or JSON on stdout, or as a file.

FORMATS = ("table", "csv", "json")


Format = Annotated[str | None, options.words(FORMATS)]


class Answered(Protocol):
    def to_csv(self) -> str: ...
    def to_json(self) -> str: ...
    def write(self, path: Path) -> Path: ...


class Showing:
    """How an answer is to be shown; what is wrong with that is told before anything is read."""

    def __init__(self, wanted: str | None, as_json: bool, output: Path | None) -> None:
        if as_json and wanted not in (None, "json"):
            raise UsageError(f"--json is --format json: leave it out, or --format {wanted}.")
        if output is not None and (wanted is not None or as_json):
            raise UsageError(
                "-o FILE writes as the file's suffix says, and prints no answer: leave out "
                "--format and --json, or -o."
            )
        if output is not None:
            from crowdtally.reader.answers.files import checked_target

            checked_target(output)
        self._format = "json" if as_json else wanted or "table"
        self._output = output

    def show(self, answer: Answered) -> None:
        """Print the answer, or write it; what is to be said beside a file goes to stderr."""
        if self._output is not None:
            written = answer.write(self._output)
            print(f"wrote {str(written)!r}", *getattr(answer, "notes", ()), sep="\n",
                  file=sys.stderr)  # fmt: skip
        elif self._format == "csv":
            text = answer.to_csv()
            print(spelled_out(text) if sys.stdout.isatty() else text, end="")
        else:
            print(answer.to_json() if self._format == "json" else answer)


def opened(release: str, labels: str | None = None) -> Release:
    """The release, with its labels; that it was withdrawn is said on stderr."""
    from crowdtally import format
    from crowdtally.reader.release import Release

    found = Release(format.load(release, options.remark(quiet=False)))
    return found if labels is None else found.with_labels(labels)


# A question to whoever sits at the terminal.


def somebody_is_there() -> bool:
    """Whether a question would be seen and could be answered."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()


def asker(before: Callable[[], None]) -> Callable[[str], bool]:
    """A function that asks on stderr, where ``before`` makes room; anything but yes is no."""

    def ask(question: str) -> bool:
        before()
        print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
        try:
            answer = sys.stdin.readline()
        except KeyboardInterrupt:
            print("\nNothing was charged.", file=sys.stderr)  # a question comes before the charge
            raise
        if not answer.endswith("\n"):
            print(file=sys.stderr)  # the input ended instead of a line
        return answer.strip().lower() in ("y", "yes")

    return ask


# What is being done, on a terminal, while it takes long.
#
# A stage that ends within a second leaves nothing. A longer one shows its name and its seconds,
# and leaves one line. Nothing is shown where stderr is not a terminal. What it shows is for the
# curator: how long something took may depend on the records.

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
