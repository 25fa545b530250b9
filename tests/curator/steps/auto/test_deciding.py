"""Which steps run, and with which shares, once the sizes are known."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import log
from typing import Any

import numpy as np
import pytest

import crowdtally as ct
from crowdtally.core.layout import Numbered
from crowdtally.core.privacy import Epsilon
from crowdtally.curator.converse import Course, Released
from crowdtally.curator.request.request import make_request
from crowdtally.curator.steps.auto.crowd import crowded
from crowdtally.curator.steps.auto.deciding import decide, head_items
from crowdtally.curator.steps.auto.design import Design
from crowdtally.curator.steps.auto.items import unreserved
from crowdtally.curator.steps.auto.pilot import Pilot, pilot_cost
from crowdtally.curator.steps.auto.planned import Passed, Planned
from crowdtally.curator.steps.auto.zoom import zoom_theta
from crowdtally.curator.summaries.priority import FilterPriority
from crowdtally.inference.rows import Sizes, best_theta, read_sizes

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
    plan = Pilot(once).plan(
        Released(course=Course(Epsilon(Fraction(1))), decided=decide(once, many))
    )
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
    released = Released(
        course=Course(Epsilon(Fraction(1))), decided=decide(sparse, sizes(10**7, 6))
    )
    assert isinstance(Pilot(sparse).plan(released), Passed)


def test_rest_is_what_neither_is_spent_nor_set_aside() -> None:
    made = design(1300, epsilon="1/3", for_="top")
    course, _ = Course(Epsilon(made.epsilon)).spend("sizes", made.epsilon * Fraction(3, 100), "x")
    released = Released(course=course, decided=decide(made, LONG))
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
    released = Released(course=Course(Epsilon(Fraction(1))), decided=decide(made, sizes(users, 3)))
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
