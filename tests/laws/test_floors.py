"""The noise floor is the least that it may be: against laws convolved in another way."""

from __future__ import annotations

from fractions import Fraction
from math import expm1, log, log1p
from typing import Any

import numpy as np
import pytest
from flint import acb, arb

import crowdtally as ct
from crowdtally.core.counts import Keeping
from crowdtally.core.hierarchy import DyadicAxis, consistent, range_weights
from crowdtally.laws import floors
from crowdtally.laws.balls import as_ball, precision
from crowdtally.laws.base import Combination, Terms
from crowdtally.laws.laplace import DiscreteLaplace

SHARE = Fraction(1, 20)


def each(lines: int) -> float:
    return -expm1(log1p(-0.05) / lines)


def seen(scale: float, keeping: Keeping) -> tuple[np.ndarray, int]:
    """The law of what is seen of an empty cell, by its definition, and where its 0 stands."""
    reach = int(60 * scale) + 20
    values = np.arange(-reach, reach + 1)
    law = np.tanh(1 / (2 * scale)) * np.exp(-np.abs(values) / scale)
    weight = values if keeping.sides == "one" else np.abs(values)
    kept = (weight >= keeping.cut).astype(float)
    if keeping.threshold is not None:
        kept *= np.clip(weight / float(keeping.threshold), 0, 1)
    law, dropped = law * kept, float((law * (1 - kept)).sum())
    law[reach] += dropped
    return law, reach


def tails(law: np.ndarray, zero: int) -> np.ndarray:
    """Pr[S > t] for t = 0, 1, …"""
    return np.cumsum(law[::-1])[::-1][zero + 1 :]


def convolved(scale: float, terms: Terms, step: float = 1.0) -> np.ndarray:
    """The tail of the sum of the terms, in steps, one cell after the other."""
    law, zero = np.ones(1), 0
    for weight, times in terms.weights:
        one, middle = seen(scale, terms.keeping)
        stretch = round(abs(weight) / step)
        wide = np.zeros((len(one) - 1) * stretch + 1)
        wide[::stretch] = one if weight > 0 else one[::-1]
        for _ in range(int(times)):
            law, zero = np.convolve(law, wide), zero + middle * stretch
    return tails(law, zero)


@pytest.mark.parametrize("scale", ["1/20", "3/7", "1", "10", "1234.5"])
@pytest.mark.parametrize("lines", [1, 2, 20, 10**6])
def test_one_cell(scale: str, lines: int) -> None:
    """Exactly: (1 − Pr[X > t])^m is at least 95%, and a smaller t would not do."""
    law = DiscreteLaplace(Fraction(scale))
    floor = law.floor(lines)

    def within(t: float) -> float:
        beyond = law.tail(int(t)) / 2 if t >= 0 else 1 - law.tail(0) / 2
        return lines * log1p(-beyond)

    assert within(floor) >= log(0.95)
    assert floor == 0 or within(floor - 1) < log(0.95)


@pytest.mark.parametrize("scale", ["1/3", "7", "1000", "1e12"])
def test_it_is_about_one_side(scale: str) -> None:
    """Half of what lies outside an interval is above it: 5% of one side are 10% of both."""
    law = DiscreteLaplace(Fraction(scale))
    assert law.floor(1) == law.half_width(Fraction(9, 10))


KEPT = [
    Keeping(), Keeping(9), Keeping(9, None, "one"), Keeping(0, None, "one"),
    Keeping(0, Fraction(31, 2)), Keeping(5, Fraction(20)), Keeping(0, Fraction(20), "one"),
]  # fmt: skip


@pytest.mark.parametrize("keeping", KEPT, ids=str)
@pytest.mark.parametrize("cells", [2, 7])
@pytest.mark.parametrize("lines", [1, 1000])
def test_a_sum_of_cells(keeping: Keeping, cells: int, lines: int) -> None:
    terms = Terms(((1.0, cells),), keeping)
    beyond = convolved(4, terms)
    floor = DiscreteLaplace(Fraction(4)).floor(lines, terms)
    assert beyond[int(floor)] <= each(lines)
    assert beyond[int(floor) - 1] > each(lines) * (1 - 1e-6)


@pytest.mark.parametrize("levels", [2, 3])
@pytest.mark.parametrize("keeping", [Keeping(), Keeping(6)], ids=str)
def test_a_sum_with_weights(levels: int, keeping: Keeping) -> None:
    """One value of a Haar transform: weights of both signs, in steps of 1/2^k."""
    weights = tuple((weight, 1) for weight in range_weights(levels, 1, 2).values())
    terms = Terms(weights, keeping)
    step = 1 / (1 << levels)
    beyond = convolved(3, terms, step)
    floor = DiscreteLaplace(Fraction(3)).floor(50, terms)
    assert terms.step == Fraction(step)
    assert beyond[round(floor / step)] <= each(50)
    assert beyond[round(floor / step) - 1] > each(50) * (1 - 1e-6)


@pytest.mark.parametrize(
    ("scale", "cells", "lines"), [("10", 7, 1000), ("1e6", 24, 10**9), ("1/3", 3, 10)]
)
def test_a_sum_against_a_certified_integral(scale: str, cells: int, lines: int) -> None:
    law = DiscreteLaplace(Fraction(scale))
    floor = int(law.floor(lines, Terms.of_cells(cells)))
    exponent = 1 / float(law.scale) * 0.6
    assert certified_tail(law.scale, cells, floor, exponent) <= each(lines)
    # of wide laws a step changes the tail by less than the doubt that floats leave
    less = max(1, floor // 10**6)
    assert certified_tail(law.scale, cells, floor - less, exponent) > each(lines)


def certified_tail(scale: Fraction, cells: int, width: int, exponent: float) -> float:
    """Pr[S > width] by Cauchy's integral in balls."""
    with precision(128):
        rate = 1 / as_ball(scale)
        alpha = (-rate).exp()

        def integrand(z: Any, _: bool) -> Any:
            up, down = z.exp(), (-z).exp()
            moments = ((1 - alpha) ** 2 / ((1 - alpha * up) * (1 - alpha * down))) ** cells
            return moments * (-z * (width + 1)).exp() / (1 - down)

        found = acb.integral(integrand, acb(exponent, 0), acb(exponent, arb.pi()))
        ball = found.imag / arb.pi()
        assert ball.rel_accuracy_bits() > 40
        return float(ball)


@pytest.mark.parametrize("keeping", [Keeping(), Keeping(9), Keeping(9, Fraction(20))], ids=str)
def test_whatever_others_decide_to_keep(keeping: Keeping) -> None:
    """The worst choice keeps what is positive and passes the cut."""
    terms = Terms(((1.0, 3), (-1.0, 1)), keeping, by_itself=False)
    floor = DiscreteLaplace(Fraction(4)).floor(20, terms)
    worst = Terms(((1.0, 4),), Keeping(keeping.cut, None, "one"))
    assert floor == DiscreteLaplace(Fraction(4)).floor(20, worst)
    assert floor >= DiscreteLaplace(Fraction(4)).floor(20, Terms(((1.0, 4),), keeping))
    one = Terms(((1.0, 1),), keeping, by_itself=False)
    assert DiscreteLaplace(Fraction(4)).floor(20, one) == DiscreteLaplace(Fraction(4)).floor(20)


@pytest.mark.parametrize("cells", [2, 30])
@pytest.mark.parametrize("keeping", [Keeping(), Keeping(9), Keeping(0, Fraction(20))], ids=str)
def test_where_the_tail_is_not_computed_the_bound_is_higher(
    cells: int, keeping: Keeping, monkeypatch: pytest.MonkeyPatch
) -> None:
    law, terms = DiscreteLaplace(Fraction(4)), Terms(((1.0, cells),), keeping)
    exact = law.floor(77, terms)
    monkeypatch.setattr(floors, "_MANY", 0)
    bound = law.floor(78, terms)  # another question: answers are kept
    assert exact < bound < 1.5 * exact


def test_weights_without_steps_are_bounded() -> None:
    law = DiscreteLaplace(Fraction(6))
    thirds, whole = law.floor(9, Terms(((1 / 3, 7),))), law.floor(9, Terms.of_cells(7))
    assert whole / 3 <= thirds < 1.5 * whole / 3


def test_more_lines_or_cells_or_a_smaller_share_raise_it() -> None:
    law = DiscreteLaplace(Fraction(5))
    assert law.floor(1) < law.floor(10) < law.floor(1000)
    assert law.floor(10) < law.floor(10, Terms.of_cells(2)) < law.floor(10, Terms.of_cells(9))
    assert law.floor(10, share=Fraction(1, 10)) < law.floor(10, share=Fraction(1, 100))
    assert law.floor(10) <= law.floor(10, independent=False) <= law.floor(10) + 1
    for wrong in ({"share": Fraction(0)}, {"share": Fraction(1)}, {"share": 0.05}, {"lines": 0}):
        with pytest.raises(ct.UsageError, match="a floor has a share"):
            law.floor(**({"lines": 3} | wrong))  # type: ignore[arg-type]


@pytest.mark.parametrize("scale", ["1e-300", "1e-6", "1e15", "1e300"])
def test_extreme_scales(scale: str) -> None:
    law = DiscreteLaplace(Fraction(scale))
    for terms in (Terms(), Terms.of_cells(5), Terms(((0.5, 2),)), Terms(((1.0, 3),), Keeping(9))):
        floor = law.floor(100, terms)
        assert floor == 0 if law.scale < 1 else floor > law.scale


# ---- Σ weight² alone ------------------------------------------------------------------------


@pytest.mark.parametrize("weights", [(3 / 4,), (1 / 2, 1 / 4), (1 / 2,) * 3, (3 / 4,) * 4])
def test_reach_from_squares_is_that_of_one_noise(weights: tuple[float, ...]) -> None:
    """Noises that share a variance stay within it, and not much further within."""
    law, level = DiscreteLaplace(Fraction(40)), Fraction(19, 20)
    squares = sum(weight**2 for weight in weights)
    reach = law.reach(level, Combination(squares, squares))
    exact = law.floor(1, Terms(tuple((weight, 1) for weight in weights)), (1 - level) / 2)
    assert exact <= reach + 1
    assert exact >= 0.88 * reach
    assert law.reach(level, Combination.of_cells(3)) == law.half_width(level, 3)


def test_reach_of_a_haar_coefficient_and_of_a_fitted_leaf() -> None:
    law, level = DiscreteLaplace(Fraction(20)), Fraction(19, 20)
    haar = list(range_weights(3, 2, 3).values())
    tree = DyadicAxis(4)
    indicator = np.zeros(tree.nodes)
    indicator[tree.cover(1, 2)] = 1
    fitted = [round(weight * 64) / 64 for weight in consistent(indicator).tolist()]
    for weights in (haar, [weight for weight in fitted if weight]):
        reach = law.reach(level, Combination(sum(weight**2 for weight in weights), 0.0))
        terms = Terms(tuple((weight, 1) for weight in weights))
        exact = law.floor(1, terms, (1 - level) / 2)
        assert 0.88 * reach <= exact <= reach + 1
