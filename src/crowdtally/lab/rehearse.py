"""Rehearsals of a request, and the true counts beside them.

A rehearsal asks and answers the questions of a release as often as wanted; nothing is charged or
written. Exact counts are remembered by the question, so that thousands of runs count the records a
few times. Each run has the law of a release, but no ε covers many runs of one request: they are
for comparing with the truth, and for attacking.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count as numbers
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdtally.core.counts import Counts, What
from crowdtally.core.layout import KINDS
from crowdtally.curator.converse import Account, Asking, Method, Released, converse
from crowdtally.curator.counting.bounded import Read, cells_of, count_rows, fold
from crowdtally.curator.counting.bounded import count as count_records
from crowdtally.curator.counting.count import Reading, count
from crowdtally.curator.counting.users import record_sums
from crowdtally.curator.method import method_of
from crowdtally.curator.questions import Answer, Question, SampledCounts, ScaledCounts
from crowdtally.curator.request.request import Request
from crowdtally.curator.table import Table
from crowdtally.errors import UsageError
from crowdtally.noise.draws import Draws
from crowdtally.records.engine import Engine, Kept, Rows, countable
from crowdtally.records.prepare import Prepared, prepare

_LARGEST_KEY = 2**63
_MIXED = 0x9E3779B97F4A7C15
"""Spreads the keys of one seed over all of them."""

Memo = dict[Hashable, Read[Any]]
"""Counts by seed, place and question."""


@dataclass(frozen=True)
class Keyed(Reading):
    """Records whose sampling keys follow from a seed, so that a run can be made again."""

    seed: int = 0
    _drawn: Iterator[int] = field(default_factory=numbers, repr=False, compare=False)

    def fresh_key(self) -> int:
        return (self.seed * _MIXED + next(self._drawn) + 1) * _MIXED % _LARGEST_KEY


class Rehearsed(Account):
    """Pays for a rehearsal what a release would be charged; what it paid for cannot be saved."""

    def __init__(self, method: Method) -> None:
        self._open(method.parts, None)


@dataclass(frozen=True)
class Halfway:
    """A run up to its last draw."""

    answers: tuple[Answer, ...]
    """To all questions but the last."""
    question: Question
    counted: Read[Any]
    """Its exact counts: private."""


def after(method: Method, answers: Sequence[Answer]) -> tuple[Asking, Question]:
    """A conversation of a method in which these answers were given, and its next question."""
    asking = method.ask()
    question = next(asking)
    for answer in answers:
        question = asking.send(answer)
    return asking, question


class Rehearsal:
    def __init__(
        self,
        request: Request,
        engine: Engine,
        prepared: Prepared | None = None,
        memo: Memo | None = None,
    ) -> None:
        """Match the records with the lists, unless that was done before.

        ``memo`` has counts of earlier rehearsals, whose requests may differ in summary and
        transform: counts do not depend on these.
        """
        self.request = request
        self.method: Method = method_of(request)
        self._memo: Memo = {} if memo is None else memo
        self._engine = engine
        self.prepared: Prepared = prepared or prepare(
            engine, request.records, request.lists, request.sources
        )
        """The records, matched with the lists, not yet bounded."""
        self._known: dict[int, dict[Hashable, Any]] = {}

    def run(self, seed: int, draws: Draws) -> Released:
        places = numbers()
        return converse(
            self.method.ask(),
            lambda question: self.counted(question, next(places), seed),
            Rehearsed(self.method), draws,
        )  # fmt: skip

    def halfway(self, seed: int, draws: Draws) -> Halfway:
        """All questions answered but the last one, and that one counted."""
        answers: tuple[Answer, ...] = ()
        asking, question = after(self.method, ())
        counted = self.counted(question, 0, seed)
        while len(answers) < self.method.questions - 1:
            answer = question.draw(counted.found, draws)
            try:
                question = asking.send(answer)
            except StopIteration:  # a method that asks fewer questions than it may
                break
            answers += (answer,)
            counted = self.counted(question, len(answers), seed)
        return Halfway(answers, question, counted)

    def finish(self, halfway: Halfway, draws: Draws) -> Released:
        """A release, with the noise of the last answer drawn now."""
        asking, question = after(self.method, halfway.answers)
        last = question.draw(halfway.counted.found, draws)
        tables = tuple(table for one in (*halfway.answers, last) for table in one.tables)
        try:
            asking.send(last)
        except StopIteration as end:
            return Released(tables, end.value)
        raise ValueError("a question comes after the last one")

    def answer(self, answers: Sequence[Answer], seed: int, draws: Draws) -> Answer:
        """The answer that comes after these, whichever records those came from."""
        _, question = after(self.method, answers)
        return question.draw(self.counted(question, len(answers), seed).found, draws)

    def counted(self, question: Question, place: int, seed: int) -> Read[Any]:
        """The exact counts of the question at a place: private.

        Each question has sampling keys of its own, whatever was asked before it.
        """
        known = (seed, place, question)
        if known not in self._memo:
            key, once = seed * self.method.questions + place, self._known.setdefault(seed, {})
            reading = Keyed(self._engine, self.prepared, key, known=once)
            self._memo[known] = count(question, reading)
        return self._memo[known]

    def kept(self, halfway: Halfway) -> dict[str, float]:
        """The total of the bounded counts of each table; none where nobody is bounded."""
        question = halfway.question
        if not isinstance(question, SampledCounts | ScaledCounts):
            return {}
        pairs = zip(question.tables, halfway.counted.found, strict=False)
        return {table.name: float(int(c.values.sum()) * c.unit) for table, c in pairs}


# True counts: every record of every user, by the expressions that releases use. Not private.

LARGEST = 50_000_000
"""Cells beyond which a table is not compared: each needs a truth and an estimate in memory."""


def true_counts(
    engine: Engine, prepared: Prepared, what: What, tables: Sequence[Table]
) -> dict[str, NDArray[np.int64]]:
    """The unbounded counts of every cell of a request's tables, by table, in the domain's order.

    Records count as often as their quantity says; users are counted once in each cell. Rows
    without a user, and those outside the domain, count nothing.
    """
    for table in tables:
        check_size(table.name, table.cells.size)
    if not tables:
        raise UsageError(
            "items without a public list have no cells to compare: give --items and a list."
        )
    if "user" not in prepared.rows.columns:
        exact: Any = count_rows(engine, prepared).found
    elif _by_quantity(prepared, what):
        exact = _quantities(engine, prepared)
    else:
        pairs = any(KINDS[table.name].is_pairs for table in tables)
        rule = Everything(2 if pairs else 1)
        exact = count_records(engine, prepared, rule, key=0, what=what, pairs=pairs).found
    # Of cells without contexts the counts come twice, as in a release: the second is not asked for.
    return {table.name: counts.dense() for table, counts in zip(tables, exact, strict=False)}


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
    """The truth gets no noise, so this matters only where a noisy count takes this rule's place."""
    times: int = 1
    """How often a record may count."""

    def keep(self, engine: Engine, rows: Rows, *, cells: int, key: int, what: What) -> Kept:
        known = countable(rows).select("user", "cell")
        return Kept(known.distinct() if what == "users" else known)


def _by_quantity(prepared: Prepared, what: What) -> bool:
    return what == "records" and "quantity" in prepared.rows.columns


def _quantities(engine: Engine, prepared: Prepared) -> tuple[Counts, Counts]:
    """Each record as often as its quantity says, also beyond the most that a release counts."""
    domain, rows = prepared.domain, countable(prepared.matched)
    found = rows.group_by("cell").agg(times=rows.said.sum().cast("int64"))
    edges = cells_of(engine.columns(found), "times", domain)
    items = fold(edges, domain.contexts_size)
    return (Counts(domain.size // domain.contexts_size, *items, 1), Counts(domain.size, *edges, 1))


def largest_contribution(engine: Engine, prepared: Prepared, what: What) -> int:
    """M: the largest contribution of one user within the domain; 0 without users.

    It counts records, each as often as its quantity says; or cells, where users are counted.
    """
    sums, users = _per_user(engine, prepared, what)
    return int(sums[users > 0].max(initial=0))


def mean_contribution(engine: Engine, prepared: Prepared, what: What) -> float:
    """The mean over the users who contribute; 0 without users."""
    sums, users = _per_user(engine, prepared, what)
    return float((sums * users).sum() / users.sum()) if users.sum() else 0.0


def _per_user(
    engine: Engine, prepared: Prepared, what: What
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Contributions, and how many users have each."""
    if "user" not in prepared.rows.columns:  # a row is one person, or several, in one cell
        _, edges = count_rows(engine, prepared).found
        return np.ones(1, dtype=np.int64), np.array([edges.values.sum()], dtype=np.int64)
    if not _by_quantity(prepared, what):
        found: Any = record_sums(engine, prepared, what).found
        return found.sums, found.users
    rows = countable(prepared.matched)
    each = rows.group_by("user").agg(total=rows.said.sum().cast("int64"))
    columns = engine.arrays(each.group_by("total").agg(users=each.count()))
    return columns["total"], columns["users"]
