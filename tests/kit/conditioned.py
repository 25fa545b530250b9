"""A baseline's run with what it releases held fixed, and the checks of a private choice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import Any
from unittest.mock import patch

import numpy as np
from flint import arb

from crowdtally.core.privacy import Epsilon
from crowdtally.curator.choices.bounds import DPSenseChoice, RankChoice, RowSums, RowTable
from crowdtally.curator.choices.dpsense_s import DPSenseSChoice
from crowdtally.curator.counting.count import Reading
from crowdtally.lab.baselines import BASELINES
from crowdtally.laws.balls import as_ball, precision
from crowdtally.noise.draws import SystemDraws
from kit.databases import Database as DatabaseConditioned
from kit.databases import RememberingEngine
from kit.subjects import Subject

# ---- The checks that a private choice must pass and that each mutant of it must fail -------------
#
# A database is a tuple of rows, one per user; a row is a tuple of counts, one per column.
# ``exponents`` is the whole law of a choice, computed from the definition by plain loops over
# Fractions; ``is_private`` compares laws on all neighbouring tiny databases by certified balls.


Row = tuple[int, ...]
Database = tuple[Row, ...]


class Recorder:
    """Stands in for the draws: keeps what a choice weighs, and answers with a given index."""

    def __init__(self, index=0):
        self.index = index

    def choose(self, scores, rate):
        self.scores, self.rate = list(map(int, scores)), rate
        return self.index


def row_sums(database: Database) -> RowSums:
    counts = Counter(sum(row) for row in database)
    return RowSums(_integers(counts.keys()), _integers(counts.values()))


def row_table(database: Database) -> RowTable:
    totals: Counter = Counter()
    for row in database:
        for column, x in enumerate(row):
            if x:
                totals[sum(row), column] += x
    return RowTable(
        _integers(rho for rho, _ in totals),
        _integers(j for _, j in totals),
        _integers(totals.values()),
    )


def _integers(values) -> np.ndarray:
    return np.array(list(values), dtype=np.int64)


def statistic(choice, database: Database):
    return row_table(database) if isinstance(choice, DPSenseSChoice) else row_sums(database)


def weighed(choice, database: Database) -> list[Fraction]:
    """rate·score of every candidate, as the code hands it to the exponential mechanism."""
    recorder = Recorder()
    choice.pick(statistic(choice, database), recorder)
    return [recorder.rate * score for score in recorder.scores]


def exponents(choice, database: Database) -> list[Fraction]:
    """The same from the definition."""
    e, p = choice.epsilon.value, choice.published.value
    n = choice.cells
    if isinstance(choice, DPSenseChoice):
        sensitivity = Fraction(choice.most, n)
        return [
            e * (Fraction(sum(min(sum(row), t) for row in database), n) - t / p) / sensitivity
            for t in range(1, choice.most + 1)
        ]
    if isinstance(choice, RankChoice):
        above = [sum(sum(row) > t for row in database) for t in choice.candidates]
        return [e * -abs(users - n / p) / 2 for users in above]
    scores = [
        -_error(database, n, t, s, choice.grid) - s * t / p
        for t in range(1, choice.most + 1)
        for s in choice.scalings
    ]
    return [e * score / (2 * choice.cap) for score in scores]


def _error(database: Database, cells: int, theta: int, s: Fraction, grid: int) -> Fraction:
    """(1/N)·Σ_j |s·c_j^θ − c_j|, one row at a time."""
    total = Fraction(0)
    for j in range(cells):
        bounded = sum(Fraction(row[j] * weight(sum(row), theta, grid), grid) for row in database)
        total += abs(s * bounded - sum(row[j] for row in database))
    return total / cells


def weight(rho: int, theta: int, grid: int) -> int:
    return grid if rho <= theta else theta * (grid // rho)


def agrees(choice, database: Database) -> bool:
    """Whether scores, units, sensitivity, factor and candidates are all as defined."""
    return weighed(choice, database) == exponents(choice, database)


def all_rows(cells: int, cap: int = 1) -> list[Row]:
    return [row for row in product(range(cap + 1), repeat=cells) if any(row)]


def loss(first: list[Fraction], second: list[Fraction]) -> arb:
    """The largest |log ratio| of two laws over one list of candidates, as a certified ball."""
    if len(first) != len(second):
        return arb("inf")  # a candidate is possible on one side only
    with precision(192):
        one, two = _log_law(first), _log_law(second)
        return max((abs(a - b) for a, b in zip(one, two, strict=True)), key=lambda x: x.upper())


def _log_law(exponents: list[Fraction]) -> list[arb]:
    best = max(exponents)
    shifted = [as_ball(e - best) for e in exponents]
    total = sum((e.exp() for e in shifted), arb(0)).log()
    return [e - total for e in shifted]


def worst_loss(choice, rows: list[Row], users: int) -> arb:
    """The largest loss over all neighbours of at most ``users`` users."""
    laws = {
        database: weighed(choice, database)
        for size in range(users + 1)
        for database in combinations_with_replacement(rows, size)
    }
    losses = [
        loss(laws[database], laws[tuple(sorted((*database, row)))])
        for database in laws
        if len(database) < users
        for row in rows
    ]
    return max(losses, key=lambda x: x.upper())


def is_private(choice, rows: list[Row], users: int) -> bool:
    """Whether no neighbours of at most ``users`` users lose more than ε_c. Certified."""
    return bool(worst_loss(choice, rows, users) <= as_ball(choice.epsilon.value))


# ---- A baseline's run with everything it releases held fixed, so that what gets noise can be
#      compared
#
# Given the released numbers, the loss between two databases is, for each vector of counts, its L1
# distance over the scale of its noise, and for each choice the log-ratio of its law. Both are
# exact.


_SUMS = ("crowdtally.lab.baselines.base", "crowdtally.curator.summaries.base")
"""Where noise is added to what was counted."""


@dataclass(frozen=True)
class Vector:
    """Integers that got noise."""

    values: tuple[int, ...]
    scale: Fraction

    def loss(self, other: Vector) -> Fraction:
        assert self.scale == other.scale, "two scales tell the databases apart"
        pairs = zip(self.values, other.values, strict=True)
        return sum(abs(one - two) for one, two in pairs) / self.scale

    def loses_at_most(self, other: Vector, epsilon: Fraction) -> bool:
        return self.loss(other) <= epsilon


@dataclass(frozen=True)
class Choice:
    """Candidates that were weighed: rate·score of each."""

    exponents: tuple[Fraction, ...]

    def loss(self, other: Choice) -> arb:
        return loss(list(self.exponents), list(other.exponents))

    def loses_at_most(self, other: Choice, epsilon: Fraction) -> bool:
        return self == other or bool(self.loss(other) <= as_ball(epsilon))


Event = Vector | Choice


@dataclass
class Held(SystemDraws):
    """Draws that note what is asked, and a release that is what a script says it is."""

    pick: int = 0
    """The index that is chosen, or the last one."""
    released: Callable[[int], Sequence[int]] = lambda size: range(size)
    """What is released of so many counts."""
    events: list[Event] = field(default_factory=list)
    scales: list[Fraction] = field(default_factory=list)

    def laplace(self, scale: Fraction, size: int) -> Any:
        self.scales.append(scale)
        return np.zeros(size, dtype=np.int64)

    def choose(self, scores: Any, rate: Fraction) -> int:
        self.events.append(Choice(tuple(rate * int(score) for score in scores)))
        return min(self.pick, len(scores) - 1)

    def add(self, values: Any, noise: Any) -> Any:
        assert not noise.any()
        self.events.append(Vector(tuple(map(int, values)), self.scales[-1]))
        return np.array(self.released(len(values)), dtype=np.int64)


def events(baseline: Any, counted: Any, epsilon: Epsilon, held: Held) -> list[Event]:
    """All that a release draws, in order, given what it releases."""
    with patch(f"{_SUMS[0]}.exact_sum", held.add), patch(f"{_SUMS[1]}.exact_sum", held.add):
        baseline.release(counted, epsilon, held)
    assert len(held.scales) == sum(isinstance(event, Vector) for event in held.events)
    return held.events


class Bench:
    """Every baseline on one tiny database after another."""

    def __init__(self, subject: Subject, limit: int, engine: RememberingEngine) -> None:
        self.subject, self._limit, self._engine = subject, limit, engine
        self._prepared = engine.prepare(subject.records, subject.request.domain)

    def baseline(self, name: str) -> Any:
        return BASELINES.load(name).of(self.subject.request.subject, self._limit)

    def count(self, baseline: Any, database: DatabaseConditioned, seed: int = 0) -> Any:
        self._engine.replace(self.subject.space.rows(database, self.subject.ids))
        return baseline.count(Reading(self._engine, self._prepared), seed)
