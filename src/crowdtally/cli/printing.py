"""What the program prints reaches whoever reads it, and never stops the work."""

from __future__ import annotations

import codecs
import io
import json
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout, suppress
from typing import Any, TextIO

_ESCAPE = "crowdtally-escape"


@contextmanager
def printing() -> Iterator[None]:
    """Print in any encoding, and go on where the reader has gone, as in ``top … | head``.

    The exit code then still says how the work ended, and no release stops half-way because nobody
    reads what it tells.
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
