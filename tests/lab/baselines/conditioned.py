"""A baseline's run with everything it releases held fixed, so that what gets noise can be compared.

Given the released numbers, the loss between two databases is, for each vector of counts, its L1
distance over the scale of its noise, and for each choice the log-ratio of its law. Both are exact.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any
from unittest.mock import patch

import numpy as np
from flint import arb

from crowdtally.core.privacy import Epsilon
from crowdtally.curator.converse import Reading
from crowdtally.lab.baselines import BASELINES
from crowdtally.laws.balls import as_ball
from crowdtally.noise.draws import SystemDraws
from curator.choosing.choice_checks import loss as choice_loss
from kit.remembering import RememberingEngine
from kit.subjects import Subject
from kit.tiny import Database

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
        return choice_loss(list(self.exponents), list(other.exponents))

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

    def count(self, baseline: Any, database: Database, seed: int = 0) -> Any:
        self._engine.replace(self.subject.space.rows(database, self.subject.ids))
        return baseline.count(Reading(self._engine, self._prepared), seed)
