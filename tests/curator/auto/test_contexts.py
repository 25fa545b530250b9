"""The steps of contexts: what each may spend, and what one user changes on tiny databases."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest

from crowdtally.core.domain import PARTS, Domain, Features
from crowdtally.core.layout import KINDS
from crowdtally.core.privacy import Epsilon
from crowdtally.core.profile import Profile
from crowdtally.core.records import Records
from crowdtally.curator.bounding.scaling import GRID
from crowdtally.curator.counting.rows import (
    Visits,
    all_members_by_context,
    make_visits,
    users_by_block,
)
from crowdtally.curator.counting.tastes import count_tastes
from crowdtally.curator.request.request import Request, make_request
from crowdtally.curator.steps.auto import stop
from crowdtally.curator.steps.auto.contexts import ContextTotals, bound_of
from crowdtally.curator.steps.auto.course import SoFar, so_far
from crowdtally.curator.steps.auto.deciding import HEAD
from crowdtally.curator.steps.auto.design import Design
from crowdtally.curator.steps.auto.head_rows import RowsByContext
from crowdtally.curator.steps.auto.profiles import profile_of
from crowdtally.curator.steps.auto.split_head import UsersByContext
from crowdtally.curator.steps.auto.tastes import FeaturesByContext
from crowdtally.errors import CrowdtallyError
from crowdtally.inference.rows import read_sizes
from crowdtally.lab.rehearse import Rehearsal
from crowdtally.laws.interval import IntervalNoise
from crowdtally.laws.laplace import DiscreteLaplace
from crowdtally.noise.draws import SystemDraws
from crowdtally.records.duckdb import DuckDBEngine
from kit.databases import Database, RememberingEngine, Space, databases, histories, neighbours
from kit.draws import SilentDraws, Tracer
from kit.exact import LawLoss, losses

# ---- every neighbouring pair of tiny databases ---------------------------------------------------

SPACE = Space(3, 2)
EPSILON = Epsilon(Fraction(3, 2))
LONG = [(0, 0, 1), (0, 1, 2), (1, 3, 5), (2, 3, 4), (0, 3, 5), (5, 5, 5), (0, 1, 2, 3, 4, 5)]
ALONE = [(history,) for history in [*histories(SPACE.cells, 2), *LONG]]
"""One user with at most two records, anywhere; or with more."""
TWO = databases([(), (0, 1, 2), (0, 3, 5), (5, 5, 5)], 2)
TRIED: list[Database] = [*ALONE, *TWO]
FEATURES = Features(
    ("kind",), ("kind=a", "kind=b"), (0, 0),
    np.array([[PARTS, 0], [300, PARTS - 300], [0, PARTS]]), "",
)  # fmt: skip


def tiny_request(**options: Any) -> Request:
    names = ("user", "item", "context", "id")
    empty = pa.table({name: pa.array([], pa.int64()) for name in names})
    records = Records(empty, "user", "item", {"context": None})
    domain = Domain(range(SPACE.items), {"context": range(SPACE.contexts)}, item="item")
    return make_request(records, domain, epsilon=1, **options)


DESIGNS = {
    "U": Design.of(tiny_request(context_per_user="context", repeats="no")),
    "U with repeats": Design.of(tiny_request(context_per_user="context")),
    "R": Design.of(tiny_request()),
    "R without repeats": Design.of(tiny_request(repeats="no")),
}


@pytest.fixture(scope="module")
def visited() -> Iterator[Any]:
    """The users' rows of a tiny database, as production computes them."""
    with RememberingEngine() as engine:
        request = tiny_request()
        prepared = engine.prepare(request.records, request.domain)

        @cache
        def expressions(per_user: bool, repeats: bool, key: int) -> Visits:
            return make_visits(engine, prepared, key=key, per_user=per_user, repeats=repeats)

        def visits(database: Database, design: Design, key: int = 77) -> Visits:
            engine.replace(SPACE.rows(database, "none"))
            return expressions(design.per_user, design.repeats, key)

        yield visits


def laws(question: Any, counted: dict[Database, Any]) -> dict[Database, LawLoss]:
    """The law of what is published, read off the real draws."""
    found = {}
    for database, counts in counted.items():
        tracer = Tracer(room=24)
        values = question.table(EPSILON).publish(counts, tracer).values.tolist()
        found[database] = LawLoss(tuple(map(tracer.read, values)), tuple(tracer.rates))
    return found


def check_laplace(visited: Any, design: Design, question: Any) -> Fraction:
    """The largest loss of all neighbouring pairs: exact, and never above ε."""
    counted = {database: question.count(visited(database, design)) for database in TRIED}
    found, most = laws(question, counted), Fraction(0)
    for database in TRIED:
        for other in neighbours(database):
            for loss in losses({0: found[database]}, {0: found[other]}):
                assert loss.exact is not None, (database, other)
                assert loss.exact <= EPSILON.value, (database, other)
                most = max(most, loss.exact)
    return most


@pytest.mark.parametrize(("kind", "bound"), [("U", 1), ("R", 2), ("R without repeats", 1)])
def test_totals_of_contexts_are_private(visited: Any, kind: str, bound: int) -> None:
    question = ContextTotals(DESIGNS[kind], "contexts", bound)
    assert check_laplace(visited, DESIGNS[kind], question) == EPSILON.value


@pytest.mark.parametrize("kind", ["R", "U with repeats"])
def test_head_rows_are_private(visited: Any, kind: str) -> None:
    question = RowsByContext(DESIGNS[kind], "head_rows", np.array([0, 2]))
    assert check_laplace(visited, DESIGNS[kind], question) == EPSILON.value


def test_tastes_are_private(visited: Any) -> None:
    kind = "U with repeats"
    profile = profile_of(FEATURES, np.array([5.0, 3.0, 1.0]))
    assert profile is not None
    question = FeaturesByContext(DESIGNS[kind], "tastes", profile)
    most = check_laplace(visited, DESIGNS[kind], question)
    assert EPSILON.value * (1 - Fraction(4, GRID)) <= most  # but for the rounding of her cells


def widths(one: Any, other: Any) -> int:
    """Σ over contexts of max z⁺ + max z⁻: the loss of independent interval noises over ε."""
    apart = (one.values - other.values).reshape(-1, SPACE.contexts)
    return int(sum(max(z.max(), 0) + max((-z).max(), 0) for z in apart.T))


def test_a_split_head_is_private(visited: Any) -> None:
    design = DESIGNS["U"]
    question = UsersByContext(design, "split_head", np.array([0, 2]))
    for key in (77, 2**62 + 5):
        counted = {each: question.count(visited(each, design, key)) for each in TRIED}
        found = [
            widths(counted[database], counted[other])
            for database in TRIED
            for other in neighbours(database)
        ]
        assert max(found) == 1


class Scripted(SystemDraws):
    """Interval noise by a script: the n-th draw is n everywhere."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[tuple[Fraction, int]] = []

    def interval(self, rate: Fraction, size: int) -> Any:
        self.asked.append((rate, size))
        return np.full(size, len(self.asked), dtype=np.int64)


def test_every_context_has_a_draw_of_its_own(visited: Any) -> None:
    design, draws = DESIGNS["U"], Scripted()
    question = UsersByContext(design, "split_head", np.array([0, 2]))
    counted, table = question.count(visited(((0, 4),), design)), question.table(EPSILON)
    noisy = table.publish(counted, draws)
    assert draws.asked == [(EPSILON.value, 2)] * SPACE.contexts
    assert (noisy.values - counted.values).reshape(2, 2).tolist() == [[1, 2], [1, 2]]
    assert isinstance(table.law, IntervalNoise)
    assert table.law.blocks == SPACE.contexts


def test_a_user_of_several_contexts_is_never_counted_in_blocks(visited: Any) -> None:
    profile = profile_of(FEATURES, np.ones(3))
    assert profile is not None
    for count in (
        lambda visits: users_by_block(visits, np.array([0]), 2),
        lambda visits: count_tastes(visits, profile, 2),
        lambda visits: all_members_by_context(visits, 3, 2),
    ):
        with pytest.raises(CrowdtallyError, match="may be in several contexts"):
            count(visited(((0, 1),), DESIGNS["R"]))


@pytest.mark.parametrize("heavy", [(0, 2, 2, 4, 4), (1, 3, 3, 5, 5)])
def test_nobody_moves_another_user_to_another_context(visited: Any, heavy: tuple[int, ...]) -> None:
    """A user of both contexts beside one who has many records in one of them, and alone."""
    for key in range(8):
        beside = visited(((0, 1, 5), heavy), DESIGNS["U"], key)
        rows = sorted(row for row in beside.engine.rows(beside.rows) if row[0] == "1")
        alone = visited(((0, 1, 5), ()), DESIGNS["U"], key)
        assert rows == sorted(alone.engine.rows(alone.rows))


def test_the_bound_of_contexts_is_half_of_the_mean_row() -> None:
    def sizes(**bins: int) -> Any:
        counts = [0.0] * 13
        for name, users in bins.items():
            counts[int(name[1:])] = users
        return read_sizes(counts, 1.0)

    assert bound_of(sizes(_0=1000)) == 1
    assert bound_of(sizes(_6=1000)) == int(1.38 * 64 / 2)
    assert bound_of(sizes(_0=2)) == 16  # the sizes say nothing


# ---- the account on every path -------------------------------------------------------------------

ITEMS, USERS = 120, 80
CONTEXT = ["f", "m"]


def records(*, differ: bool = True) -> pa.Table:
    """Users of two contexts who like low or high items; an ε of 100 makes them many."""
    rng = np.random.default_rng(8)
    rows = []
    for user in range(USERS):
        for _ in range(6):
            low = (user % 2 == 0) if differ else rng.random() < 0.5
            item = int(rng.integers(0, 60) if low else rng.integers(60, ITEMS))
            rows.append((user, item, CONTEXT[user % 2]))
    columns = zip(*rows, strict=True)
    return pa.table(dict(zip(("user", "item", "sex"), map(list, columns), strict=True)))


def asked(features: bool = False, **options: Any) -> Request:
    declared = Records(records(), "user", "item", {"sex": None})
    domain = Domain(range(ITEMS), {"sex": CONTEXT}, item="item")
    request = make_request(declared, domain, epsilon=100, **options)
    if not features:
        return request
    halves = np.zeros((ITEMS, 2), dtype=np.int64)
    halves[:60, 0] = halves[60:, 1] = PARTS
    known = Features(("half",), ("half=low", "half=high"), (0, 0), halves, "")
    rule = replace(request.method.rule, features=known)  # type: ignore[type-var]
    return replace(request, method=replace(request.method, rule=rule))


def run(request: Request, differ: bool | None = None, draws: Any = None) -> SoFar:
    with DuckDBEngine() as engine:
        rehearsal = Rehearsal(request, engine)
        if differ is None:
            return so_far(rehearsal.run(1, draws or SilentDraws()))
        with patch.object(stop, "differ", lambda *_, **__: differ):
            return so_far(rehearsal.run(1, draws or SilentDraws()))


U, PLAIN = {"context_per_user": "sex", "repeats": "no"}, {"context_per_user": "sex"}
PATHS: dict[str, tuple[dict[str, Any], set[str]]] = {
    "U, counts": ({**U, "for_": "counts"}, {"split_head"}),
    "U, features, counts": ({**U, "features": True, "for_": "counts"}, {"split_head", "tastes"}),
    "U, recommend": ({**U, "for_": "recommend"}, {"split_head"}),
    "U, features, recommend": (
        {**U, "features": True, "for_": "recommend"}, {"split_head", "tastes", "tastes_again"},
    ),
    "U, repeats, counts": ({**PLAIN, "for_": "counts"}, set()),
    "U, repeats, recommend": ({**PLAIN, "for_": "recommend"}, {"head_rows", "head_rows_again"}),
    "U, repeats, features": (
        {**PLAIN, "features": True, "for_": "recommend"},
        {"tastes", "tastes_again", "head_rows"},
    ),
    "R, counts": ({"for_": "counts"}, set()),
    "R, recommend": ({"for_": "recommend"}, {"head_rows", "head_rows_again"}),
    "U, top": ({**U, "for_": "top"}, set()),
}  # fmt: skip
OF_CONTEXTS = {"split_head", "tastes", "tastes_again", "head_rows", "head_rows_again"}


def spent(released: SoFar) -> dict[str, Fraction]:
    assert released.course is not None
    taken = released.course.taken
    assert len({step.name for step in taken}) == len(taken)
    assert all(step.why for step in taken)
    return {step.name: step.cost for step in taken}


LOOKED = [name for name, (_, wanted) in PATHS.items() if any("again" in one for one in wanted)]


@pytest.mark.parametrize(
    ("name", "differ"), [*((name, True) for name in PATHS), *((name, False) for name in LOOKED)]
)
def test_every_path_spends_what_it_says(name: str, differ: bool) -> None:
    options, wanted = PATHS[name]
    released = run(asked(**options), differ)
    assert released.course is not None
    assert released.decided is not None
    cost = spent(released)
    looked = any("differ" in step.facts for step in released.course.taken)
    assert looked == (name in LOOKED)
    if looked and not differ:
        wanted = wanted & {"tastes" if options.get("features") else "head_rows"}
    tables = {table.name for table in released.tables}
    assert tables & OF_CONTEXTS == wanted
    assert "contexts" in tables
    assert tables == {step for step, epsilon in cost.items() if epsilon}
    assert cost["contexts"] == 2
    assert released.course.spent <= 100
    for table in released.tables:
        at = table.law.rate if isinstance(table.law, IntervalNoise) else None
        assert at is None or at == cost[table.name]
        earlier = KINDS[table.name].refines
        whole = cost[table.name] + (cost[earlier] if earlier else 0)
        assert Fraction(table.facts["epsilon"]) == whole
    if looked and not differ:
        check_stopped(released, cost)


def check_stopped(released: SoFar, cost: dict[str, Fraction]) -> None:
    """What the stop saved is in the zoom; the head is the plain one."""
    assert released.course is not None
    assert released.decided is not None
    shares = released.decided.shares
    look = cost.get("tastes", 0) + cost.get("head_rows", 0)
    assert "split_head" not in {table.name for table in released.tables}
    assert cost["head"] in (0, HEAD * 100)
    split = shares.head - HEAD if released.decided.split_head else 0
    saved = (shares.tastes + shares.head_rows + split) * 100 - look
    half = released.decided.zooms and released.decided.sizes.reliable
    assert saved > 0
    assert cost["zoom"] == saved + (cost["items"] if half else 0)


def test_a_second_half_refines_the_same_cells() -> None:
    released = run(asked(features=True, **U, for_="recommend"), differ=True)
    first, second = released.table("tastes"), released.table("tastes_again")
    assert first is not None
    assert second is not None
    assert first.values.tolist() == second.values.tolist()  # without noise
    assert isinstance(first.law, DiscreteLaplace)
    assert second.law == replace(first.law, scale=first.law.scale / 2)
    own = first.facts.keys() - {"epsilon"}
    assert {k: first.facts[k] for k in own} == {k: second.facts[k] for k in own}
    profile = Profile.from_dict(first.facts)
    assert profile.as_dict() == {k: first.facts[k] for k in profile.as_dict()}
    assert set(profile.names) == {"half=low", "half=high"}


def test_the_mean_profile_follows_from_what_was_released() -> None:
    """Another noise on the items, another profile: the records do not decide it."""

    class Loud(SilentDraws):
        """Noise on the first items' cells, of every table of Laplace noise."""

        def laplace(self, scale: Fraction, size: int) -> Any:
            noise = np.zeros(size, dtype=np.int64)
            if size == ITEMS:
                noise[:30] = GRID * 6
            return noise

    quiet, loud = (
        run(asked(features=True, **U, for_="counts"), draws=draws).table("tastes")
        for draws in (SilentDraws(), Loud())
    )
    assert quiet is not None
    assert loud is not None
    means = [Fraction(table.facts["profile"][0]) for table in (quiet, loud)]
    assert means[1] > means[0] + Fraction(1, 10)


def test_a_look_tells_tastes_from_noise() -> None:
    released = run(asked(features=True, **U, for_="recommend"), draws=SystemDraws())
    assert released.course is not None
    (said,) = [step.facts["differ"] for step in released.course.taken if "differ" in step.facts]
    assert said is True


def test_shares_of_features_add_up_in_what_is_published() -> None:
    released = run(asked(features=True, **U, for_="counts"))
    table = released.table("tastes")
    assert table is not None
    assert (np.array(table.facts["kinds"]).sum(axis=1) == PARTS).all()
    assert len(table.facts["items"]) == ITEMS
    rows = list(product(range(3), CONTEXT))
    named = next(table.blocks())
    assert list(zip(named["feature"].tolist(), named["sex"].tolist(), strict=True)) == rows
