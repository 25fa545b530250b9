"""A process that runs tasks: one on each line that it reads, its outcomes on a line of the answer.

It is started as a program of its own, so that nothing of the script or notebook that asked for the
comparison is run again in it.
"""

from __future__ import annotations

import json
import os
import pickle
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from crowdtally.curator.engine.duckdb import DuckDBEngine
from crowdtally.errors import CrowdtallyError
from crowdtally.lab.comparing.measuring import Bench

COMMAND = "from crowdtally.lab.comparing.worker import main; main()"


def main() -> None:
    """Run tasks until there are no more: until whoever asked closes the pipe, or is gone."""
    # Whoever is at the terminal interrupts the comparison, which ends its processes itself.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    given_path, settings = sys.argv[1], json.loads(sys.argv[2])
    # A pickle of our own, in a folder that nobody else may write to.
    given, tasks = pickle.loads(Path(given_path).read_bytes())
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a library prints is no answer
    with DuckDBEngine(settings=settings) as engine:
        bench = Bench(given, engine)
        for line in sys.stdin:
            print(json.dumps(_answer(bench, tasks[int(line)])), file=answers, flush=True)


def _answer(bench: Bench, task: Any) -> Mapping[str, Any]:
    try:
        return {"outcomes": [outcome.to_dict() for outcome in bench.run(task)]}
    except CrowdtallyError as error:
        return {"failed": str(error)}
    except Exception as error:  # its own words may quote a record
        return {"failed": f"an unforeseen failure ({type(error).__name__})."}
