"""A process that runs tasks: one on each line that it reads, its answer on a line of its own.

It is started as a program of its own, so that nothing of the script or notebook that asked for the
work is run again in it.
"""

from __future__ import annotations

import json
import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from crowdtally.errors import CrowdtallyError

_WATCH = 1.0
"""Seconds between two looks at whoever asked."""
COMMAND = "from crowdtally.lab.apart.worker import main; main()"


def main() -> None:
    """Run tasks until there are no more: until whoever asked closes the pipe, or is gone."""
    # Whoever is at the terminal interrupts the work, which ends its processes itself.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=[os.getppid()], daemon=True).start()
    # A pickle of our own, in a folder that nobody else may write to.
    opened, given, tasks = pickle.loads(Path(sys.argv[1]).read_bytes())
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a library prints is no answer
    with opened(given, json.loads(sys.argv[2])) as run:
        for line in sys.stdin:
            print(json.dumps(answer(run, tasks[int(line)])), file=answers, flush=True)


def _end_with(parent: int) -> None:
    """End where whoever asked is gone: a task may take minutes, and nobody waits for it."""
    while os.getppid() == parent:
        time.sleep(_WATCH)
    os._exit(1)


def answer(run: Callable[[Any], Any], task: Any) -> Mapping[str, Any]:
    """What a task came to, or why it failed."""
    try:
        return {"done": run(task)}
    except CrowdtallyError as error:
        return {"failed": str(error)}
    except Exception as error:  # its own words may quote a record
        return {"failed": f"an unforeseen failure ({type(error).__name__})."}
