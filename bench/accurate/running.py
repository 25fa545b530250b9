"""One way on one file, several runs: by the real questions, in parallel processes.

The runs of ``auto`` are read as a reader would: from a folder, by the estimates that answers are
made of. The seed methods are read as their papers do: a noisy count is the estimate.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count, product
from math import prod
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from accurate.files import Subject
from accurate.kept import Run
from accurate.scores import Estimates, Ints, context_scores, item_scores, total_scores
from accurate.ways import Way, request_of
from crowdtally.core.layout import EDGES, ITEMS
from crowdtally.curator.converse import Account, Released, converse
from crowdtally.curator.dataset import Dataset
from crowdtally.curator.manifest import asked_of, declared, describe, versions
from crowdtally.curator.method import charge_of
from crowdtally.curator.request.request import Request
from crowdtally.format import NoisyTable, Published, staging
from crowdtally.lab.rehearse import Rehearsal
from crowdtally.laws.base import as_counts
from crowdtally.ledger import Ledger
from crowdtally.noise.draws import SystemDraws
from crowdtally.reader.estimates.estimator import ReleaseView
from crowdtally.reader.release import Release
from crowdtally.records.duckdb import DuckDBEngine

NOISES = 4
"""Runs that share a sampling key: they count the records once, where nothing noisy decides what is
counted."""


@dataclass(frozen=True)
class Task:
    """One sampling key of one way."""

    epsilon: str
    key: int
    subject: int
    """Which records, by their place in the list."""
    way: Way
    noises: int = NOISES
    """How many runs."""


class Charged:
    """One charge in a ledger of the bench's own, from which every run of a request is paid.

    So what is released can be saved and read. All runs together have no guarantee: they are for
    comparing with the truth.
    """

    def __init__(self, request: Request, rehearsal: Rehearsal, folder: Path) -> None:
        self._rehearsal, self._request, self._folder = rehearsal, request, folder
        self._to, unit = Dataset("bench", (), chosen=True), request.records.unit
        charge = charge_of(request, rehearsal.method, versions(), by_rho=False)
        with Ledger.open(folder / "ledger.sqlite", create=True) as ledger:
            self._reservation = ledger.reserve(
                self._to.name, unit, charge, asked=asked_of(request, source=None, output=None),
                chosen=True, new_dataset=True,
            )  # fmt: skip
        self._said = declared(request, datetime.now(UTC))

    def run(self, key: int, draws: SystemDraws, name: str) -> Published:
        """One whole run, as a folder of this name."""
        places, target = count(), self._folder / name
        released = converse(
            self._rehearsal.method.ask(),
            lambda question: self._rehearsal.counted(question, next(places), key),
            Account.of(self._reservation), draws,
        )  # fmt: skip
        manifest = describe(self._said, self._request, self._to, self._reservation, released)
        with staging(target) as staged:
            metadata, _ = staged.write(manifest, released.tables)
            staged.commit()
        return Published(target, metadata)


class Bench:
    """A subject's records in an engine, beside the truth."""

    def __init__(self, subject: Subject, engine: DuckDBEngine) -> None:
        self._subject, self._engine, self._draws = subject, engine, SystemDraws()
        self._prepared = subject.held.prepared(engine)
        truth = subject.held.truth()
        self._items = truth[ITEMS.name]
        self._cells = truth[EDGES.name].reshape(len(self._items), -1) if subject.contexts else None
        values = subject.held.domain.items.values.tolist()
        self._places = {value: place for place, value in enumerate(values)}

    def runs(self, task: Task) -> list[Run]:
        """The scores of each run of a task."""
        request = request_of(task.way, self._subject, task.epsilon)
        rehearsal = Rehearsal(request, self._engine, self._prepared)
        if task.way.kind == "auto":
            return list(self._read(task, request, rehearsal))
        return [self._noisy(rehearsal.run(task.key, self._draws)) for _ in range(task.noises)]

    def _noisy(self, released: Released) -> Run:
        """The scores of noisy counts."""
        found = {table.name: _counts(table) for table in released.tables}
        items = found[ITEMS.name]
        scores = {"items": item_scores(self._items, Estimates(items, items))}
        if self._cells is not None:
            cells = found[EDGES.name].reshape(self._cells.shape)
            estimates = Estimates(cells, cells)
            scores["cells"] = context_scores(self._cells, self._items, estimates, items, None)
        return scores

    def _read(self, task: Task, request: Request, rehearsal: Rehearsal) -> Iterator[Run]:
        """The scores of what a reader is told."""
        with TemporaryDirectory(prefix="crowdtally-") as folder:
            charged = Charged(request, rehearsal, Path(folder))
            for number in range(task.noises):
                yield self._told(charged.run(task.key, self._draws, str(number)))

    def _told(self, published: Published) -> Run:
        view, release = ReleaseView(published), Release(published)
        if view.items is None:
            raise ValueError("a release of auto has an estimate of every item")
        items = view.items.believed
        estimates = Estimates(items.mean, items.median, items.low, items.high)
        total, truth = release.sum(), float(self._items.sum())
        of_total = total_scores(truth, total.estimate_low, total.estimate_high)
        scores = {"items": item_scores(self._items, estimates) | of_total}
        if self._cells is not None:
            cells, lists = self._in_contexts(view), self._lists(release)
            scores["cells"] = context_scores(self._cells, self._items, cells, items.mean, lists)
        return scores

    def _in_contexts(self, view: ReleaseView) -> Estimates:
        """(m, h) what is believed of every item in every context."""
        width, columns = prod(map(len, self._subject.held.domain.contexts)), list[Any]()
        for context in range(width):
            column = view.in_contexts(np.arange(width) == context)
            if column is None:
                raise ValueError("a release of auto has an estimate of every item in a context")
            columns.append((column.mean, column.median, column.low, column.high))
        return Estimates(*(np.stack(part, axis=1) for part in zip(*columns, strict=True)))

    def _lists(self, release: Release) -> list[Ints]:
        """The places of the ten items that are recommended in each context."""
        axes = self._subject.held.domain.contexts
        found = []
        for values in product(*(axis.values.tolist() for axis in axes)):
            where = dict(zip((axis.name for axis in axes), values, strict=True))
            rows = release.recommend(10, context=where).rows
            found.append(np.array([self._places[row.item] for row in rows], dtype=np.int64))
        return found


def _counts(table: NoisyTable) -> Any:
    return np.asarray(as_counts(table.values, table.law.unit), dtype=np.float64)


def _run(subject: Subject, task: Task) -> tuple[Task, list[Run]]:
    with DuckDBEngine(settings={"threads": "1"}) as engine:
        return task, Bench(subject, engine).runs(task)


def run_all(
    tasks: Sequence[Task], subjects: Sequence[Subject], processes: int, minutes: float
) -> Iterator[tuple[Task, list[Run]]]:
    """The runs of each task in turn, until the time is over."""
    end = time.monotonic() + 60 * minutes
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        named = [subjects[task.subject] for task in tasks if minutes]
        for made in pool.map(_run, named, tasks):
            yield made
            if time.monotonic() > end:
                pool.shutdown(cancel_futures=True)  # what is begun is finished, and not kept
                return
