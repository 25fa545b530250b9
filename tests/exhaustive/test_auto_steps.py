"""The exact output law of every scaled step of ``auto``, on all tiny rows and their neighbours.

Noise is drawn behind the seam of geometric draws: what is released is read as an exact count plus
draws of known rates, and the loss between neighbours follows in exact arithmetic.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import pytest

import crowdtally as ct
from crowdtally.core.privacy import Epsilon
from crowdtally.curator.counting.rows import Visits
from crowdtally.curator.request.request import make_request
from crowdtally.curator.steps.auto.design import Design
from crowdtally.curator.steps.auto.questions import AllItems, ChosenItems, Groups
from crowdtally.records.duckdb import DuckDBEngine
from crowdtally.records.engine import Dropped
from kit.losses import Law, losses
from kit.tracing import Tracer

EPSILON = Epsilon(Fraction(5, 7))
ITEMS = 4
OTHERS: list[tuple[int, ...]] = [(0, 1, 1, 3), (2, 3)]
ROWS = [
    row for number in range(1, 4) for row in combinations_with_replacement(range(ITEMS), number)
]  # fmt: skip
_ROOM = 26
"""Bits for counts of up to g·θ·users."""


def design() -> Design:
    records = ct.read({"user": [1], "item": [0]}, user="user", item="item")
    return Design.of(make_request(records, ct.Domain(range(ITEMS)), epsilon=1))


DESIGN = design()
NONE = np.array([], dtype=np.int64)
QUESTIONS: dict[str, Any] = {
    "pilot": AllItems(DESIGN, "pilot", 1, NONE),
    "items, without a crowd": AllItems(DESIGN, "items", 2, NONE),
    "items, without two": AllItems(DESIGN, "items", 2, np.array([0, 3])),
    "zoom": ChosenItems(DESIGN, "zoom", 1, np.array([1, 2])),
    "bins": Groups("bins", 2, np.array([0, 1, -1, 1]), 2),
}


@pytest.fixture(scope="module")
def engine() -> Iterator[DuckDBEngine]:
    with DuckDBEngine() as one:
        yield one


def law(engine: DuckDBEngine, question: Any, rows: list[tuple[int, ...]]) -> Law:
    """What a step releases on these users' rows."""
    cells = [(u, i, x) for u, row in enumerate(rows) for i, x in sorted(Counter(row).items())]
    columns = zip(("user", "item", "amount"), np.array(cells, dtype=np.int64).T, strict=True)
    held = engine.load("rows", dict(columns))
    visits = Visits(engine, held, held, Dropped(len(cells), 0, 0), 1, DESIGN.domain)
    tracer = Tracer(_ROOM)
    released = question.table(EPSILON).publish(question.count(visits), tracer)
    forms = tuple(tracer.read(int(value)) for value in released.values)
    return Law(forms, tuple(tracer.rates))


@pytest.mark.parametrize("name", QUESTIONS)
def test_nobody_loses_more_than_epsilon(engine: DuckDBEngine, name: str) -> None:
    question = QUESTIONS[name]
    without = law(engine, question, OTHERS)
    found = [
        loss
        for row in ROWS
        for loss in losses({0: law(engine, question, [*OTHERS, row])}, {0: without})
    ]
    assert all(loss.certainly_at_most(EPSILON.value) for loss in found)
    assert max(loss.exact for loss in found if loss.exact is not None) > EPSILON.value * Fraction(
        999_999, 1_000_000
    )
