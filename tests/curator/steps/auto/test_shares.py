"""On every path the shares add up to at most ε, whatever was released on the way."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import crowdtally as ct
from crowdtally.curator.bounding.auto import AIMS
from crowdtally.curator.engine.duckdb import DuckDBEngine
from crowdtally.curator.engine.prepare import prepare
from crowdtally.curator.request.request import make_request
from crowdtally.curator.steps.making import steps_of
from crowdtally.curator.steps.step import Reading, Released
from kit.cheap import cheap_estimates
from kit.seam import Seam, cost

ROWS = pa.table({"user": [1, 1, 2], "item": [0, 1, 1], "day": ["a", "b", "a"]})
DAYS = {"day": ["a", "b"]}
EPSILON = Fraction(7, 3)

Case = tuple[int, str | None, str]
CASES: list[Case] = [
    (items, contexts, repeats)
    for items in (5, 130, 1100)
    for contexts in (None, "record", "user")
    for repeats in ("yes", "no")
]


class Held:
    """A request and its records, held once."""

    def __init__(self, case: Case, aim: str) -> None:
        items, contexts, repeats = case
        named = {"contexts": ["day"]} if contexts else {}
        records = ct.read(ROWS, user="user", item="item", **named)
        told = {"context_per_user": "day"} if contexts == "user" else {}
        domain = ct.Domain(range(items), DAYS if contexts else None)
        self.request: Any = make_request(
            records, domain, epsilon=EPSILON, for_=aim, repeats=repeats, **told
        )
        self.engine = DuckDBEngine()
        request = self.request
        prepared = prepare(self.engine, request.records, request.domain, request.sources)
        self.reading = Reading(self.engine, prepared)

    def run(self, draws: Seam) -> Released:
        released = Released()
        with cheap_estimates():
            for step in steps_of(self.request):
                released = step.release(step.count(self.reading, released), released, draws)
        return released


@pytest.fixture(scope="module")
def held() -> Iterator[dict[Any, Held]]:
    found: dict[Any, Held] = {}
    yield found
    for case in found.values():
        case.engine.__exit__(None, None, None)


def made_up(sizes: list[int], seed: int, spread: float) -> Any:
    """Sizes as given; anything for every other table: mostly near 0, some items very large."""
    rng = np.random.default_rng(seed)

    def values(size: int) -> np.ndarray:
        if size == len(sizes):
            return np.array(sizes, dtype=np.int64)
        return (rng.standard_cauchy(size).clip(-1e6, 1e6) * spread * 2**20).astype(np.int64)

    return values


@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    case=st.sampled_from(CASES),
    aim=st.sampled_from(AIMS),
    sizes=st.lists(st.integers(-200, 10**6) | st.integers(0, 60), min_size=13, max_size=13),
    seed=st.integers(0, 2**32 - 1),
    spread=st.sampled_from([0.01, 1.0, 1000.0]),
)
@example(case=(1100, None, "no"), aim="counts", sizes=[0, 10**6] + [0] * 11, seed=1, spread=1e3)
@example(case=(1100, "user", "no"), aim="top", sizes=[10**6] * 13, seed=2, spread=1e3)
@example(
    case=(5, "user", "no"), aim="counts", sizes=[0] * 4 + [10**5] + [0] * 8, seed=3, spread=1.0
)
@example(case=(1100, None, "no"), aim="counts", sizes=[0] * 3 + [300] + [0] * 9, seed=4, spread=1.0)
def test_what_is_drawn_costs_at_most_epsilon(
    held: dict[Any, Held], case: Case, aim: str, sizes: list[int], seed: int, spread: float
) -> None:
    if (case, aim) not in held:
        held[case, aim] = Held(case, aim)
    draws = Seam(made_up=made_up(sizes, seed, spread))
    released = held[case, aim].run(draws)
    course = released.course
    assert course is not None
    assert sum(cost(table) for table in released.tables) == course.spent <= EPSILON
    blocks = sum(getattr(table.law, "blocks", 1) for table in released.tables)
    assert len(draws.drawn) == blocks, "something was drawn beside the tables"
    decided = released.decided
    assert decided is not None
    names = {table.name for table in released.tables}
    if decided.small:
        assert not names & {"pilot", "crowd", "zoom", "bins", "head", "split_head", "head_rows"}
    if not decided.sizes.reliable:
        assert not names & {"pilot", "crowd", "zoom"}
    assert all(step.why for step in course.taken)


def test_every_kind_of_step_is_reached(held: dict[Any, Held]) -> None:
    """So that the above is about all of them."""
    seen: set[str] = set()
    for case, sizes, spread in (
        ((1100, None, "no"), [0, 10**6, 10**6, 10**6] + [0] * 9, 1000.0),
        ((1100, None, "yes"), [0] * 5 + [150] + [0] * 7, 1.0),
        ((5, None, "no"), [0] * 4 + [10**5] + [0] * 8, 1.0),
        ((5, "user", "no"), [0] * 4 + [10**5] + [0] * 8, 1.0),
    ):
        if (case, "counts") not in held:
            held[case, "counts"] = Held(case, "counts")
        released = held[case, "counts"].run(Seam(made_up=made_up(sizes, 5, spread)))
        seen |= {table.name for table in released.tables}
    assert seen >= {"sizes", "pilot", "crowd", "items", "zoom", "bins", "head", "edges"}, seen
