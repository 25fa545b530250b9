"""Runs of the real questions on two neighbouring databases: as many as time allows.

Exact counts are made once for each sampling key and each earlier answer; noise is drawn anew in
every run, by the samplers of production.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Sequence
from contextlib import ExitStack
from dataclasses import replace

import numpy as np

from crowdtally.curator.converse import Facts, Released
from crowdtally.curator.methods.discover import DiscoverFacts
from crowdtally.curator.methods.tables import TablesFacts
from crowdtally.curator.questions import Answer, Chosen, Found
from crowdtally.curator.request.method import CHOOSE, TOTAL
from crowdtally.lab.auditing.cases import Case
from crowdtally.lab.auditing.databases import Pair, Record, on_records, seen_of, touched_cells
from crowdtally.lab.auditing.observe import Columns, Runs
from crowdtally.lab.auditing.ratios import (
    Expected,
    NoNoise,
    Tables,
    every_cell,
    expected_of,
    is_expected,
)
from crowdtally.lab.rehearse import Memo, Rehearsal, after
from crowdtally.noise.draws import Draws, SystemDraws
from crowdtally.records.duckdb import DuckDBEngine
from crowdtally.records.engine import Engine

_BATCH = 500
"""Runs that are held as releases before they become rows of a matrix."""
_SMALL_BATCH = 50


class Shared(ExitStack):
    """An engine for each database of a group of cases, and its counts. A context manager.

    An engine holds one database: a second one would take the first one's name.
    """

    def __init__(self) -> None:
        super().__init__()
        self._engines: dict[Hashable, tuple[Engine, Memo]] = {}

    def rehearsal(self, case: Case, records: tuple[Record, ...]) -> Rehearsal:
        known = (case.group or case.name, records)
        if known not in self._engines:
            self._engines[known] = self.enter_context(DuckDBEngine()), {}
        engine, memo = self._engines[known]
        return Rehearsal(on_records(case.request, records), engine, memo=memo)


class Attack:
    """A case on a pair of databases."""

    def __init__(
        self, case: Case, pair: Pair, shared: Shared, draws: Callable[[], Draws] = SystemDraws
    ) -> None:
        self.case = case
        self.pair = pair
        self._draws = draws()
        self._with = shared.rehearsal(case, pair.database(with_user=True))
        self._without = shared.rehearsal(case, pair.database(with_user=False))
        self._earlier = self._answered_before(case.part)
        self._keys = 1 if case.steered else pair.keys
        self._touched = touched_cells(case.request, pair)
        self._columns = Columns()
        self._exactly = self._exact(shared)

    def _exact(self, shared: Shared) -> tuple[Tables, Tables] | None:
        """Both databases' tables without noise; None where that cannot be known."""
        if not is_expected(self.case.request) or self._touched:
            return None
        dense = replace(self.case, request=every_cell(self.case.request))
        with_user, without = (
            shared.rehearsal(dense, self.pair.database(with_user=side)).run(0, NoNoise()).tables
            for side in (True, False)
        )
        return {one.name: one for one in with_user}, {one.name: one for one in without}

    @property
    def expected(self) -> Expected | None:
        """The columns without noise, once there was a run."""
        if not self.names or self._exactly is None:
            return None
        return expected_of(self._columns, *self._exactly)

    @property
    def choices(self) -> tuple[int, ...]:
        """The columns that show a private choice, once there was a run."""
        return self._columns.choices

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of a run, once there was one."""
        return self._columns.names

    def runs(self, number: int) -> Runs:
        starts = range(0, number, _BATCH)
        return joined([self._batch(min(_BATCH, number - start)) for start in starts])

    def runs_for(self, seconds: float, least: int) -> tuple[Runs, float]:
        """Fresh runs for so long, at least so many of each; and how long one of each takes.

        The first batch counts the records, which later ones do not, so it is not timed if there
        are others.
        """
        start = time.perf_counter()
        found = [self._batch(least)]
        counted = time.perf_counter()
        while time.perf_counter() - start < seconds:
            found.append(self._batch(_SMALL_BATCH))
        if len(found) == 1:
            return found[0], (counted - start) / least
        later = _SMALL_BATCH * (len(found) - 1)
        return joined(found), (time.perf_counter() - counted) / later

    def _batch(self, number: int) -> Runs:
        sides = [
            [self._run(rehearsal, turn % self._keys) for turn in range(number)]
            for rehearsal in (self._with, self._without)
        ]
        if not self.names:
            self._columns = Columns.seen_in(*sides)
        return Runs(*map(self._columns.matrix, sides))

    def _run(self, rehearsal: Rehearsal, seed: int) -> Released:
        if self.case.part is None:
            return seen_of(rehearsal.run(seed, self._draws), self._touched)
        answer = rehearsal.answer(self._earlier, seed, self._draws)
        return seen_of(_of_part(answer, self.case), self._touched)

    def _answered_before(self, part: str | None) -> tuple[Answer, ...]:
        """The answers before the question that pays for a part, the same for both databases.

        The question may depend on them. Given them, the part alone must keep its own share.
        """
        answers: tuple[Answer, ...] = ()
        if part is None:
            return answers
        while part not in {paid.name for paid in after(self._without.method, answers)[1].parts()}:
            answers += (self._without.answer(answers, 0, self._draws),)
        return answers


def _of_part(answer: Answer, case: Case) -> Released:
    part, facts = str(case.part), Facts()
    paid = {part, *(table.name for table in case.request.tables if table.part == part)}
    if isinstance(answer, Chosen) and part == CHOOSE:
        facts = TablesFacts(answer.bounds)
    if isinstance(answer, Found) and part == TOTAL:
        facts = DiscoverFacts(answer.other)
    return Released(tuple(table for table in answer.tables if table.name in paid), facts)


def joined(found: Sequence[Runs]) -> Runs:
    """All of these runs, one after the other."""
    return Runs(*map(np.concatenate, zip(*found, strict=True)))
