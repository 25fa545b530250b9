"""The tasks of a comparison, here or in processes; outcomes are kept at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from crowdtally.lab.apart.running import Run, Work, run_apart
from crowdtally.lab.comparing.measuring import Bench, Given
from crowdtally.lab.comparing.tasks import Outcome, Task
from crowdtally.records.duckdb import DuckDBEngine

Keep = Callable[[Outcome], None]
"""Is handed each outcome as soon as there is one."""
Progress = Callable[[int, int], None]
"""Is told how many tasks are done, and how many there are."""


def run_tasks(tasks: Sequence[Task], given: Given, jobs: int, keep: Keep, tell: Progress) -> None:
    """Run every task; whatever stops it, what was finished was kept."""
    tell(0, len(tasks))
    if min(jobs, len(tasks)) <= 1:
        _run_here(tasks, given, keep, tell)
        return
    work = Work("the comparison", opened, given, tasks, given.held.folder)

    def kept(outcomes: Sequence[Mapping[str, Any]]) -> None:
        for outcome in outcomes:
            keep(Outcome.of(outcome))

    run_apart(work, min(jobs, len(tasks)), kept, lambda done: tell(done, len(tasks)))


@contextmanager
def opened(given: Given, settings: Mapping[str, str]) -> Iterator[Run]:
    """What runs tasks in a process: the records in an engine, opened once."""
    with DuckDBEngine(settings=settings) as engine:
        bench = Bench(given, engine)
        yield lambda task: [outcome.to_dict() for outcome in bench.run(task)]


def _run_here(tasks: Sequence[Task], given: Given, keep: Keep, tell: Progress) -> None:
    if not tasks:
        return
    with DuckDBEngine() as engine:
        bench = Bench(given, engine)
        for done, task in enumerate(tasks, 1):
            for outcome in bench.run(task):
                keep(outcome)
            tell(done, len(tasks))
