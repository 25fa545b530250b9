"""Every step of ``auto`` on items, where all of them run: what is counted, and what it can lose."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import crowdtally as ct
from crowdtally.curator.bounding.scaling import GRID
from crowdtally.curator.converse import Reading, Released
from crowdtally.curator.method import steps_of
from crowdtally.curator.request.request import make_request
from crowdtally.curator.steps.auto.design import Design
from crowdtally.curator.steps.auto.planned import PlannedStep
from crowdtally.format import NoisyTable
from crowdtally.records.duckdb import DuckDBEngine
from crowdtally.records.prepare import prepare
from kit import long_tail
from kit.cheap import cheap_estimates
from kit.long_tail import COMMON, EPSILON, ITEMS, USERS, rows_of_all, scaled, table_of
from kit.seam import Seam, cost, loss

ROWS = rows_of_all()
NAMES = ["sizes", "pilot", "crowd", "items", "zoom", "bins", "head"]


class Keyed(Reading):
    """Records with one sampling key."""

    def fresh_key(self) -> int:
        return 99


def request_of(rows: long_tail.Rows, **options: Any) -> Any:
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
    before: tuple[Released, ...]
    """What was released before each step."""
    released: Released


@pytest.fixture(scope="module")
def run() -> Run:
    request, before, released = request_of(ROWS), [], Released()
    steps, draws = steps_of(request), Seam()
    with reading(request) as records, cheap_estimates():
        for step in steps:
            before.append(released)
            released = step.release(step.count(records, released), released, draws)
    return Run(steps, tuple(before), released)


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

    def plan(self, released: Released) -> Any:
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


def counted(run: Run, steps: list[Any], rows: long_tail.Rows) -> list[tuple[NoisyTable, Any]]:
    """For each step after its own earlier outputs: the exact table, its noise and what it spent."""
    befores, found = dict(zip([step.name for step in run.steps], run.before, strict=True)), []
    with reading(request_of(rows)) as records:
        for step in steps:
            draws, released = Seam(), befores[step.name]
            made = step.release(step.count(records, released), released, draws)
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
