"""The program at a real (pseudo-)terminal: what it shows, and what is typed."""

from __future__ import annotations

import os
import pty
import select
import signal
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from kit.warm import start


@dataclass(frozen=True)
class Session:
    """What was seen until the program ended."""

    code: int
    """Its exit code."""
    shown: str
    """All that came to the terminal, control codes included."""
    out: str
    """What went to stdout, where that was not the terminal."""


def at_terminal(
    *arguments: str,
    folder: Path,
    answers: dict[str, str] | None = None,
    script: str | None = None,
    env: dict[str, str] | None = None,
    seconds: float = 300,
) -> Session:
    """Run with stdin and stderr at a terminal; type each answer once its words have been shown.

    A ``script`` runs in the program's place.
    """
    ours, theirs = pty.openpty()
    waiting = dict(answers or {})
    shown = b""
    with tempfile.TemporaryFile("w+b") as out:
        running = start(
            arguments, folder, (theirs, out.fileno(), theirs),
            {**os.environ, "TERM": "xterm", "COLUMNS": "80", **(env or {})}, script=script,
        )  # fmt: skip
        os.close(theirs)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            ready, _, _ = select.select([ours], [], [], 0.1)
            try:
                piece = os.read(ours, 65536) if ready else b""
            except OSError:  # the other end was closed
                break
            shown += piece
            for words in [words for words in waiting if words.encode() in shown]:
                os.write(ours, waiting.pop(words).encode())
            if ready and not piece:
                break
        else:
            os.kill(running.pid, signal.SIGKILL)
        code = running.wait()
        out.seek(0)
        written = out.read().decode()
    os.close(ours)
    return Session(code, shown.decode(errors="replace"), written)
