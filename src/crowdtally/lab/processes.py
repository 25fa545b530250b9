"""Tasks in parallel processes; each outcome is handed on at once.

A process runs tasks: one for each line that it reads, with its answer on a line of its own. It is
a program of its own, so that nothing of the script or notebook that asked for the work is run
again in it.
"""

from __future__ import annotations

import json
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crowdtally.errors import CrowdtallyError

_SHARE = 0.7
"""Of the memory, for all engines together."""
_WATCH = 1.0
"""Seconds between two looks at whether the parent process is still there."""
_PATIENCE = 5
"""Seconds that a process has to end by itself."""
COMMAND = "from crowdtally.lab.processes import main; main()"

Run = Callable[[Any], Any]
"""A task → its outcome, as JSON has it."""
Opened = Callable[[Any, Mapping[str, str]], AbstractContextManager[Run]]
"""(what all tasks share, settings of an engine) → what runs them: a function of a module."""


def cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def engine_settings(jobs: int) -> dict[str, str]:
    """Each engine's share of the cores and of the memory."""
    settings = {"threads": str(max(1, cores() // jobs))}
    with suppress(AttributeError, ValueError, OSError):  # Windows has no sysconf
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        settings["memory_limit"] = f"{int(memory * _SHARE / jobs) >> 20}MiB"
    return settings


def environment(jobs: int, folder: Path) -> dict[str, str]:
    """The same libraries as here, a share of the cores, and temporary files in the folder."""
    home = str(Path(__file__).parents[2])
    paths = [home, *(path for path in sys.path if path and path != home)]
    threads = str(max(1, cores() // jobs))
    return {
        **os.environ,
        "TMPDIR": str(folder),
        "TEMP": str(folder),
        "PYTHONPATH": os.pathsep.join(paths),
        "OMP_NUM_THREADS": threads,
        "OPENBLAS_NUM_THREADS": threads,
    }


def main() -> None:
    """Run tasks until the parent process closes the pipe, or is gone."""
    # An interruption at the terminal ends the parent, which ends its processes itself.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=[os.getppid()], daemon=True).start()
    # A pickle of our own, in a private folder.
    opened, given, tasks = pickle.loads(Path(sys.argv[1]).read_bytes())
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a library prints is no answer
    with opened(given, json.loads(sys.argv[2])) as run:
        for line in sys.stdin:
            print(json.dumps(answer(run, tasks[int(line)])), file=answers, flush=True)


def _end_with(parent: int) -> None:
    """End once the parent is gone: a task may take minutes, and nobody waits for it."""
    while os.getppid() == parent:
        time.sleep(_WATCH)
    os._exit(1)


def answer(run: Run, task: Any) -> Mapping[str, Any]:
    """The outcome of a task, or why it failed."""
    try:
        return {"done": run(task)}
    except CrowdtallyError as error:
        return {"failed": str(error)}
    except Exception as error:  # its own words may quote a record
        return {"failed": f"an unforeseen failure ({type(error).__name__})."}


@dataclass(frozen=True)
class Work:
    what: str
    opened: Opened
    given: Any
    """What all tasks share; it is pickled, as the tasks are."""
    tasks: Sequence[Any]
    folder: Path
    """A private folder, for the input of the processes and what they leave behind."""


def run_apart(
    work: Work, jobs: int, keep: Callable[[Any], None], tell: Callable[[int], None]
) -> None:
    """Run every task in so many processes.

    ``keep`` gets each outcome as soon as it is there, ``tell`` the number of finished tasks.
    """
    left, done = iter(range(len(work.tasks))), 0
    with _workers(work, jobs) as (workers, answers):
        for worker in workers:
            worker.take(next(left, None))
        while done < len(work.tasks):
            worker, line = answers.get()
            if line is None and not worker.busy:
                continue  # it had nothing left to do
            if line is None:
                raise worker.lost(work.what)
            outcome = json.loads(line)
            if "failed" in outcome:
                raise CrowdtallyError(
                    f"{outcome['failed']} What was finished before is kept: the same command goes "
                    "on from there; --jobs 1 leaves each task the whole memory."
                )
            keep(outcome["done"])
            done += 1
            tell(done)
            worker.take(next(left, None))


class Worker:
    def __init__(self, command: Sequence[str], environment: dict[str, str], answers: Answers):
        self.busy = False
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            env=environment, text=True, encoding="utf-8",
        )  # fmt: skip
        self.listener = threading.Thread(target=self._listen, args=[answers], daemon=True)

    def take(self, task: int | None) -> None:
        """Hand it a task; None where there are no more."""
        pipe = self.process.stdin
        assert pipe is not None
        self.busy = task is not None
        with suppress(BrokenPipeError):  # that a process is gone, its listener notices
            if task is None:
                pipe.close()
            else:
                print(task, file=pipe, flush=True)

    def _listen(self, answers: Answers) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            answers.put((self, line))
        answers.put((self, None))

    def lost(self, what: str) -> CrowdtallyError:
        """The error for a process that ended by itself."""
        code = self.process.wait()
        how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
        return CrowdtallyError(
            f"a process of {what} ended {how}; 9 means, as a rule, that the memory was "
            "full. What was finished before is kept: the same command goes on from there; "
            "--jobs 1 needs the least memory."
        )

    def end(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        with suppress(OSError):
            self.process.stdin.close()
        self.process.terminate()
        try:
            self.process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.listener.join(_PATIENCE)
        self.process.stdout.close()


Answers = queue.Queue[tuple[Worker, str | None]]
"""Lines of all workers; None for one that is gone."""


@contextmanager
def _workers(work: Work, jobs: int) -> Iterator[tuple[list[Worker], Answers]]:
    """So many processes, which are gone afterwards, whatever happens."""
    path = work.folder / "given.pickle"
    path.write_bytes(pickle.dumps((work.opened, work.given, list(work.tasks))))
    command = [sys.executable, "-P", "-c", COMMAND, str(path), json.dumps(engine_settings(jobs))]
    workers: list[Worker] = []
    answers = Answers()
    try:
        for _ in range(jobs):
            workers.append(Worker(command, environment(jobs, work.folder), answers))
            workers[-1].listener.start()
        yield workers, answers
    finally:
        for worker in workers:
            worker.end()
