"""Tasks in processes."""

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

# What the machine has, and each process's share of it.

_SHARE = 0.7
"""Of the memory, for all engines together."""


def cores() -> int:
    """How many cores this process may use."""
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
    """The same libraries as here, and as many threads as there are cores for them.

    What a process leaves behind when it is ended goes with the folder.
    """
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


# A process that runs tasks: one on each line that it reads, its answer on a line of its own.
#
# It is started as a program of its own, so that nothing of the script or notebook that asked for
# the work is run again in it.

_WATCH = 1.0
"""Seconds between two looks at whoever asked."""
COMMAND = "from crowdtally.lab.processes import main; main()"


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


# Tasks in parallel processes; what each came to is handed on at once.

Run = Callable[[Any], Any]
"""A task → what it came to, as JSON can say it."""
Opened = Callable[[Any, Mapping[str, str]], AbstractContextManager[Run]]
"""(what all tasks share, settings of an engine) → what runs them: a function of a module."""

_PATIENCE = 5
"""Seconds that a process has to end by itself."""


@dataclass(frozen=True)
class Work:
    """Tasks, and what runs them."""

    what: str
    """What the processes are of, for messages: ``the comparison``."""
    opened: Opened
    """Makes ready what runs tasks, in each process once."""
    given: Any
    """What all of them share."""
    tasks: Sequence[Any]
    """Each as pickle can say it."""
    folder: Path
    """A private folder, for what the processes are given and what they leave."""


def run_apart(
    work: Work, jobs: int, keep: Callable[[Any], None], tell: Callable[[int], None]
) -> None:
    """Run every task in so many processes.

    Args:
        work: what is run.
        jobs: how many processes.
        keep: is handed what each task came to, as soon as it is there.
        tell: is told how many are done.
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
            keep(_done(json.loads(line)))
            done += 1
            tell(done)
            worker.take(next(left, None))


def _done(answer: Mapping[str, Any]) -> Any:
    if "failed" in answer:
        raise CrowdtallyError(
            f"{answer['failed']} What was finished before is kept: the same command goes on from "
            "there; --jobs 1 leaves each task the whole memory."
        )
    return answer["done"]


class Worker:
    def __init__(self, command: Sequence[str], environment: dict[str, str]) -> None:
        self.busy = False
        """Whether it has a task."""
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            env=environment, text=True, encoding="utf-8",
        )  # fmt: skip

    def take(self, task: int | None) -> None:
        """Hand it a task; None where there are no more."""
        pipe = self.process.stdin
        assert pipe is not None
        self.busy = task is not None
        with suppress(BrokenPipeError):  # a process that is gone is noticed where it answers
            if task is None:
                pipe.close()
            else:
                print(task, file=pipe, flush=True)

    def listen(self, answers: queue.Queue[tuple[Worker, str | None]]) -> None:
        """Pass on what it says, and that it is gone."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            answers.put((self, line))
        answers.put((self, None))

    def lost(self, what: str) -> CrowdtallyError:
        """What to say of a process that ended by itself."""
        code = self.process.wait()
        how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
        return CrowdtallyError(
            f"a process of {what} ended {how}; 9 means, as a rule, that the memory was "
            "full. What was finished before is kept: the same command goes on from there; "
            "--jobs 1 needs the least memory."
        )

    def end(self) -> None:
        """See that it is gone."""
        with suppress(OSError):
            self.process.stdin.close()  # type: ignore[union-attr]
        self.process.terminate()
        try:
            self.process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


@contextmanager
def _workers(
    work: Work, jobs: int
) -> Iterator[tuple[list[Worker], queue.Queue[tuple[Worker, str | None]]]]:
    """So many processes, which are gone afterwards, whatever happens."""
    path = work.folder / "given.pickle"
    path.write_bytes(pickle.dumps((work.opened, work.given, list(work.tasks))))
    command = [sys.executable, "-P", "-c", COMMAND, str(path), json.dumps(engine_settings(jobs))]
    workers: list[Worker] = []
    answers: queue.Queue[tuple[Worker, str | None]] = queue.Queue()
    listeners = []
    try:
        for _ in range(jobs):
            workers.append(Worker(command, environment(jobs, work.folder)))
            listeners.append(threading.Thread(target=workers[-1].listen, args=[answers]))
            listeners[-1].daemon = True
            listeners[-1].start()
        yield workers, answers
    finally:
        for worker in workers:
            worker.end()
        for worker, listener in zip(workers, listeners, strict=False):
            listener.join(_PATIENCE)
            if worker.process.stdout is not None:
                worker.process.stdout.close()
