"""A request rehearsed with remembered counts; and the truth."""

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

# The questions of a release, asked and answered as often as wanted: nothing is charged or written.
#
# Exact counts are remembered by the question, so that thousands of runs count the records a few
# times. What a rehearsal returns has the law of a release, and seeing many of one request is not
# covered by any ε: it is for comparing with the truth, and for attacking.

_LARGEST_KEY = 2**63
_MIXED = 0x9E3779B97F4A7C15
"""Spreads the keys of one seed over all of them."""

Memo = dict[Hashable, Read[Any]]
"""Counts by seed, place and question."""


@dataclass(frozen=True)
class Keyed(Reading):
    """Records whose sampling keys follow from a seed, so that a run can be made again."""

    seed: int = 0
    """Which keys."""
    _drawn: Iterator[int] = field(default_factory=numbers, repr=False, compare=False)

    def fresh_key(self) -> int:
        """The next key of the seed."""
        return (self.seed * _MIXED + next(self._drawn) + 1) * _MIXED % _LARGEST_KEY


class Rehearsed(Account):
    """Pays for a rehearsal what a release would be charged; what it paid for cannot be saved."""

    def __init__(self, method: Method) -> None:
        """As much as the method may spend."""
        self._open(method.parts, None)


@dataclass(frozen=True)
class Halfway:
    """A run up to its last draw."""

    answers: tuple[Answer, ...]
    """What was answered to all questions but the last."""
    question: Question
    """The last one."""
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
    """A request on its records."""

    def __init__(
        self,
        request: Request,
        engine: Engine,
        prepared: Prepared | None = None,
        memo: Memo | None = None,
    ) -> None:
        """Make the records ready.

        Args:
            request: what is rehearsed.
            engine: what counts.
            prepared: the records, where they were matched with the lists before.
            memo: counts of earlier rehearsals to share, where a request differs from theirs in its
                form alone: counts do not depend on how they are published.
        """
        self.request = request
        """What is rehearsed."""
        self.method: Method = method_of(request)
        """Its method, the real one."""
        self._memo: Memo = {} if memo is None else memo
        self._engine = engine
        self.prepared: Prepared = prepared or prepare(
            engine, request.records, request.lists, request.sources
        )
        """The records, matched with the lists, not yet bounded."""
        self._known: dict[int, dict[Hashable, Any]] = {}

    def run(self, seed: int, draws: Draws) -> Released:
        """One whole run."""
        places = numbers()
        return converse(
            self.method.ask(),
            lambda question: self.counted(question, next(places), seed),
            Rehearsed(self.method), draws,
        )  # fmt: skip

    def halfway(self, seed: int, draws: Draws) -> Halfway:
        """All questions answered but the last one, and that one counted."""
        answers: tuple[Answer, ...] = ()
        while True:
            asking, question = self.after(answers)
            counted = self.counted(question, len(answers), seed)
            if len(answers) == self.method.questions - 1:
                return Halfway(answers, question, counted)
            answer = question.draw(counted.found, draws)
            try:
                asking.send(answer)
            except StopIteration:  # a method that asks fewer questions than it may
                return Halfway(answers, question, counted)
            answers += (answer,)

    def finish(self, halfway: Halfway, draws: Draws) -> Released:
        """What is released, with the noise of the last answer drawn now."""
        asking, question = self.after(halfway.answers)
        last = question.draw(halfway.counted.found, draws)
        tables = tuple(table for one in (*halfway.answers, last) for table in one.tables)
        try:
            asking.send(last)
        except StopIteration as end:
            return Released(tables, end.value)
        raise ValueError("a question comes after the last one")

    def answer(self, answers: Sequence[Answer], seed: int, draws: Draws) -> Answer:
        """The answer that comes after these, whichever records those came from."""
        question = self.after(answers)[1]
        return question.draw(self.counted(question, len(answers), seed).found, draws)

    def after(self, answers: Sequence[Answer]) -> tuple[Asking, Question]:
        """A conversation in which these answers were given, and its next question."""
        return after(self.method, answers)

    def counted(self, question: Question, place: int, seed: int) -> Read[Any]:
        """What the question at a place counts: exact, private."""
        known = (seed, place, question)
        if known not in self._memo:
            self._memo[known] = count(question, self._reading(place, seed))
        return self._memo[known]

    def _reading(self, place: int, seed: int) -> Keyed:
        """The records for one question: each has keys of its own, whatever was asked before it."""
        known = self._known.setdefault(seed, {})
        key = seed * self.method.questions + place
        return Keyed(self._engine, self.prepared, key, known=known)

    def kept(self, halfway: Halfway) -> dict[str, float]:
        """By table, the total of the bounded counts, as a count; none where nobody is bounded."""
        question = halfway.question
        if not isinstance(question, SampledCounts | ScaledCounts):
            return {}
        pairs = zip(question.tables, halfway.counted.found, strict=False)
        return {table.name: float(int(c.values.sum()) * c.unit) for table, c in pairs}


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
    return {table.name: counts.dense() for table, counts in zip(tables, found, strict=False)}


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
    return (Counts(domain.size // domain.contexts_size, *items, 1), Counts(domain.size, *edges, 1))


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
