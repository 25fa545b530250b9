"""The account of ``auto``: in ε, in ρ, and turned from one into the other."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crowdtally.core.privacy import Delta, Epsilon, Rho
from crowdtally.curator.converse import Course, worth
from crowdtally.errors import CrowdtallyError
from crowdtally.laws.conversion import delta_of, rho_of
from crowdtally.laws.gaussian import GaussianNoise
from crowdtally.laws.laplace import DiscreteLaplace

ONE, DELTA = Epsilon(Fraction(1)), Delta.of("1e-9")


def sized(total: Epsilon | Rho = ONE) -> Course:
    course = Course(total)
    return course.spend("sizes", course.share(Fraction(3, 100)), "first")[0]


def test_a_course_of_rho_is_drawn_in_rho() -> None:
    course, price = Course(Rho(Fraction(1, 50))).spend("sizes", Fraction(1, 100), "first")
    assert price == Rho(Fraction(1, 100))
    assert course.left == Fraction(1, 100)
    assert course.as_dict()["steps"] == [{"name": "sizes", "rho": "0.01", "why": "first"}]
    assert (course.as_dict()["rho"], course.as_dict()["unspent"]) == ("0.02", "0.01")


def test_what_is_left_is_turned_once() -> None:
    turned = sized().turn(DELTA)
    granted = rho_of(Fraction(97, 100), DELTA)
    assert turned.total == Rho(granted)
    assert (turned.spent, turned.left) == (0, granted)  # the sizes were paid for in ε
    assert delta_of(turned.left, Fraction(97, 100)) <= DELTA.value
    assert turned.left < rho_of(Fraction(1), DELTA)
    with pytest.raises(CrowdtallyError, match="once more"):
        turned.turn(DELTA)
    later, price = turned.spend("items", granted, "all of it")
    assert isinstance(price, Rho)
    assert later.left == 0
    assert [next(iter(one)) for one in later.as_dict()["steps"]] == ["name", "name"]
    assert [set(one) & {"epsilon", "rho"} for one in later.as_dict()["steps"]] == [
        {"epsilon"},
        {"rho"},
    ]


def test_a_course_of_epsilon_says_what_it_always_said() -> None:
    course = sized().pass_over("pilot", "no need")
    assert course.as_dict() == {
        "steps": [
            {"name": "sizes", "epsilon": "0.03", "why": "first"},
            {"name": "pilot", "epsilon": "0", "why": "no need"},
        ],
        "unspent": "0.97",
    }


@given(st.lists(st.fractions(0, Fraction(2, 5), max_denominator=1000), max_size=8))
def test_no_step_goes_beyond_what_was_turned(shares: list[Fraction]) -> None:
    course = sized().turn(DELTA)
    drawn = Fraction(0)
    for place, share in enumerate(shares):
        cost = course.share(share)
        if not 0 < cost <= course.left:
            with pytest.raises(CrowdtallyError, match="would spend"):
                course.spend(f"step {place}", cost, "too much")
            continue
        course, price = course.spend(f"step {place}", cost, "some")
        drawn += price.value
    assert drawn == course.spent <= course.total.value
    assert delta_of(drawn, Fraction(97, 100)) <= DELTA.value


@given(st.fractions(Fraction(1, 10**4), Fraction(1, 10), max_denominator=10**4))
def test_what_rho_is_worth_deviates_as_its_noise_does(rho: Fraction) -> None:
    """For counts of bound 2^20 in L1, or in L2."""
    gaussian = GaussianNoise(2**40 / (2 * rho)).std()
    laplace = DiscreteLaplace(Fraction(2**20 / worth(Rho(rho)))).std()
    assert gaussian == pytest.approx(laplace, rel=1e-6)
