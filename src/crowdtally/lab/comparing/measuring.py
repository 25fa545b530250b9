"""Runs tasks: the real steps of a release, or a baseline, each run beside the truth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdtally.core.layout import EDGES
from crowdtally.core.privacy import Epsilon
from crowdtally.curator.bounding.scaling import Auto
from crowdtally.curator.converse import Reading
from crowdtally.format import NoisyTable
from crowdtally.lab.auto_estimates import estimate_auto
from crowdtally.lab.baselines import BASELINES
from crowdtally.lab.comparing.held import Held
from crowdtally.lab.comparing.planning import baseline_of, request_of
from crowdtally.lab.comparing.tasks import Outcome, Row, Task, Unit
from crowdtally.lab.estimates import estimate, range_answers
from crowdtally.lab.metrics import Compared, measured
from crowdtally.lab.metrics.queries import ranges
from crowdtally.lab.rehearsing import Halfway, Rehearsal
from crowdtally.noise.draws import Draws, SystemDraws
from crowdtally.records.duckdb import DuckDBEngine
from crowdtally.records.prepare import Prepared

KS = (1, 3, 10, 30, 100)
"""The lengths of lists, where nothing else is said."""


@dataclass(frozen=True, eq=False)
class _Found:
    """What a reader makes of one table of one run."""

    estimate: NDArray[np.float64]
    """Of each cell."""
    answers: NDArray[np.float64] | None = None
    """For each range of the workload, where that is not the sum of its cells."""

    @classmethod
    def of(cls, table: NoisyTable) -> _Found:
        found = estimate(table)
        return cls(found, range_answers(table, *ranges(len(found))))


@dataclass(frozen=True)
class Given:
    """All that a process needs to run tasks."""

    held: Held
    """The records."""
    options: Mapping[str, Any]
    """What methods are given beside their names and bounds."""
    seed: int
    """Where the keys of this comparison begin."""
    ks: tuple[int, ...] = KS
    """The lengths of lists that are measured."""


class Bench:
    """The records in an engine, beside the truth."""

    def __init__(self, given: Given, engine: DuckDBEngine, draws: Draws | None = None) -> None:
        self._given = given
        self._engine = engine
        self._draws = SystemDraws() if draws is None else draws
        self._prepared: Prepared = given.held.prepared(engine)

    @cached_property
    def _truth(self) -> dict[str, NDArray[np.int64]]:
        return self._given.held.truth()

    def run(self, task: Task) -> list[Outcome]:
        """Every unit of the task; what does not depend on ε is counted once."""
        name = task.units[0].setting.method
        runs = self._baseline(task) if name in BASELINES else self._method(task)
        return list(runs)

    def _method(self, task: Task) -> Iterator[Outcome]:
        counted: Halfway | None = None
        for unit in task.units:
            request = request_of(unit.setting, self._given.held, self._given.options)
            rehearsal = Rehearsal(request, self._engine, self._prepared)
            if isinstance(request.method.rule, Auto):
                yield Outcome(unit, tuple(self._auto(rehearsal, unit, task.noises)))
                # The rows of a key are as many as the records: those of several would pile up.
                self._engine.forget()
                continue
            if counted is None or len(rehearsal.steps) > 1:
                counted = rehearsal.halfway(self._seed(unit), self._draws)
            noises = []
            for _ in range(task.noises):
                released = rehearsal.finish(counted, self._draws)
                tables = [table for table in released.tables if table.name in self._truth]
                found = {table.name: _Found.of(table) for table in tables}
                noises.append(self._measured(found, rehearsal.kept(counted)))
            yield Outcome(unit, tuple(noises))

    def _auto(self, rehearsal: Rehearsal, unit: Unit, noises: int) -> Iterator[tuple[Row, ...]]:
        """Whole runs: what is counted depends on all that was released before."""
        for _ in range(noises):
            released = rehearsal.run(self._seed(unit), self._draws)
            made = estimate_auto(rehearsal.request, released).by_table()
            yield self._measured({name: _Found(one) for name, one in made.items()}, {})

    def _baseline(self, task: Task) -> Iterator[Outcome]:
        first, *_ = task.units
        method = baseline_of(first.setting, self._given.held)
        counted = method.count(Reading(self._engine, self._prepared), seed=self._seed(first))
        for unit in task.units:
            epsilon = Epsilon.of(unit.setting.epsilon)
            runs = (method.release(counted, epsilon, self._draws) for _ in range(task.noises))
            found = ({name: _Found(one) for name, one in run.items()} for run in runs)
            yield Outcome(unit, tuple(self._measured(one, {}) for one in found))

    def _seed(self, unit: Unit) -> int:
        return self._given.seed + unit.key

    def _measured(self, found: Mapping[str, _Found], kept: Mapping[str, float]) -> tuple[Row, ...]:
        rows: list[Row] = []
        ks = self._given.ks
        for name, truth in self._truth.items():
            contexts = self._given.held.domain.contexts_size if name == EDGES.name else 1
            one = found[name]
            compared = Compared(truth, one.estimate, contexts, kept.get(name), one.answers)
            rows += [(name, metric, k, value) for metric, k, value in measured(compared, ks)]
        return tuple(rows)
