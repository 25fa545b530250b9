"""Steps of ``auto`` whose counts are remembered, so that thousands of runs ask a question once.

What a step counts is a function of the users' rows and of its question: which items, which bound.
Different runs often come to the same question, from different noise.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

import numpy as np

from crowdtally.core.privacy import Price
from crowdtally.curator.converse import Released, Step
from crowdtally.curator.counting.rows import Visits
from crowdtally.curator.steps.auto.design import Design
from crowdtally.curator.steps.auto.planned import Passed, Planned, PlannedStep, Query, Question
from crowdtally.curator.table import Measured, Table

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
