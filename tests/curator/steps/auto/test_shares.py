"""On every path the shares add up to at most ε, or ρ, whatever was released on the way."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import crowdtally as ct
from crowdtally.curator.bounding.scaling import AIMS
from crowdtally.curator.converse import Reading, Released
from crowdtally.curator.method import charge_of, steps_of
from crowdtally.curator.request import table_specs
from crowdtally.curator.request.request import make_request
from crowdtally.laws.conversion import epsilon_of, rho_of
from crowdtally.records.duckdb import DuckDBEngine
from crowdtally.records.prepare import prepare
from kit.cheap import cheap_estimates
from kit.seam import Seam, costs

ROWS = pa.table({"user": [1, 1, 2], "item": [0, 1, 1], "day": ["a", "b", "a"]})
DAYS = {"day": ["a", "b"]}
EPSILON, DELTA = Fraction(7, 3), Fraction(1, 10**9)

Case = tuple[int, str | None, str]
CASES: list[Case] = [
    (items, contexts, repeats)
    for items in (5, 130, 1100)
    for contexts in (None, "record", "user", "features")
    for repeats in ("yes", "no")
]
FEW, MANY = [0] * 4 + [10**5] + [0] * 8, [0, 10**6, 10**6, 10**6] + [0] * 9
LONG = 1200
"""A list of so many items stands for one that is too long to publish all of."""
LONG_CASES: list[Case] = [(LONG, contexts, repeats) for _, contexts, repeats in CASES[:8]]


class Held:
    """A request and its records, held once."""

    def __init__(self, case: Case, aim: str, noise: str, kinds: Path) -> None:
        items, contexts, repeats = case
        named = {"contexts": ["day"]} if contexts else {}
        records = ct.read(ROWS, user="user", item="item", **named)
        told: dict[str, Any] = {} if noise == "laplace" else {"noise": noise, "delta": DELTA}
        if contexts in ("user", "features"):
            told["context_per_user"] = "day"
        if contexts == "features" and aim != "top":
            told["features"] = kinds
        domain = ct.Domain(range(items), DAYS if contexts else None)
        with patch.multiple(table_specs, LARGEST_DENSE_AUTO=LONG - 1, _AUTO_SIZE=50):
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


class HeldOnce(dict[tuple[Case, str, str], Held]):
    """Each request and its records, from the first time they are asked for."""

    def __init__(self, kinds: Path) -> None:
        super().__init__()
        self.kinds = kinds

    def __missing__(self, known: tuple[Case, str, str]) -> Held:
        found = self[known] = Held(*known, self.kinds)
        return found


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HeldOnce]:
    kinds = tmp_path_factory.mktemp("features") / "kinds.csv"
    rows = [f"{n},{'abcd'[n % 4]},{n % 3}" for n in range(LONG)]
    kinds.write_text("\n".join(["item,kind,decade", *rows]) + "\n")
    found = HeldOnce(kinds)
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
    case=st.sampled_from(CASES) | st.sampled_from(LONG_CASES),
    aim=st.sampled_from(AIMS),
    sizes=st.lists(
        st.integers(-200, 10**6) | st.integers(0, 60) | st.integers(-(2**62), 2**62),
        min_size=13,
        max_size=13,
    ),
    seed=st.integers(0, 2**32 - 1),
    spread=st.sampled_from([0.01, 1.0, 1000.0]),
)
@example(case=(1100, None, "no"), aim="counts", sizes=[0, 10**6] + [0] * 11, seed=1, spread=1e3)
@example(case=(1100, "user", "no"), aim="top", sizes=[10**6] * 13, seed=2, spread=1e3)
@example(
    case=(5, "user", "no"), aim="counts", sizes=[0] * 4 + [10**5] + [0] * 8, seed=3, spread=1.0
)
@example(case=(1100, None, "no"), aim="counts", sizes=[0] * 3 + [300] + [0] * 9, seed=4, spread=1.0)
@example(case=(1100, "features", "no"), aim="recommend", sizes=FEW, seed=5, spread=1e3)
@example(case=(LONG, "features", "yes"), aim="recommend", sizes=FEW, seed=6, spread=1e3)
def test_what_is_drawn_costs_at_most_epsilon(
    held: HeldOnce, case: Case, aim: str, sizes: list[int], seed: int, spread: float
) -> None:
    draws = Seam(made_up=made_up(sizes, seed, spread))
    if aim == "recommend" and case[1] is None:
        aim = "counts"  # without contexts there is nothing to recommend in
    released = held[case, aim, "laplace"].run(draws)
    course = released.course
    assert course is not None
    asked = held[case, aim, "laplace"].request
    assert charge_of(asked, steps_of(asked), {}).epsilon.value == EPSILON
    drawn = costs(released.tables)
    assert sum(drawn.values()) == course.spent <= EPSILON
    recorded = {one["name"]: Fraction(one["epsilon"]) for one in course.as_dict()["steps"]}
    assert len(recorded) == len(course.taken)
    assert drawn == {n: e for n, e in recorded.items() if e}
    check_path(released, draws, case)


@settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    case=st.sampled_from(CASES) | st.sampled_from(LONG_CASES),
    aim=st.sampled_from(AIMS),
    noise=st.sampled_from(["auto", "gaussian"]),
    sizes=st.lists(st.integers(-200, 10**6) | st.integers(0, 60), min_size=13, max_size=13),
    seed=st.integers(0, 2**32 - 1),
    spread=st.sampled_from([0.01, 1.0, 1000.0]),
)
@example((1100, None, "no"), "counts", "auto", [0] * 8 + [10**6] + [0] * 4, 1, 1e3)
@example((1100, "user", "no"), "top", "gaussian", [10**6] * 13, 2, 1e3)
@example((5, "user", "no"), "counts", "gaussian", FEW, 3, 1.0)
@example((1100, "features", "no"), "recommend", "auto", [0] * 7 + [10**6] + [0] * 5, 5, 1e3)
@example((1100, "record", "yes"), "recommend", "gaussian", FEW, 5, 1e3)
def test_what_is_drawn_in_rho_costs_at_most_what_was_granted(
    held: HeldOnce, case: Case, aim: str, noise: str, sizes: list[int], seed: int, spread: float
) -> None:
    """All of it in ρ; or the sizes in ε, and the rest in ε or in the ρ that it grants."""
    draws = Seam(made_up=made_up(sizes, seed, spread))
    if aim == "recommend" and case[1] is None:
        aim = "counts"
    released = held[case, aim, noise].run(draws)
    course = released.course
    assert course is not None
    drawn = costs(released.tables)
    assert drawn == {one.name: one.cost for one in course.taken if one.cost}
    laws = {table.name: table.law.kind for table in released.tables}
    in_rho = {name for name, kind in laws.items() if kind == "discrete-gaussian"}
    assert in_rho == {one.name for one in course.taken if one.cost and one.currency == "rho"}
    rho = sum((drawn[name] for name in in_rho), Fraction(0))
    pure = sum((drawn[name] for name in drawn.keys() - in_rho), Fraction(0))
    if noise == "gaussian":
        assert not pure
        assert rho <= rho_of(EPSILON, DELTA) == course.total.value
    elif in_rho:
        assert set(drawn) - in_rho == {"sizes"}
        assert rho <= course.total.value == rho_of(EPSILON - pure, DELTA)
    assert pure + epsilon_of(rho, DELTA) <= EPSILON
    check_path(released, draws, case)


def check_path(released: Released, draws: Seam, case: Case) -> None:
    """What holds on every path, whatever it is paid for in."""
    course = released.course
    assert course is not None
    if case[0] != LONG:  # the cells of a summary that nobody is in are drawn in another way
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


def test_every_kind_of_step_is_reached(held: HeldOnce) -> None:
    """So that the above is about all of them, and about both answers of the look."""
    seen: set[Any] = set()
    for case, aim, sizes, spread in (
        ((1100, None, "no"), "counts", MANY, 1000.0),
        ((1100, None, "yes"), "counts", [0] * 5 + [150] + [0] * 7, 1.0),
        ((5, None, "no"), "counts", FEW, 1.0),
        ((5, "user", "no"), "counts", FEW, 1.0),
        ((5, "features", "no"), "recommend", FEW, 1.0),
        ((1100, "features", "no"), "recommend", FEW, 1000.0),
        ((1100, "features", "no"), "recommend", FEW, 0.0),
        ((1100, "features", "yes"), "recommend", FEW, 1000.0),
        ((1100, "record", "yes"), "recommend", FEW, 1000.0),
        ((1100, "record", "yes"), "recommend", FEW, 0.0),
        ((LONG, "features", "yes"), "recommend", FEW, 1000.0),
        ((LONG, "features", "no"), "recommend", FEW, 1000.0),
    ):
        released = held[case, aim, "laplace"].run(Seam(made_up=made_up(sizes, 5, spread)))
        assert released.course is not None
        seen |= {table.name for table in released.tables}
        seen |= {
            (one.name, one.facts["differ"])
            for one in released.course.taken
            if one.facts.get("differ") is not None
        }
    assert seen >= {
        "sizes", "pilot", "crowd", "items", "zoom", "bins", "head", "edges", "contexts", "tastes",
        "tastes_again", "split_head", "head_rows", "head_rows_again", ("tastes", True),
        ("tastes", False), ("head_rows", True), ("head_rows", False),
    }, seen  # fmt: skip


def test_every_kind_of_step_is_reached_in_rho(held: HeldOnce) -> None:
    seen: set[str] = set()
    for case, aim, sizes, spread in (
        ((1100, None, "no"), "counts", MANY, 1000.0),
        ((1100, None, "yes"), "counts", [0] * 5 + [90] + [0] * 7, 1.0),
        ((5, "features", "no"), "recommend", FEW, 1.0),
        ((1100, "features", "no"), "recommend", [10 * n for n in FEW], 1000.0),
        ((1100, "record", "yes"), "recommend", [10 * n for n in FEW], 1000.0),
    ):
        released = held[case, aim, "gaussian"].run(Seam(made_up=made_up(sizes, 5, spread)))
        seen |= {table.name for table in released.tables}
        course = released.course
        assert course is not None
        assert sum(costs(released.tables).values()) == course.spent <= rho_of(EPSILON, DELTA)
    assert seen >= {
        "sizes", "pilot", "crowd", "items", "zoom", "bins", "head", "edges", "contexts", "tastes",
        "tastes_again", "split_head", "head_rows", "head_rows_again",
    }, seen  # fmt: skip
