"""The program at a real (pseudo-)terminal: what it shows, and what is typed."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

PROGRAM = [sys.executable, "-m", "crowdtally"]


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
    program: list[str] | None = None,
    env: dict[str, str] | None = None,
    seconds: float = 60,
) -> Session:
    """Run with stdin and stderr at a terminal; type each answer once its words have been shown."""
    ours, theirs = pty.openpty()
    waiting = dict(answers or {})
    shown = b""
    with subprocess.Popen(
        [*(program or PROGRAM), *arguments], stdin=theirs, stderr=theirs, stdout=subprocess.PIPE,
        cwd=folder, env={**os.environ, "TERM": "xterm", "COLUMNS": "80", **(env or {})},
        start_new_session=True,
    ) as running:  # fmt: skip
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
            running.kill()
        out = running.communicate(timeout=10)[0].decode()
    os.close(ours)
    return Session(running.returncode, shown.decode(errors="replace"), out)
