"""Converse with remembered counts; the truth."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdtally.core.counts import Counts, Memberships, What
from crowdtally.core.layout import KINDS
from crowdtally.core.privacy import Price
from crowdtally.curator.bounding.sampling import HPA
from crowdtally.curator.bounding.scaling import Auto
from crowdtally.curator.converse import Reading, Released, Step
from crowdtally.curator.counting.bounded import Read, cells_of, count_rows, fold
from crowdtally.curator.counting.bounded import count as count_records
from crowdtally.curator.counting.rows import Visits
from crowdtally.curator.counting.users import record_sums
from crowdtally.curator.method import steps_of
from crowdtally.curator.request.request import Request
from crowdtally.curator.steps.auto.design import Design
from crowdtally.curator.steps.auto.planned import Passed, Planned, PlannedStep, Query, Question
from crowdtally.curator.table import Measured, Table
from crowdtally.errors import UsageError
from crowdtally.noise.draws import Draws
from crowdtally.records.engine import Engine, Kept, Rows, countable
from crowdtally.records.prepare import Prepared, prepare

# Steps of ``auto`` whose counts are remembered, so that thousands of runs ask a question once.
#
# What a step counts is a function of the users' rows and of its question: which items, which
# bound. Different runs often come to the same question, from different noise.

Memo = dict[Hashable, Any]
"""Counts by the rows' key and the question."""


def remembering(step: Step, memo: Memo) -> Step:
    """The same step, which looks up what it asked before."""
    if isinstance(step, PlannedStep):
        return replace(step, query=RememberingQuery(step.query, memo))
    if not is_dataclass(step) or isinstance(step, type):
        return step
    inner = {one.name: getattr(step, one.name) for one in fields(step)}
    changed = {n: remembering(v, memo) for n, v in inner.items() if isinstance(v, PlannedStep)}
    return replace(step, **changed) if changed else step


@dataclass(frozen=True, eq=False)
class RememberingQuery:
    """A query whose question is remembered."""

    query: Query
    """The real one."""
    memo: Memo
    """What was counted."""

    @property
    def design(self) -> Design:
        """What is public from the start."""
        return self.query.design

    @property
    def name(self) -> str:
        """The step's."""
        return self.query.name

    def plan(self, released: Released) -> Planned | Passed:
        """The real plan."""
        found = self.query.plan(released)
        if isinstance(found, Passed):
            return found
        return replace(found, question=Remembered(found.question, self.memo))


@dataclass(frozen=True, eq=False)
class Remembered:
    """A question that is counted once."""

    question: Question
    """The real one."""
    memo: Memo
    """What was counted."""

    @property
    def name(self) -> str:
        """Of the table."""
        return self.question.name

    def count(self, visits: Visits) -> Any:
        """What was counted before, where the rows and the question are the same."""
        known = (visits.key, asked(self.question))
        if known not in self.memo:
            self.memo[known] = self.question.count(visits)
        return self.memo[known]

    def table(self, price: Price) -> Table | Measured:
        """What publishes it."""
        return self.question.table(price)

    def extra(self) -> Mapping[str, Any]:
        """What the table's entry says beside."""
        return self.question.extra()


def asked(question: object) -> Hashable:
    """All that a question says, but what the whole release has in common.

    Fields that are not compared do not change what is counted.

    >>> asked([1, {"a": np.array([2, 3])}])
    ('list', (1, ('dict', (('a', ('ndarray', (2, 3))),))))
    """
    if isinstance(question, Design):
        return "design"
    kind = type(question).__name__
    if isinstance(question, np.ndarray):
        return kind, tuple(question.ravel().tolist())
    if isinstance(question, Mapping):
        return kind, tuple((name, asked(value)) for name, value in question.items())
    if isinstance(question, list | tuple):
        return kind, tuple(asked(one) for one in question)
    if is_dataclass(question):
        return kind, tuple(
            asked(getattr(question, one.name)) for one in fields(question) if one.compare
        )
    return question if isinstance(question, Hashable) else repr(question)


# The real steps of a request, run as often as wanted: nothing is charged, nothing is written.
#
# What a rehearsal returns has the law of a release, and seeing many of one request is not covered
# by any ε: it is for comparing with the truth, and for attacking.

_LARGEST_KEY = 2**63
_MIXED = 0x9E3779B97F4A7C15
"""Spreads the keys of one seed over all of them."""


@dataclass(frozen=True)
class Keyed(Reading):
    """Records whose sampling keys follow from a seed, so that a run can be made again."""

    seed: int = 0
    """Which keys."""
    _drawn: Iterator[int] = field(default_factory=count, repr=False, compare=False)

    def fresh_key(self) -> int:
        """The next key of the seed."""
        return (self.seed * _MIXED + next(self._drawn) + 1) * _MIXED % _LARGEST_KEY


@dataclass(frozen=True)
class Halfway:
    """A run up to its last draw."""

    released: Released
    """What the steps before the last one released."""
    counted: Read[Any]
    """What the last step counted: exact, private."""


class Rehearsal:
    """A request on its records.

    The counts of a step are a function of the sampling key and of what was released before; they
    are kept by both, so that thousands of runs count the records a few times.
    """

    def __init__(
        self,
        request: Request,
        engine: Engine,
        prepared: Prepared | None = None,
        counted: dict[Hashable, Read[Any]] | None = None,
    ) -> None:
        """Make the records ready.

        Args:
            request: what is rehearsed.
            engine: what counts.
            prepared: the records, where they were matched with the lists before.
            counted: counts of earlier rehearsals to share, where a request differs from theirs in
                its form alone: counts do not depend on how they are published.
        """
        self.request = request
        """What is rehearsed."""
        self._counted = {} if counted is None else counted
        self._is_auto = isinstance(request.method.rule, Auto)
        steps = steps_of(request)
        if self._is_auto:
            steps = tuple(remembering(step, self._counted) for step in steps)
        self.steps: tuple[Step, ...] = steps
        """Its steps, the real ones."""
        self._engine = engine
        self.prepared: Prepared = prepared or prepare(
            engine, request.records, request.lists, request.sources
        )
        """The records, matched with the lists, not yet bounded."""
        self._held: dict[int, dict[str, Any]] = {}

    def halfway(self, seed: int, draws: Draws) -> Halfway:
        """All steps but the last one released, and the last one counted."""
        *first, last = range(len(self.steps))
        released = Released()
        for place in first:
            counted = self.counted(place, seed, released)
            released = self.steps[place].release(counted, released, draws)
        return Halfway(released, self.counted(last, seed, released))

    def finish(self, halfway: Halfway, draws: Draws) -> Released:
        """What is released, with the last step's noise drawn now."""
        return self.steps[-1].release(halfway.counted, halfway.released, draws)

    def kept(self, halfway: Halfway) -> dict[str, float]:
        """By table, the total of the bounded counts, as a count; none where nobody is bounded."""
        first, *rest = halfway.counted.found
        if isinstance(first, Counts | Memberships) or self.request.discovery is not None:
            return {}
        pairs = zip(self.request.tables, rest[0], strict=False)
        return {table.name: float(int(c.values.sum()) * c.unit) for table, c in pairs}

    def run(self, seed: int, draws: Draws) -> Released:
        """One whole run."""
        return self.finish(self.halfway(seed, draws), draws)

    def step(self, place: int, seed: int, released: Released, draws: Draws) -> Released:
        """What one step adds to what was released before it, whichever records that came from."""
        return self.steps[place].release(self.counted(place, seed, released), released, draws)

    def counted(self, place: int, seed: int, released: Released) -> Read[Any]:
        """What a step counts after what was released: exact, private."""
        if self._is_auto and place:  # what it asks depends on all before; the answer is remembered
            return self.steps[place].count(self._reading(place, seed), released)
        known = (place, seed, decided(self.steps[place], released))
        if known not in self._counted:
            self._counted[known] = self.steps[place].count(self._reading(place, seed), released)
        return self._counted[known]

    def _reading(self, place: int, seed: int) -> Keyed:
        """The records for one step: each has keys of its own, whatever was counted before it."""
        held = self._held.setdefault(seed, {})
        return Keyed(self._engine, self.prepared, seed * len(self.steps) + place, held=held)


def decided(step: Step, released: Released) -> Hashable:
    """All of what was released that the counts of a step may depend on.

    Of a popularity that is what it says to the rule: two that rank items alike are one to HPA.
    """
    bounds = tuple((name, b.limit, b.scaling) for name, b in released.bounds.items())
    rule = getattr(step, "rule", None)
    if isinstance(rule, HPA) and released.tables:
        steered = replace(rule, popularity=released.tables[0].values)
        return tuple(steered.steering().tolist()), bounds
    return tuple((table.name, tuple(table.values.tolist())) for table in released.tables), bounds


# What was really counted: every record of every user, by the expressions that releases use.
#
# Exact and not private: for comparing with, never for showing.

LARGEST = 50_000_000
"""Cells beyond which a table is not compared: each needs a truth and an estimate in memory."""


def true_counts(
    engine: Engine, prepared: Prepared, what: What, tables: Sequence[Table]
) -> dict[str, NDArray[np.int64]]:
    """The unbounded counts of every cell of these tables, by table, in the order of the domain.

    Args:
        engine: what runs it.
        prepared: all records; those of nobody and those outside the domain count nothing.
        what: records, each as often as its quantity says; or distinct users in each cell.
        tables: the tables of a request.
    """
    for table in tables:
        check_size(table.name, table.cells.size)
    if not tables:
        raise UsageError(
            "items without a public list have no cells to compare: give --items and a list."
        )
    found = _counted(engine, prepared, what, pairs=any(KINDS[t.name].is_pairs for t in tables))
    # Of cells without contexts the counts come twice, as in a release: the second is not asked for.
    pairs = zip(tables, found, strict=False)
    return {table.name: counts.dense() for table, counts in pairs}


def check_size(name: str, cells: int) -> None:
    """Refuse a table whose cells would not fit the memory, each with its truth and estimate."""
    if cells > LARGEST:
        raise UsageError(
            f"the table {name!r} has {cells} cells, and at most {LARGEST} are compared with their "
            "truth: shorten the lists, or use fewer contexts or attributes."
        )


@dataclass(frozen=True)
class Everything:
    """The rule that keeps every record: the truth is a count without a bound."""

    limit: int = 1
    """What nobody has more of, where that matters: no noise is added to the truth."""
    times: int = 1
    """How often a record may count."""

    def keep(self, engine: Engine, rows: Rows, *, cells: int, key: int, what: What) -> Kept:
        """All of them; of a user's records in one cell one, where users are counted."""
        known = countable(rows).select("user", "cell")
        return Kept(known.distinct() if what == "users" else known)


def _counted(
    engine: Engine, prepared: Prepared, what: What, *, pairs: bool
) -> tuple[Counts, Counts]:
    if "user" not in prepared.rows.columns:
        return count_rows(engine, prepared).found
    if _said(prepared, what):
        return _as_often_as_said(engine, prepared)
    rule = Everything(2 if pairs else 1)
    return count_records(engine, prepared, rule, key=0, what=what, pairs=pairs).found


def _said(prepared: Prepared, what: What) -> bool:
    """Whether records count by a quantity."""
    return what == "records" and "quantity" in prepared.rows.columns


def _as_often_as_said(engine: Engine, prepared: Prepared) -> tuple[Counts, Counts]:
    """Each record as often as its quantity says, also beyond the most that a release counts."""
    domain, rows = prepared.domain, countable(prepared.matched)
    found = rows.group_by("cell").agg(times=rows.said.sum().cast("int64"))
    edges = cells_of(engine.columns(found), "times", domain)
    items = fold(edges, domain.contexts_size)
    return (
        Counts(domain.size // domain.contexts_size, *items, 1),
        Counts(domain.size, *edges, 1),
    )


def largest_contribution(engine: Engine, prepared: Prepared, what: What) -> int:
    """M: the most that one user has within the domain; 0 where nobody has anything.

    Records, each as often as its quantity says; or different cells, where users are counted.
    """
    sums, users = _per_user(engine, prepared, what)
    return int(sums[users > 0].max(initial=0))


def mean_contribution(engine: Engine, prepared: Prepared, what: What) -> float:
    """The same on average over the users who have something; 0 where nobody has."""
    sums, users = _per_user(engine, prepared, what)
    return float((sums * users).sum() / users.sum()) if users.sum() else 0.0


def _per_user(
    engine: Engine, prepared: Prepared, what: What
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """What users have, and how many have so much."""
    if "user" not in prepared.rows.columns:
        return _persons(engine, prepared)
    if not _said(prepared, what):
        found: Any = record_sums(engine, prepared, what).found
        return found.sums, found.users
    rows = countable(prepared.matched)
    each = rows.group_by("user").agg(total=rows.said.sum().cast("int64"))
    columns = engine.arrays(each.group_by("total").agg(users=each.count()))
    return columns["total"], columns["users"]


def _persons(engine: Engine, prepared: Prepared) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Each row is a person, or several, and each of them is in one cell."""
    _, edges = count_rows(engine, prepared).found
    return np.ones(1, dtype=np.int64), np.array([edges.values.sum()], dtype=np.int64)
