"""Runs tasks: the real steps of a release, or a baseline, each run beside the truth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdtally.curator.engine.duckdb import DuckDBEngine
from crowdtally.curator.engine.prepare import Prepared
from crowdtally.curator.steps.step import Reading
from crowdtally.lab.baselines import BASELINES
from crowdtally.lab.comparing.held import Held
from crowdtally.lab.comparing.planning import baseline_of, request_of
from crowdtally.lab.comparing.tasks import Outcome, Row, Task, Unit
from crowdtally.lab.estimates import estimate
from crowdtally.lab.metrics import Compared, measured
from crowdtally.lab.rehearsing import Halfway, Rehearsal
from crowdtally.noise.draws import Draws, SystemDraws
from crowdtally.values.counts import Counts
from crowdtally.values.epsilon import Epsilon
from crowdtally.values.table_kinds import EDGES

KS = (1, 3, 10, 30, 100)
"""The lengths of lists."""

Estimates = Mapping[str, NDArray[np.float64]]


@dataclass(frozen=True)
class Given:
    """All that a process needs to run tasks."""

    held: Held
    """The records."""
    options: Mapping[str, Any]
    """What methods are given beside their names and bounds."""
    seed: int
    """Where the keys of this comparison begin."""


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
            if counted is None or len(rehearsal.steps) > 1:
                counted = rehearsal.halfway(self._seed(unit), self._draws)
            noises = []
            for _ in range(task.noises):
                released = rehearsal.finish(counted, self._draws)
                tables = {t.name: t for t in released.tables if t.name in self._truth}
                found = {name: estimate(table) for name, table in tables.items()}
                noises.append(self._measured(found, _kept(counted, request.tables)))
            yield Outcome(unit, tuple(noises))

    def _baseline(self, task: Task) -> Iterator[Outcome]:
        first, *_ = task.units
        method = baseline_of(first.setting, self._given.held)
        counted = method.count(Reading(self._engine, self._prepared), seed=self._seed(first))
        for unit in task.units:
            epsilon = Epsilon.of(unit.setting.epsilon)
            runs = (method.release(counted, epsilon, self._draws) for _ in range(task.noises))
            yield Outcome(unit, tuple(self._measured(found, {}) for found in runs))

    def _seed(self, unit: Unit) -> int:
        return self._given.seed + unit.key

    def _measured(self, found: Estimates, kept: Mapping[str, float]) -> tuple[Row, ...]:
        rows: list[Row] = []
        for name, truth in self._truth.items():
            contexts = self._given.held.domain.contexts_size if name == EDGES.name else 1
            compared = Compared(truth, found[name], contexts, kept.get(name))
            rows += [(name, metric, k, value) for metric, k, value in measured(compared, KS)]
        return tuple(rows)


def _kept(halfway: Halfway, tables: Any) -> dict[str, float]:
    """The total of each table's bounded counts."""
    _, counts = halfway.counted.found
    return {table.name: _total(one) for table, one in zip(tables, counts, strict=False)}


def _total(counts: Counts) -> float:
    return float(int(counts.values.sum()) * counts.unit)
