"""``auto`` with a δ: what is charged, and which noise it decides for."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import crowdtally as ct
from crowdtally.core.counts import Counts
from crowdtally.core.layout import Numbered
from crowdtally.core.privacy import Delta, Epsilon, Rho
from crowdtally.curator.converse import Course
from crowdtally.curator.refined import Averaged
from crowdtally.curator.request.method import AUTO_PART
from crowdtally.curator.request.request import make_request
from crowdtally.curator.steps.auto.deciding import better_of, decide
from crowdtally.curator.steps.auto.design import Design
from crowdtally.curator.steps.auto.sizes import SizesStep
from crowdtally.curator.summaries.priority import FilterPriority
from crowdtally.curator.table import Table
from crowdtally.errors import CrowdtallyError
from crowdtally.inference.rows import Sizes, read_sizes
from crowdtally.laws.conversion import rho_of
from kit.seam import Seam, cost

DELTA = Fraction(1, 10**9)


def design(items: int = 4000, **options: Any) -> Design:
    records = ct.read({"user": [1], "item": [0]}, user="user", item="item")
    told = {"epsilon": 1, "count": "users", "delta": DELTA, **options}
    return Design.of(make_request(records, ct.Domain(range(items)), **told))


def sizes(users: float, place: int) -> Sizes:
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
        (part,) = SizesStep(replace(design(), noise=noise)).parts()
        assert (part.name, part.mechanism) == (AUTO_PART, "adaptive")
        assert (part.epsilon, part.rho, part.delta) == (epsilon, rho, Delta(Fraction(delta)))
    (part,) = SizesStep(design(delta=0)).parts()
    assert (part.epsilon, part.rho, part.delta) == (Epsilon.of(1), None, Delta())


@pytest.mark.parametrize(
    ("place", "in_rho"), [(0, False), (1, False), (3, False), (6, True), (8, True)]
)
def test_long_rows_are_paid_for_in_rho(place: int, in_rho: bool) -> None:
    """The rest of ε buys less in ρ, but norms of long rows are much smaller than their sums."""
    made = design()
    course = better_of(made, sizes(6000, place), begun(made))
    assert (course.currency == "rho") == in_rho
    if in_rho:
        assert course.total == Rho(rho_of(Fraction(97, 100), DELTA))
        found = decide(made, sizes(6000, place), course.total)
        assert found.norm == "l2"
        assert found.theta(course.worth(course.total.value)) ** 2 <= 4 * 2 ** (place + 1)


def test_a_long_list_stays_with_laplace_noise() -> None:
    made = design()
    sparse = replace(
        made, table=replace(made.table, publishing=FilterPriority(100, None, None, "two"))
    )
    assert better_of(sparse, sizes(6000, 8), begun(sparse)).currency == "epsilon"


def test_nobody_is_bounded_where_no_row_is_longer_than_theta() -> None:
    made = design(30, noise="gaussian")
    found = decide(made, sizes(10**6, 4))
    assert (found.small, found.shares.bins, found.shares.head) == (True, 0, 0)
    assert not decide(design(4000, noise="gaussian"), sizes(6000, 7)).small


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
