"""One way on one file, several runs: by the real steps, in parallel processes."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Any

import numpy as np

from accurate.files import Subject
from accurate.kept import Scores
from accurate.scores import Floats, context_scores, item_scores
from accurate.ways import Way, request_of
from crowdtally.core.layout import EDGES, ITEMS
from crowdtally.core.privacy import Epsilon
from crowdtally.curator.converse import Released
from crowdtally.curator.counting.count import Reading
from crowdtally.curator.request.request import Request, make_request
from crowdtally.lab.baselines import BASELINES
from crowdtally.lab.estimates import estimate, estimate_auto
from crowdtally.lab.rehearse import Halfway, Rehearsal
from crowdtally.noise.draws import SystemDraws
from crowdtally.records.duckdb import DuckDBEngine
from crowdtally.records.prepare import Prepared

Estimates = Mapping[str, tuple[Floats, Floats]]
"""By table: the mean and the median."""


@dataclass(frozen=True)
class Task:
    """One sampling key of one way."""

    subject: int
    """Which records, by their place in the list."""
    way: Way
    """What is run."""
    epsilons: tuple[str, ...]
    """At each of these."""
    key: int
    """Which key."""
    noises: int
    """How many runs with it."""


class Bench:
    """A subject's records in an engine, beside the truth."""

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self._opened = ExitStack()
        self._engine = self._opened.enter_context(DuckDBEngine(settings={"threads": "1"}))
        self._prepared: Prepared = subject.held.prepared(self._engine)
        self._truth = subject.held.truth()
        self._draws = SystemDraws()

    def close(self) -> None:
        """Let go of the records."""
        self._opened.close()

    def run(self, task: Task) -> dict[str, list[Scores]]:
        """The scores of each run, by ε."""
        found: dict[str, list[Scores]] = {}
        counted: Any = None
        for epsilon in task.epsilons:
            if counted is None or not task.way.counts_once:
                counted = self._counted(task, epsilon)
            runs = self._runs(task, epsilon, counted)
            found[epsilon] = [self._scores(one) for one in runs]
        return found

    def _counted(self, task: Task, epsilon: str) -> Any:
        if task.way.method in BASELINES:
            reading = Reading(self._engine, self._prepared)
            return self._baseline(task.way).count(reading, task.key)
        if task.way.is_auto:
            return None
        return self._rehearsal(task, epsilon).halfway(task.key, self._draws)

    def _runs(self, task: Task, epsilon: str, counted: Any) -> Iterator[Estimates]:
        if task.way.method in BASELINES:
            method = self._baseline(task.way)
            for _ in range(task.noises):
                made = method.release(counted, Epsilon.of(epsilon), self._draws)
                yield {name: (values, values) for name, values in made.items()}
            return
        rehearsal = self._rehearsal(task, epsilon)
        for _ in range(task.noises):
            if task.way.is_auto:
                released = rehearsal.run(task.key, self._draws)
                yield _estimated(rehearsal.request, released)
            else:
                yield self._finished(rehearsal, counted)

    def _finished(self, rehearsal: Rehearsal, counted: Halfway) -> Estimates:
        released = rehearsal.finish(counted, self._draws)
        named = {table.name: table for table in released.tables if table.name in self._truth}
        values = {name: estimate(table) for name, table in named.items()}
        return {name: (one, one) for name, one in values.items()}

    def _rehearsal(self, task: Task, epsilon: str) -> Rehearsal:
        request = request_of(task.way, self._subject, epsilon)
        return Rehearsal(request, self._engine, self._prepared)

    def _baseline(self, way: Way) -> Any:
        held = self._subject.held
        limit = way.bound or held.largest
        request = make_request(
            held.records, held.domain, epsilon=1, count=held.what, max_records=limit
        )
        return BASELINES.load(way.method).of(request.subject, limit=limit)

    def _scores(self, found: Estimates) -> Scores:
        items, (mean, median) = self._truth[ITEMS.name], found[ITEMS.name]
        scores = {ITEMS.name: item_scores(items, mean, median)}
        if EDGES.name in self._truth:
            shape = (len(items), -1)
            truth = self._truth[EDGES.name].reshape(shape)
            edges = np.asarray(found[EDGES.name][0]).reshape(shape)
            scores[EDGES.name] = context_scores(truth, items, edges, mean)
        return scores


def _estimated(request: Request, released: Released) -> Estimates:
    found = estimate_auto(request, released)
    tables = {ITEMS.name: (found.mean, found.median)}
    edges = found.edges
    if edges is not None:
        tables[EDGES.name] = (edges, edges)
    return tables


_benches: dict[int, Bench] = {}
_subjects: Sequence[Subject] = ()


def _start(subjects: Sequence[Subject]) -> None:
    global _subjects
    _subjects = subjects


def _run(task: Task) -> tuple[Task, dict[str, list[Scores]], float]:
    start = time.process_time()
    if task.subject not in _benches:
        for bench in _benches.values():
            bench.close()
        _benches.clear()  # one file's records at a time
        _benches[task.subject] = Bench(_subjects[task.subject])
    return task, _benches[task.subject].run(task), time.process_time() - start


def run_all(
    tasks: Iterable[Task], subjects: Sequence[Subject], processes: int, deadline: float
) -> Iterator[tuple[Task, dict[str, list[Scores]], float]]:
    """Every task that is begun before the deadline, as soon as it is done."""
    if processes == 1:
        _start(subjects)
        for task in tasks:
            if time.monotonic() < deadline:
                yield _run(task)
        return
    context = get_context("spawn")
    pool = ProcessPoolExecutor(processes, context, _start, (subjects,))
    with pool:
        waiting: set[Future[Any]] = set()
        left = iter(tasks)
        while True:
            while len(waiting) < processes and time.monotonic() < deadline:
                following = next(left, None)
                if following is None:
                    break
                waiting.add(pool.submit(_run, following))
            if not waiting:
                return
            done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            for future in done:
                yield future.result()
