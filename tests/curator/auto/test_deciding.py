"""What ``auto`` decides, from released numbers alone."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import partial
from math import log
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import crowdtally as ct
from crowdtally.core.counts import Counts
from crowdtally.core.domain import PARTS, Features
from crowdtally.core.layout import Numbered
from crowdtally.core.privacy import Delta, Epsilon, Rho
from crowdtally.core.profile import FINE, HEAVIEST, WEIGHT, Profile
from crowdtally.curator.converse import converse
from crowdtally.curator.counting.count import Reading, count
from crowdtally.curator.refined import Averaged
from crowdtally.curator.request.method import AUTO_PART
from crowdtally.curator.request.request import make_request
from crowdtally.curator.steps.auto.course import Course, SoFar, so_far
from crowdtally.curator.steps.auto.crowd import crowded
from crowdtally.curator.steps.auto.deciding import better_of, decide, head_items
from crowdtally.curator.steps.auto.design import Design
from crowdtally.curator.steps.auto.items import unreserved
from crowdtally.curator.steps.auto.line import AutoMethod, auto_steps
from crowdtally.curator.steps.auto.pilot import Pilot, pilot_cost
from crowdtally.curator.steps.auto.planned import Passed, Planned
from crowdtally.curator.steps.auto.profiles import profile_of
from crowdtally.curator.steps.auto.zoom import zoom_theta
from crowdtally.curator.summaries.priority import FilterPriority
from crowdtally.curator.table import Table
from crowdtally.errors import CrowdtallyError
from crowdtally.inference.rows import Sizes, best_theta, read_sizes
from crowdtally.lab.rehearse import Rehearsed
from crowdtally.laws.conversion import rho_of
from crowdtally.laws.interval import IntervalNoise
from crowdtally.records.duckdb import DuckDBEngine
from crowdtally.records.prepare import prepare
from kit.draws import DrawnSeam, Seam, cost

# ---- Which steps run, and with which shares, once the sizes are known ----------------------------


NO = Fraction(0)


def design(items: int = 4000, *, epsilon: Any = 1, **options: Any) -> Design:
    records = ct.read({"user": [1], "item": [0]}, user="user", item="item")
    request = make_request(records, ct.Domain(range(items)), epsilon=epsilon, **options)
    return Design.of(request)


def sizes(users: float, place: int, std: float = 1.0) -> Sizes:
    """All users in one bin."""
    bins = [0.0] * 13
    bins[place] = users
    return read_sizes(bins, std)


LONG, SHORT, NOTHING = sizes(6000, 7), sizes(6000, 0), sizes(2, 3, std=50.0)


def percent(share: Fraction) -> Fraction:
    return 100 * share


def test_the_usual() -> None:
    found = decide(design(), LONG)
    assert (percent(found.shares.bins), percent(found.shares.head)) == (3, 8)
    assert found.shares.total == Fraction(11, 100)
    assert not (found.light)
    assert not (found.small)
    assert not (found.zooms)
    assert not (found.split_head)


def test_for_top_the_head_has_most_of_all_and_always_runs() -> None:
    found = decide(design(for_="top"), SHORT)
    assert percent(found.shares.head) == 45
    assert head_items(design(for_="top")) == 30
    assert decide(design(), SHORT).shares.head == NO  # all is kept


def test_nothing_is_calibrated_where_nothing_is_lost() -> None:
    found = decide(design(), SHORT)
    assert found.light
    assert found.shares.bins == NO
    assert found.theta(1.0) == best_theta(SHORT, 1.0, 4000, light=True)


@pytest.mark.parametrize(("items", "aim", "wanted"), [
    (79, "counts", 0), (80, "counts", 20), (119, "top", 0), (120, "top", 30), (2**63, "counts", 0),
])  # fmt: skip
def test_a_head_is_at_most_a_quarter(items: int, aim: Any, wanted: int) -> None:
    plain = replace(design(), aim=aim)
    sized = replace(plain, table=replace(plain.table, cells=Numbered("cell", items)))
    assert head_items(sized) == wanted
    assert (decide(sized, NOTHING).shares.head > 0) == (wanted > 0)


def test_unreliable_sizes_decide_for_caution() -> None:
    found = decide(design(), NOTHING)
    assert not NOTHING.reliable
    assert (found.theta(1.0), found.q, found.zooms, found.small) == (1, 0.0, False, False)
    assert (percent(found.shares.bins), percent(found.shares.head)) == (3, 8)
    once, many = design(count="users"), replace(NOTHING, users=1e6)
    plan = Pilot(once).plan(SoFar(course=Course(Epsilon(Fraction(1))), decided=decide(once, many)))
    assert isinstance(plan, Passed)


def test_a_small_domain_replaces_bins_zoom_and_head() -> None:
    """√((m+2)(m+3)/6) < √2·θ; one item too many for that, and rows are bounded."""
    once, long = {"count": "users"}, sizes(50, 9)
    theta = decide(design(7, **once), long).theta(0.86)
    found = decide(design(7, **once), long)
    assert 12 * theta**2 > 9 * 10
    assert found.small
    assert not found.zooms
    assert found.shares.total == NO
    assert not decide(design(7), long).small  # with repeats a user counts several times
    assert not decide(design(5000, **once), sizes(10**6, 12)).small  # more than one draw can have
    edge = [m for m in range(2, 300) if decide(design(m, **once), sizes(6000, 5)).small]
    assert edge == list(range(2, len(edge) + 2)), "small is up to some size, not here and there"
    last = edge[-1]
    at = [
        best_theta(sizes(6000, 5), 0.86, m, light=decide(design(m, **once), sizes(6000, 5)).light)
        for m in (last, last + 1)
    ]
    assert (last + 2) * (last + 3) < 12 * at[0] ** 2
    assert (last + 3) * (last + 4) >= 12 * at[1] ** 2


@pytest.mark.parametrize(("users", "zooms", "mass"), [
    (2001, False, 0.3), (1999, True, 0.3), (801, True, 0.3), (799, True, 0.15),
])  # fmt: skip
def test_few_users_per_item_make_a_zoom(users: int, zooms: bool, mass: float) -> None:
    found = decide(design(), sizes(users, 6))
    assert found.zooms == zooms
    assert not zooms or found.zoom_mass == mass


def test_sparse_domains_have_neither_zoom_nor_bins() -> None:
    plain = design(count="users")
    summary = replace(plain.table, publishing=FilterPriority(100, None, None, "two"))
    sparse = replace(plain, table=summary)
    found = decide(sparse, sizes(900, 6))
    assert sparse.is_sparse
    assert not found.zooms
    assert found.shares.bins == NO
    assert percent(found.shares.head) == 8
    released = SoFar(course=Course(Epsilon(Fraction(1))), decided=decide(sparse, sizes(10**7, 6)))
    assert isinstance(Pilot(sparse).plan(released), Passed)


def test_rest_is_what_neither_is_spent_nor_set_aside() -> None:
    made = design(1300, epsilon="1/3", for_="top")
    course, _ = Course(Epsilon(made.epsilon)).spend("sizes", made.epsilon * Fraction(3, 100), "x")
    released = SoFar(course=course, decided=decide(made, LONG))
    assert unreserved(released) == Fraction(1, 3) * Fraction(100 - 3 - 3 - 45, 100)


@pytest.mark.parametrize(("users", "share"), [
    (400, "0.3"), (4000, "0.3"), (4800, "0.36"), (6000, "0.45"), (10**6, "0.45"),
])  # fmt: skip
def test_the_head_of_a_top_list_costs_less_where_users_are_few(users: int, share: str) -> None:
    found = decide(design(for_="top"), sizes(users, 7))
    assert found.shares.head == Fraction(share)
    assert decide(design(for_="top"), NOTHING).shares.head == Fraction("0.3")


@pytest.mark.parametrize(("users", "runs"), [(29_000, False), (30_000, True)])
def test_a_pilot_is_cheap_or_is_not(users: int, runs: bool) -> None:
    made = design(4000, count="users")
    released = SoFar(course=Course(Epsilon(Fraction(1))), decided=decide(made, sizes(users, 3)))
    plan = Pilot(made).plan(released)
    assert isinstance(plan, Planned) == runs
    exact = (log(4000) + 2) / (0.01 * users)
    assert 0 <= exact - float(pilot_cost(4000, float(users))) < 2e-9
    assert not runs or plan.cost == pilot_cost(4000, float(users)) <= Fraction(35, 1000)
    repeated = design(4000)
    assert isinstance(Pilot(repeated).plan(released), Passed)
    assert isinstance(Pilot(design(999, count="users")).plan(released), Passed)


def test_the_crowd_is_at_most_30_ties_by_order() -> None:
    assert crowded(np.full(50, 2.0), 100.0).tolist() == list(range(30))
    assert crowded(np.array([0.99, 1.0, 1.0, 1.0, 1.0]), 100.0).tolist() == []  # 4% together
    assert crowded(np.array([0.99, 1.0, 1.0, 1.0, 2.0]), 100.0).tolist() == [1, 2, 3, 4]


def test_a_zoom_never_has_a_bound_of_0() -> None:
    assert [zoom_theta(theta, 0.3) for theta in (1, 2, 3, 4, 7, 50)] == [1, 1, 1, 1, 2, 15]
    assert [zoom_theta(theta, 0.15) for theta in (1, 6, 7, 13, 14, 50)] == [1, 1, 1, 1, 2, 7]


# ---- ``auto`` with a δ: what is charged, and which noise it decides for --------------------------


DELTA = Fraction(1, 10**9)


def design_delta(items: int = 4000, **options: Any) -> Design:
    records = ct.read({"user": [1], "item": [0]}, user="user", item="item")
    told = {"epsilon": 1, "count": "users", "delta": DELTA, **options}
    return Design.of(make_request(records, ct.Domain(range(items)), **told))


def sizes_delta(users: float, place: int) -> Sizes:
    bins = [0.0] * 13
    bins[place] = users
    return read_sizes(bins, 1.0)


def begun(made: Design) -> Course:
    course = Course(made.opening)
    return course.spend("sizes", course.share(Fraction(3, 100)), "first")[0]


def test_all_of_it_is_charged_before_the_first_draw() -> None:
    """ε and δ in one pair where the noise is decided later; ρ; or ε alone."""
    granted = rho_of(Fraction(1), DELTA)
    for noise, epsilon, rho, delta in (
        ("auto", Epsilon.of(1), None, DELTA),
        ("gaussian", None, Rho(granted), 0),
        ("laplace", Epsilon.of(1), None, 0),
    ):
        (part,) = AutoMethod(replace(design_delta(), noise=noise)).parts
        assert (part.name, part.mechanism) == (AUTO_PART, "adaptive")
        assert (part.epsilon, part.rho, part.delta) == (epsilon, rho, Delta(Fraction(delta)))
    (part,) = AutoMethod(design_delta(delta=0)).parts
    assert (part.epsilon, part.rho, part.delta) == (Epsilon.of(1), None, Delta())


@pytest.mark.parametrize(
    ("place", "in_rho"), [(0, False), (1, False), (3, False), (6, True), (8, True)]
)
def test_long_rows_are_paid_for_in_rho(place: int, in_rho: bool) -> None:
    """The rest of ε buys less in ρ, but norms of long rows are much smaller than their sums."""
    made = design_delta()
    course = better_of(made, sizes_delta(6000, place), begun(made))
    assert (course.currency == "rho") == in_rho
    if in_rho:
        assert course.total == Rho(rho_of(Fraction(97, 100), DELTA))
        found = decide(made, sizes_delta(6000, place), course.total)
        assert found.norm == "l2"
        assert found.theta(course.worth(course.total.value)) ** 2 <= 4 * 2 ** (place + 1)


def test_a_long_list_stays_with_laplace_noise() -> None:
    made = design_delta()
    sparse = replace(
        made, table=replace(made.table, publishing=FilterPriority(100, None, None, "two"))
    )
    assert better_of(sparse, sizes_delta(6000, 8), begun(sparse)).currency == "epsilon"


def test_nobody_is_bounded_where_no_row_is_longer_than_theta() -> None:
    made = design_delta(30, noise="gaussian")
    found = decide(made, sizes_delta(10**6, 4))
    assert (found.small, found.shares.bins, found.shares.head) == (True, 0, 0)
    assert not decide(design_delta(4000, noise="gaussian"), sizes_delta(6000, 7)).small


def test_a_second_look_is_a_mean() -> None:
    """Of both draws, as good as one at twice the ρ, and told so."""
    rho, layout = Rho(Fraction(1, 20)), Numbered("feature", 4)
    look = Table("tastes", AUTO_PART, layout, rho, 8, Fraction(1, 8))
    counts = Counts(4, np.arange(4), np.array([5, 0, 16, 80]), 8, Fraction(1, 8))
    first = look.publish(counts, Seam(made_up=lambda size: np.full(size, 7)))
    again = Averaged("tastes_again", AUTO_PART, layout, rho, 8, Fraction(1, 8), before=first)
    draws = Seam(made_up=lambda size: np.full(size, -3))
    second = again.publish(counts, draws)
    assert [one.parameter for one in draws.drawn] == [64 / (2 * rho.value)]  # the same variance
    assert second.values.tolist() == [14, 4, 36, 164]  # both values, in halves of a unit
    assert (second.law.unit, cost(second)) == (Fraction(1, 16), 2 * rho.value)
    assert second.law.std() == pytest.approx(first.law.std() / 2**0.5, rel=1e-9)
    other = Averaged("x", AUTO_PART, layout, rho * 2, 8, Fraction(1, 8), before=first)
    with pytest.raises(CrowdtallyError, match="another noise"):
        other.publish(counts, draws)


# ---- A small domain: all items as distinct users, in each context by a draw of its own -----------


USERS = 3000
ITEMS, DAYS = 5, ["a", "b"]


def released(**options: Any) -> tuple[SoFar, list[DrawnSeam]]:
    """Users of even numbers have all items on day a, the others two on both days, each twice."""
    rows = [
        (user, item, day)
        for user in range(USERS)
        for item in range(5 if user % 2 == 0 else 2)
        for day in ("aa" if user % 2 == 0 else "ab")
    ]
    users, items, days = (list(column) for column in zip(*rows, strict=True))
    table = pa.table({"user": users, "item": items, "day": days})
    records = ct.read(table, user="user", item="item", contexts=["day"])
    domain = ct.Domain(range(ITEMS), {"day": DAYS})
    request: Any = make_request(records, domain, epsilon=10, count="users", **options)
    draws, design = Seam(), Design.of(request)
    names = ("sizes", "pilot", "crowd", "items", "zoom", "bins")
    steps = tuple(step for step in auto_steps(design) if step.name in names)
    method = AutoMethod(design, steps)
    with DuckDBEngine() as engine:
        prepared = prepare(engine, request.records, request.domain, request.sources)
        reading = Reading(engine, prepared)
        counted = partial(count, records=reading)
        found = converse(method.ask(), counted, Rehearsed(method), draws)
    return so_far(found), draws.drawn


def test_all_items_at_once() -> None:
    found, drawn = released()
    table = found.table("items")
    assert found.decided is not None
    assert found.decided.small
    assert [one.name for one in found.tables] == ["sizes", "items"]
    assert table is not None
    assert isinstance(table.law, IntervalNoise)
    pieces = table.law.phantoms + 1
    assert table.values.tolist() == [pieces * n for n in (USERS, USERS, *[USERS // 2] * 3)]
    # 3% for the sizes, 2% for the contexts: the rest is spent here, and nothing is set aside
    assert drawn[1] == DrawnSeam("interval", Fraction(95, 10), ITEMS + table.law.phantoms)


def test_each_context_has_a_draw_of_its_own() -> None:
    found, drawn = released(context_per_user="day")
    table = found.table("edges")
    assert found.table("items") is None
    assert table is not None
    law = table.law
    assert isinstance(law, IntervalNoise)
    assert law.blocks == 2
    same = DrawnSeam("interval", Fraction(95, 10), ITEMS + law.phantoms)
    assert drawn[1:] == [same, same]
    counts = table.values.reshape(ITEMS, len(DAYS)) // (law.phantoms + 1)
    assert counts.sum(axis=1).tolist() == [USERS, USERS, *[USERS // 2] * 3]
    assert counts[2:].tolist() == [[USERS // 2, 0]] * 3
    assert (counts[0] == counts[1]).all(), "a user has her two items in two contexts"
    assert list(table.layout.names) == ["item", "day"]


@pytest.mark.parametrize("aim", ["top", "counts"])
def test_phantoms_where_counts_matter(aim: str) -> None:
    found, _ = released(for_=aim)
    law = found.tables[-1].law
    assert isinstance(law, IntervalNoise)
    assert law.phantoms == {"top": 0, "counts": 1}[aim]


# ---- Features merged and weighed: by hand, and their edges ---------------------------------------


def features(*columns: tuple[str, list[str]]) -> Features:
    """One feature per item and column."""
    names: list[str] = []
    groups: list[int] = []
    blocks = []
    for number, (column, values) in enumerate(columns):
        known = sorted(set(values))
        names += [f"{column}={value}" for value in known]
        groups += [number] * len(known)
        blocks.append(np.array([[PARTS * (v == k) for k in known] for v in values], dtype=np.int64))
    shares = np.concatenate(blocks, axis=1)
    return Features(tuple(c for c, _ in columns), tuple(names), tuple(groups), shares, "")


def means(profile: Profile) -> dict[str, float]:
    return dict(zip(profile.names, (profile.means / FINE).round(3).tolist(), strict=True))


def test_small_features_are_merged_into_other() -> None:
    told = features(("genre", ["a", "b", "c", "d", "other"]))
    profile = profile_of(told, np.array([50.0, 40, 3, 3, 4]))
    assert profile is not None
    assert means(profile) == {"genre=a": 0.5, "genre=b": 0.4, "genre=other": 0.1}
    assert profile.merged == {"genre=c": "genre=other", "genre=d": "genre=other"}
    assert (profile.kinds.sum(axis=1) == PARTS).all()
    assert profile.kinds[profile.items[2]].tolist() == [0, 0, PARTS]


def test_an_other_that_is_small_itself_joins_the_smallest() -> None:
    told = features(("genre", ["a", "b", "c", "d"]))
    profile = profile_of(told, np.array([56.0, 41, 2, 1]))
    assert profile is not None
    assert means(profile) == {"genre=a": 0.56, "genre=b": 0.44}
    assert profile.merged == {"genre=c": "genre=b", "genre=d": "genre=b"}


def test_a_group_of_one_feature_is_left_out() -> None:
    told = features(("genre", ["a", "b", "a"]), ("decade", ["90", "90", "80"]))
    profile = profile_of(told, np.array([50.0, 49, 1]))
    assert profile is not None
    assert profile.names == ("genre=a", "genre=b")
    assert profile.merged == {"decade=80": None, "decade=90": None}
    assert profile_of(features(("decade", ["90", "90", "80"])), np.array([50.0, 49, 1])) is None


def test_weights_are_the_inverse_roots_and_at_most_five() -> None:
    told = features(("genre", ["a", "b", "c"]))
    profile = profile_of(told, np.array([4.0, 25, 71]))
    assert profile is not None
    assert profile.weights.tolist() == [HEAVIEST * WEIGHT, 2 * WEIGHT, int(WEIGHT / 0.71**0.5)]


def test_counts_that_say_nothing_weigh_every_item_alike() -> None:
    told = features(("genre", ["a", "a", "a", "b"]))
    for counts in (np.zeros(4), np.array([-1.0, -2, -3, -4])):
        profile = profile_of(told, counts)
        assert profile is not None
        assert means(profile) == {"genre=a": 0.75, "genre=b": 0.25}


def test_a_profile_survives_its_json() -> None:
    told = features(("genre", ["a", "b", "c", "a"]), ("decade", ["90", "80", "70", "90"]))
    profile = profile_of(told, np.array([3.0, 2, 7, 1]))
    assert profile is not None
    again = Profile.from_dict(profile.as_dict())
    assert again.as_dict() == profile.as_dict()
    assert again.kinds.tolist() == profile.kinds.tolist()
    assert again.means.tolist() == profile.means.tolist()
    assert np.allclose(again.shares.sum(axis=1), 2)
