"""The steps of ``auto``: what each shares, counts and releases."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
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
from crowdtally.curator.bounding.scaling import AIMS, GRID
from crowdtally.curator.counting.count import Reading, count
from crowdtally.curator.method import charge_of, method_of
from crowdtally.curator.request import table_specs
from crowdtally.curator.request.request import make_request
from crowdtally.curator.steps.auto.course import SoFar, so_far
from crowdtally.curator.steps.auto.design import Design
from crowdtally.curator.steps.auto.line import StepQuestion
from crowdtally.curator.steps.auto.planned import PlannedStep
from crowdtally.format import NoisyTable
from crowdtally.laws.conversion import epsilon_of, rho_of
from crowdtally.records.duckdb import DuckDBEngine
from crowdtally.records.prepare import prepare
from kit import auto
from kit.auto import COMMON, EPSILON, ITEMS, USERS, rows_of_all, scaled, table_of
from kit.draws import Seam, cost, costs, loss
from kit.processes import cheap_estimates
from kit.publishing import run_steps

# ---- Every step of ``auto`` on items, where all of them run: what is counted, and what it can
#      lose


ROWS = rows_of_all()
NAMES = ["sizes", "pilot", "crowd", "items", "zoom", "bins", "head"]


class Keyed(Reading):
    """Records with one sampling key."""

    def fresh_key(self) -> int:
        return 99


def request_of(rows: auto.Rows, **options: Any) -> Any:
    records = ct.read(table_of(rows), user="user", item="item")
    return make_request(
        records, ct.Domain(range(ITEMS)), epsilon=EPSILON, count="users", **options
    )  # fmt: skip


@contextmanager
def reading(request: Any) -> Iterator[Reading]:
    with DuckDBEngine() as engine:
        yield Keyed(engine, prepare(engine, request.records, request.domain, request.sources))


@dataclass(frozen=True)
class Run:
    """A run without noise."""

    steps: tuple[Any, ...]
    before: tuple[SoFar, ...]
    """What was released before each step."""
    released: SoFar


@pytest.fixture(scope="module")
def run() -> Run:
    request, before, released = request_of(ROWS), [], SoFar()
    method, draws = method_of(request), Seam()
    asking, answer = method.ask(), None
    with reading(request) as records, cheap_estimates():
        for _ in method.steps:
            question = asking.send(answer)
            before.append(question.before)
            answer = question.draw(count(question, records).found, draws)
            released = answer.released
    return Run(method.steps, tuple(before), released)


def table(run: Run, name: str) -> NoisyTable:
    found = run.released.table(name)
    assert found is not None, f"the step {name} did not run: the made-up crowd must be another"
    return found


def fact(run: Run, step: str, name: str) -> Any:
    assert run.released.course is not None
    return next(one.facts[name] for one in run.released.course.taken if one.name == step)


def dense(counts: dict[int, int], places: Any = range(ITEMS)) -> list[int]:
    return [counts.get(int(place), 0) for place in places]


def test_all_steps_run_and_spend_all(run: Run) -> None:
    course = run.released.course
    assert course is not None
    assert course.left == 0
    assert [t.name for t in run.released.tables] == NAMES
    assert sum(cost(t) for t in run.released.tables) == EPSILON
    assert all(step.why and step.why[0].islower() for step in course.taken)


def test_the_pilot_sees_all_items_in_rows_of_1(run: Run) -> None:
    assert table(run, "pilot").values.tolist() == dense(scaled(ROWS, None, 1, GRID))


def test_the_crowd_is_of_distinct_users_and_leaves_the_rows(run: Run) -> None:
    crowd, users = table(run, "crowd"), range(USERS)
    assert tuple(crowd.layout.places) == COMMON  # type: ignore[attr-defined]
    pieces = crowd.law.phantoms + 1  # type: ignore[attr-defined]
    wanted = [pieces * sum(item in ROWS[user] for user in users) for item in COMMON]
    assert crowd.values.tolist() == wanted
    outside = set(range(ITEMS)) - set(COMMON)
    theta = fact(run, "items", "theta")
    assert theta > 1
    items = table(run, "items")
    assert items.values.tolist() == dense(scaled(ROWS, outside, theta, GRID))
    assert not items.values[list(COMMON)].any()


def test_the_zoom_is_scaled_inside(run: Run) -> None:
    zoom, theta = table(run, "zoom"), fact(run, "zoom", "theta")
    places = zoom.layout.places  # type: ignore[attr-defined]
    assert theta == max(1, 3 * fact(run, "items", "theta") // 10)
    assert not set(places) & set(COMMON)
    assert len(places) == fact(run, "zoom", "items")
    inside = scaled(ROWS, set(places.tolist()), theta, GRID)
    assert zoom.values.tolist() == dense(inside, places)
    assert zoom.description()["publishing"] == "chosen"
    assert cost(zoom) == cost(table(run, "items"))


def test_the_bins_hold_all_but_the_crowd(run: Run) -> None:
    bins, cap = table(run, "bins"), fact(run, "bins", "cap")
    groups = np.array(list(bins.facts["groups"]))
    assert np.flatnonzero(groups == "-").tolist() == list(COMMON)
    weights = scaled(ROWS, set(range(ITEMS)) - set(COMMON), cap, GRID)
    each = np.array(dense(weights))
    assert bins.values.tolist() == [int(each[groups == str(g)].sum()) for g in range(4)]


def test_the_head_is_of_distinct_users_outside_the_crowd(run: Run) -> None:
    head = table(run, "head")
    places = head.layout.places.tolist()  # type: ignore[attr-defined]
    pieces = head.law.phantoms + 1  # type: ignore[attr-defined]
    assert len(places) == 20
    assert not set(places) & set(COMMON)
    assert pieces == 3
    assert head.values.tolist() == [
        pieces * sum(item in own for own in ROWS.values()) for item in places
    ]


# ---- what each step can lose, for fixed earlier outputs --------------------------------------


@dataclass(frozen=True, eq=False)
class Fixed:
    """A query whose plan was made once: it is a function of what was released before."""

    design: Design
    name: str
    made: Any

    def plan(self, released: SoFar) -> Any:
        return self.made


@pytest.fixture(scope="module")
def fixed(run: Run) -> list[Any]:
    """The steps with their plans."""
    found = [run.steps[0]]
    for step, released in zip(run.steps[1:], run.before[1:], strict=True):
        if isinstance(step, PlannedStep) and step.name in NAMES:
            query = step.query
            with cheap_estimates():
                plan = query.plan(released)
            found.append(PlannedStep(Fixed(query.design, query.name, plan)))
    return found


def subjects(run: Run) -> dict[str, set[int]]:
    """Who is added to a few others: the worst for each step, and the usual."""
    zoomed = table(run, "zoom").layout.places.tolist()  # type: ignore[attr-defined]
    head = table(run, "head").layout.places.tolist()  # type: ignore[attr-defined]
    return {
        "everything chosen": {*COMMON, *zoomed, *head},
        "all in the crowd": set(COMMON),
        "one item": {zoomed[0]},
        "a long row": set(range(0, ITEMS, 40)),
        "a long row and the crowd": {*range(3000), *COMMON},
        "just theta": set(range(100, 100 + fact(run, "items", "theta"))) - set(COMMON),
        "one more": set(range(100, 102 + fact(run, "items", "theta"))) - set(COMMON),
    }


def counted(run: Run, steps: list[Any], rows: auto.Rows) -> list[tuple[NoisyTable, Any]]:
    """For each step after its own earlier outputs: the exact table, its noise and what it spent."""
    befores, found = dict(zip([step.name for step in run.steps], run.before, strict=True)), []
    request = request_of(rows)
    records_design = Design.of(request)
    with reading(request) as records:
        for step in steps:
            draws, released = Seam(), befores[step.name]
            question = StepQuestion(records_design, step, released, ())
            made = question.draw(count(question, records).found, draws).released
            (drawn,) = draws.drawn
            found.append((made.tables[-1], (drawn, made.course.taken[-1].cost)))
    return found


def test_no_step_loses_more_than_it_spent(run: Run, fixed: list[Any]) -> None:
    others = {1: {3, 8, 9}, 2: set(range(50, 90))}
    worst = dict.fromkeys(NAMES, Fraction(0))
    assert [step.name for step in fixed] == NAMES
    without = counted(run, fixed, others)
    for who, row in subjects(run).items():
        joined = counted(run, fixed, {**others, 3: row})
        for name, (table, told), (before, same) in zip(NAMES, joined, without, strict=True):
            assert told == same, "the noise depends on the records"
            noise, spent = told
            found = loss(table, before, noise)
            assert found <= spent, f"{name} loses {found} of {spent} with {who}"
            worst[name] = max(worst[name], found / spent)
    assert all(share > Fraction(99, 100) for share in worst.values()), worst


def test_no_phantoms_for_ranks() -> None:
    """D is 0 under --for top, in the crowd and the head alike."""
    from crowdtally.core.privacy import Epsilon
    from crowdtally.curator.steps.auto.questions import ChosenMembers

    design = Design.of(request_of({1: {1}}))
    chosen = np.arange(20)
    for aim, phantoms in (("counts", 2), ("recommend", 2), ("top", 0)):
        asked = ChosenMembers(replace(design, aim=aim), "head", chosen)  # type: ignore[arg-type]
        law = asked.table(Epsilon.of(1)).law
        assert (law.phantoms, law.rate, law.cells) == (phantoms, 1, 20)


# ---- On every path the shares add up to at most ε, or ρ, whatever was released on the way --------


ROWS_SHARES = pa.table({"user": [1, 1, 2], "item": [0, 1, 1], "day": ["a", "b", "a"]})
DAYS = {"day": ["a", "b"]}
EPSILON_SHARES, DELTA = Fraction(7, 3), Fraction(1, 10**9)

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
        records = ct.read(ROWS_SHARES, user="user", item="item", **named)
        told: dict[str, Any] = {} if noise == "laplace" else {"noise": noise, "delta": DELTA}
        if contexts in ("user", "features"):
            told["context_per_user"] = "day"
        if contexts == "features" and aim != "top":
            told["features"] = kinds
        domain = ct.Domain(range(items), DAYS if contexts else None)
        with patch.multiple(table_specs, LARGEST_DENSE_AUTO=LONG - 1, _AUTO_SIZE=50):
            self.request: Any = make_request(
                records, domain, epsilon=EPSILON_SHARES, for_=aim, repeats=repeats, **told
            )
        self.engine = DuckDBEngine()
        request = self.request
        prepared = prepare(self.engine, request.records, request.domain, request.sources)
        self.reading = Reading(self.engine, prepared)

    def run(self, draws: Seam) -> SoFar:
        with cheap_estimates():
            return so_far(run_steps(self.request, self.reading, draws))


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
    assert charge_of(asked, method_of(asked), {}).epsilon.value == EPSILON_SHARES
    drawn = costs(released.tables)
    assert sum(drawn.values()) == course.spent <= EPSILON_SHARES
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
        assert rho <= rho_of(EPSILON_SHARES, DELTA) == course.total.value
    elif in_rho:
        assert set(drawn) - in_rho == {"sizes"}
        assert rho <= course.total.value == rho_of(EPSILON_SHARES - pure, DELTA)
    assert pure + epsilon_of(rho, DELTA) <= EPSILON_SHARES
    check_path(released, draws, case)


def check_path(released: SoFar, draws: Seam, case: Case) -> None:
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
        assert sum(costs(released.tables).values()) == course.spent <= rho_of(EPSILON_SHARES, DELTA)
    assert seen >= {
        "sizes", "pilot", "crowd", "items", "zoom", "bins", "head", "edges", "contexts", "tastes",
        "tastes_again", "split_head", "head_rows", "head_rows_again",
    }, seen  # fmt: skip
