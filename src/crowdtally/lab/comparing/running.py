"""Tasks in parallel processes, each with its share of the machine; outcomes are kept at once."""

from __future__ import annotations

import json
import os
import pickle
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from crowdtally.curator.engine.duckdb import DuckDBEngine
from crowdtally.errors import CrowdtallyError
from crowdtally.lab.comparing.asking import cores
from crowdtally.lab.comparing.measuring import Bench, Given
from crowdtally.lab.comparing.tasks import Outcome, Task
from crowdtally.lab.comparing.worker import COMMAND

Keep = Callable[[Outcome], None]
"""Is handed each outcome as soon as there is one."""
Progress = Callable[[int, int], None]
"""Is told how many tasks are done, and how many there are."""

_PATIENCE = 5
"""Seconds that a process has to end by itself."""
_SHARE = 0.7
"""Of the memory, for all engines together."""


def run_tasks(tasks: Sequence[Task], given: Given, jobs: int, keep: Keep, tell: Progress) -> None:
    """Run every task; whatever stops it, what was finished was kept."""
    tell(0, len(tasks))
    if min(jobs, len(tasks)) <= 1:
        _run_here(tasks, given, keep, tell)
    else:
        _run_apart(tasks, given, min(jobs, len(tasks)), keep, tell)


def _run_here(tasks: Sequence[Task], given: Given, keep: Keep, tell: Progress) -> None:
    if not tasks:
        return
    with DuckDBEngine() as engine:
        bench = Bench(given, engine)
        for done, task in enumerate(tasks, 1):
            for outcome in bench.run(task):
                keep(outcome)
            tell(done, len(tasks))


def _run_apart(tasks: Sequence[Task], given: Given, jobs: int, keep: Keep, tell: Progress) -> None:
    left, done = iter(range(len(tasks))), 0
    with _workers(tasks, given, jobs) as (workers, answers):
        for worker in workers:
            worker.take(next(left, None))
        while done < len(tasks):
            worker, line = answers.get()
            if line is None and not worker.busy:
                continue  # it had nothing left to do
            if line is None:
                raise worker.lost()
            answer = json.loads(line)
            if "failed" in answer:
                raise CrowdtallyError(
                    f"{answer['failed']} What was finished before is kept: the same command goes "
                    "on from there; --jobs 1 leaves each task the whole memory."
                )
            for outcome in answer["outcomes"]:
                keep(Outcome.of(outcome))
            done += 1
            tell(done, len(tasks))
            worker.take(next(left, None))


class _Worker:
    """One process."""

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

    def listen(self, answers: queue.Queue[tuple[_Worker, str | None]]) -> None:
        """Pass on what it says, and that it is gone."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            answers.put((self, line))
        answers.put((self, None))

    def lost(self) -> CrowdtallyError:
        """What to say of a process that ended by itself."""
        code = self.process.wait()
        how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
        return CrowdtallyError(
            f"a process of the comparison ended {how}; 9 means, as a rule, that the memory was "
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
    tasks: Sequence[Task], given: Given, jobs: int
) -> Iterator[tuple[list[_Worker], queue.Queue[tuple[_Worker, str | None]]]]:
    """So many processes, which are gone afterwards, whatever happens."""
    path = given.held.folder / "given.pickle"
    path.write_bytes(pickle.dumps((given, list(tasks))))
    command = [sys.executable, "-P", "-c", COMMAND, str(path), json.dumps(_settings(jobs))]
    workers: list[_Worker] = []
    answers: queue.Queue[tuple[_Worker, str | None]] = queue.Queue()
    listeners = []
    try:
        for _ in range(jobs):
            workers.append(_Worker(command, _environment(jobs, given.held.folder)))
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


def _settings(jobs: int) -> dict[str, str]:
    """Each engine's share of the cores and of the memory."""
    settings = {"threads": str(max(1, cores() // jobs))}
    with suppress(AttributeError, ValueError, OSError):  # Windows has no sysconf
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        settings["memory_limit"] = f"{int(memory * _SHARE / jobs) >> 20}MiB"
    return settings


def _environment(jobs: int, folder: Path) -> dict[str, str]:
    """The same libraries as here, and as many threads as there are cores for them.

    What a process leaves behind when it is ended goes with the folder.
    """
    home = str(Path(__file__).parents[3])
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
