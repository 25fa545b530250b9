"""The exact loss of a whole ``auto`` on one path: what each table adds, given what was released.

A path is what was released, question by question. Whatever the noise was, both databases are asked
what they would have counted given the same past, and the law of each table says what its noise
tells about which of the two it is: discrete Laplace noise of scale b on counts c and c′ loses
exactly Σ|c − c′|/b; interval noise of rate x loses x·(max (c − c′)⁺ + max (c − c′)⁻) in each block;
discrete Gaussian noise of variance σ² costs Σ(c − c′)²/(2σ²) in zCDP. The losses of all tables add
up to the path's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from crowdtally.core.counts import Counts, Memberships
from crowdtally.core.privacy import Rho
from crowdtally.curator.methods.auto import Outcome
from crowdtally.curator.questions import Question
from crowdtally.curator.table import AnyTable
from crowdtally.lab.rehearse import Rehearsal
from crowdtally.laws.gaussian import GaussianNoise
from crowdtally.laws.interval import IntervalNoise
from crowdtally.laws.laplace import DiscreteLaplace
from crowdtally.noise.draws import SystemDraws

LEADS: dict[str, tuple[int, ...]] = {
    "weak": (),
    "short": (0, 1, 2),
    "long": (2, 3, 4, 5, 6, 7, 8, 9, 10, 11),
    "very long": (7, 8, 9, 10, 11, 12, 13, 14, 15, 16),
}
"""Bins of the first table that the noise fills."""


class Wild(SystemDraws):
    """Noise of any size, so that a tiny database leads to decisions that only large ones lead to.

    Privacy is a statement about every outcome: how likely one is does not matter here.
    """

    def __init__(self, seed: int, lead: str, users: int, strength: float) -> None:
        super().__init__()
        self._rng, self._lead, self._users = np.random.default_rng(seed), lead, users
        self._strength, self._asked = strength, 0

    def _wild(self, deviation: float, size: int) -> Any:
        self._asked += 1
        if self._asked == 1:
            bins = np.zeros(size, dtype=np.int64)
            for place in LEADS[self._lead]:
                bins[place] = int(self._users * self._rng.uniform(0.5, 1))
            return bins
        heavy = self._rng.pareto(1.2, size) * self._rng.choice([-1, 1, 1], size)
        return np.clip(heavy * deviation * self._strength, -(2.0**61), 2.0**61).astype(np.int64)

    def laplace(self, scale: Fraction, size: int) -> Any:
        return self._wild(float(scale), size)

    def gaussian(self, variance: Fraction, size: int) -> Any:
        return self._wild(float(variance) ** 0.5, size)

    def interval(self, rate: Fraction, size: int) -> Any:
        self._asked += 1
        return self._rng.integers(-5, 50, size).astype(np.int64)


@dataclass(frozen=True)
class Followed:
    """What was found on one path."""

    loss: dict[type, Fraction]
    """Of the one database against the other: in ε, and in ρ of what was paid for in ρ."""
    spent: dict[type, Fraction]
    """What was paid, in each kind of price."""
    questions: tuple[Question, ...]
    outcome: Outcome

    @property
    def names(self) -> frozenset[str]:
        """The tables of the path."""
        return frozenset(step.name for step in self.outcome.steps)

    @property
    def path(self) -> str:
        """In words: how it went."""
        words = ["rich"] if self.outcome.rich else []
        words += ["to", self.outcome.path] if words else [self.outcome.path]
        words += ["in two classes"] if "items_short" in self.names else []
        words += ["looked at twice"] if "zoom" in self.names else []
        return " ".join(words)


def follow(first: Rehearsal, second: Rehearsal, draws: SystemDraws) -> Followed:
    """One path: what the first database released, and what both would have counted on it."""
    loss, spent = dict[type, Fraction](), dict[type, Fraction]()
    asking, questions = first.method.ask(), list[Question]()
    question: Any = next(asking)
    while True:
        ours, theirs = (one.counted(question, len(questions), 0).found for one in (first, second))
        answer = question.draw(ours, draws)
        questions.append(question)
        for table, exact in zip(question.tables, zip(ours, theirs, strict=True), strict=True):
            kind, lost = _loss(table, exact)
            loss[kind] = loss.get(kind, Fraction(0)) + lost
        for part in question.parts():
            price = part.rho or part.epsilon
            spent[type(price)] = spent.get(type(price), Fraction(0)) + price.value
        try:
            question = asking.send(answer)
        except StopIteration as end:
            return Followed(loss, spent, tuple(questions), end.value)


def _loss(table: AnyTable, exact: Sequence[Any]) -> tuple[type, Fraction]:
    """What the noise of a table tells, by its law alone: not by the bound that it was made for."""
    law, change = table.law, _change(*exact)
    kind = type(table.price)
    assert isinstance(law, GaussianNoise) == (kind is Rho)
    if isinstance(law, IntervalNoise):
        blocks = [Fraction(0)] * law.blocks
        for block in range(law.blocks):
            own = [by for cell, by in change.items() if cell % law.blocks == block]
            blocks[block] = law.rate * (max([0, *own]) + max([0, *(-by for by in own)]))
        return kind, sum(blocks, Fraction(0))
    if isinstance(law, GaussianNoise):
        return kind, Fraction(sum(by * by for by in change.values())) / (2 * law.variance)
    assert isinstance(law, DiscreteLaplace), "a law that this does not know"
    return kind, Fraction(sum(map(abs, change.values()))) / law.scale


def _change(ours: Counts | Memberships, theirs: Counts | Memberships) -> dict[int, int]:
    """The cells in which the exact counts differ, of tables of any size."""
    one, other = _cells(ours), _cells(theirs)
    by = {cell: one.get(cell, 0) - other.get(cell, 0) for cell in {*one, *other}}
    return {cell: number for cell, number in by.items() if number}


def _cells(counts: Counts | Memberships) -> dict[int, int]:
    if isinstance(counts, Memberships):
        return dict(enumerate(counts.values.tolist()))
    return dict(zip(counts.cells.tolist(), counts.values.tolist(), strict=True))
