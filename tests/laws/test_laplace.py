"""Laplace noise in closed form: one cell, and sums of several."""

from __future__ import annotations

import math
from fractions import Fraction
from math import sqrt
from types import ModuleType

import numpy as np
import pytest

from crowdtally.errors import UsageError
from crowdtally.laws import laplace
from crowdtally.laws.base import Combination
from crowdtally.laws.laplace import DiscreteLaplace, sum_half_width
from crowdtally.noise.draws import SystemDraws
from kit.exact import ONE, exp_neg

# ---- Closed forms of the discrete Laplace law against brute force and at extreme scales ----------


SCALES = [Fraction(1, 20), Fraction(1, 3), Fraction(1), Fraction(10), Fraction(1000, 7)]
LEVELS = [Fraction(level) for level in ("0", "1/2", "0.95", "0.999", "0.999999999")]


def wide(scale: Fraction) -> np.ndarray:
    reach = int(scale * 60) + 60
    return np.arange(-reach, reach + 1)


@pytest.mark.parametrize("scale", SCALES)
def test_pmf_sums_to_one_and_has_the_variance(scale):
    values = wide(scale)
    chances = DiscreteLaplace(scale).probabilities(values)
    assert chances.sum() == pytest.approx(1, abs=1e-12)
    assert DiscreteLaplace(scale).std() == pytest.approx(
        math.sqrt((chances * values**2).sum()), rel=1e-12
    )


@pytest.mark.parametrize("scale", SCALES)
def test_pmf_falls_by_the_rate(scale):
    assert np.allclose(
        np.diff(DiscreteLaplace(scale).log_probabilities(np.arange(30))), -1 / float(scale)
    )
    assert (
        DiscreteLaplace(scale).probabilities([-7, 7])
        == DiscreteLaplace(scale).probabilities([7, -7])
    ).all()


@pytest.mark.parametrize("scale", SCALES)
def test_tail_is_the_sum_of_the_pmf(scale):
    values = wide(scale)
    for width in (0, 1, 5):
        brute = DiscreteLaplace(scale).probabilities(values[np.abs(values) > width]).sum()
        assert DiscreteLaplace(scale).tail(width) == pytest.approx(brute, rel=1e-9)
    assert DiscreteLaplace(scale).tail(-1) == 1


def covered(scale: Fraction, width: int, level: Fraction) -> bool:
    """Pr[|X| ≤ width] ≥ level, by brackets in plain integers: 2α^(w+1) ≤ (1−level)(1+α)."""
    if width < 0:
        return level <= 0
    alpha, power = exp_neg(1 / scale), exp_neg((width + 1) / scale)
    surely = 2 * power[1] <= (1 - level) * (ONE + alpha[0])
    surely_not = 2 * power[0] > (1 - level) * (ONE + alpha[1])
    assert surely != surely_not
    return surely


@pytest.mark.parametrize("scale", [*SCALES, Fraction(10**12), Fraction(10**40, 3)])
@pytest.mark.parametrize("level", LEVELS)
def test_interval_is_the_least_that_covers(scale, level):
    width = DiscreteLaplace(scale).half_width(level)
    assert covered(scale, width, level)
    assert width == 0 or not covered(scale, width - 1, level)


def test_interval_of_extreme_scales():
    assert DiscreteLaplace(Fraction(1, 10**300)).half_width(LEVELS[2]) == 0
    scale = Fraction(10) ** 300
    width = DiscreteLaplace(scale).half_width(LEVELS[2])
    assert covered(scale, width, Fraction(19, 20))
    assert not covered(scale, width - 1, Fraction(19, 20))
    assert width == pytest.approx(math.log(20) * 1e300)


def test_interval_one_step_from_a_float_mistake():
    """A level just above Pr[|X| ≤ 30] needs 31; as floats the two levels are equal."""
    scale, places = Fraction(10), 60
    alpha, power = exp_neg(1 / scale), exp_neg(Fraction(31, 10))
    mass = 1 - Fraction(2 * power[0], ONE + alpha[0])
    below = Fraction(int(mass * 10**places), 10**places)
    above = below + Fraction(1, 10**places)
    assert float(below) == float(above)
    assert DiscreteLaplace(scale).half_width(below) == 30
    assert DiscreteLaplace(scale).half_width(above) == 31


def test_std_and_pmf_of_extreme_scales():
    assert DiscreteLaplace(Fraction(10) ** 300).std() == pytest.approx(math.sqrt(2) * 1e300)
    assert DiscreteLaplace(Fraction(1, 10**300)).std() == 0
    assert DiscreteLaplace(Fraction(1, 10**300)).probabilities([0, 1, -5]).tolist() == [1, 0, 0]
    assert DiscreteLaplace(Fraction(5e-324)).log_probabilities([0, 1]).tolist() == [0, -np.inf]
    assert DiscreteLaplace(Fraction(10) ** 300).probabilities([0])[0] == pytest.approx(5e-301)
    huge = DiscreteLaplace(Fraction(10) ** 40).log_probabilities(
        np.array([10**40, 0], dtype=object)
    )
    assert huge[1] - huge[0] == pytest.approx(1)
    assert DiscreteLaplace(Fraction(10) ** 300).tail(10**300) == pytest.approx(math.exp(-1))


@pytest.mark.parametrize("scale", [Fraction(0), Fraction(-1), 0.5, True, "1"])
def test_a_scale_is_an_exact_positive_number(scale):
    with pytest.raises(UsageError):
        DiscreteLaplace(scale)


@pytest.mark.parametrize("level", [Fraction(1), Fraction(-1, 2), 0.95])
def test_a_level_is_an_exact_share_below_one(level):
    with pytest.raises(UsageError):
        DiscreteLaplace(Fraction(1)).half_width(level)


def test_nothing_is_drawn_here():
    modules = [value for value in vars(laplace).values() if isinstance(value, ModuleType)]
    sources = {getattr(value, "__module__", "") for value in vars(laplace).values()}
    names = {module.__name__ for module in modules} | sources
    assert not [name for name in names if name and ("crowdtally.noise" in name or "random" in name)]


# ---- The noise of a sum: against the exact law of the sum, and against draws ---------------------


LEVEL = Fraction(19, 20)
LEVELS_SUMS = [Fraction(1, 2), LEVEL, Fraction(999, 1000)]


def law_of_sum(scale: Fraction, terms: int) -> np.ndarray:
    """Probabilities of −r … r by plain convolution, cut where nothing of weight is left."""
    reach = int(40 * float(scale)) + 40
    one = DiscreteLaplace(scale).probabilities(np.arange(-reach, reach + 1))
    law = one
    for _ in range(terms - 1):
        law = np.convolve(law, one)
    return law


def least_width(law: np.ndarray, level: Fraction) -> int:
    middle = len(law) // 2
    width, covered = 0, law[middle]
    while covered < level:
        width += 1
        covered += law[middle - width] + law[middle + width]
    return width


@pytest.mark.parametrize("scale", [Fraction(1, 10), Fraction(1, 2), Fraction(1), Fraction(30)])
@pytest.mark.parametrize("terms", [2, 3, 7])
def test_least_width(scale: Fraction, terms: int) -> None:
    law = law_of_sum(scale, terms)
    for level in LEVELS_SUMS:
        assert DiscreteLaplace(scale).half_width(level, terms) == least_width(law, level)


def test_one_term_agrees_with_the_exact_form() -> None:
    for scale in (Fraction(1, 1000), Fraction(10), Fraction(12345, 67)):
        for level in LEVELS_SUMS:
            assert sum_half_width(scale, 1, level) == DiscreteLaplace(scale).half_width(level)


@pytest.mark.parametrize("terms", [100, 10_000, 10**6])
@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(20), Fraction(10**9)])
def test_many_terms_are_nearly_normal(scale: Fraction, terms: int) -> None:
    std = DiscreteLaplace(scale).std(Combination.of_cells(terms))
    assert std == pytest.approx(DiscreteLaplace(scale).std() * sqrt(terms))
    assert DiscreteLaplace(scale).half_width(LEVEL, terms) == pytest.approx(
        1.96 * std, rel=0.02, abs=1.5
    )


@pytest.mark.parametrize("scale", [Fraction(10) ** -9, Fraction(10) ** 40, Fraction(2) ** 1100])
def test_extreme_scales(scale: Fraction) -> None:
    width = DiscreteLaplace(scale).half_width(LEVEL, 5)
    assert width >= 0
    if scale < 1:
        assert width == 0
    elif scale < 10**100:
        assert width == pytest.approx(
            1.96 * DiscreteLaplace(scale).std(Combination.of_cells(5)), rel=0.05
        )


@pytest.mark.parametrize(
    ("scale", "terms"),
    [(Fraction(1, 2), 3), (Fraction(10), 2), (Fraction(60), 7), (Fraction(999), 4)],
)
def test_coverage_by_draws(scale: Fraction, terms: int) -> None:
    """Simulated sums lie within the interval as often as it says, and it is not far too wide."""
    draws, size = SystemDraws(), 100_000
    total = sum(np.asarray(draws.laplace(scale, size)) for _ in range(terms))
    width = DiscreteLaplace(scale).half_width(LEVEL, terms)
    covered = float((np.abs(total) <= width).mean())
    error = sqrt(0.95 * 0.05 / size)
    assert covered >= 0.95 - 5 * error
    # A wider interval covers more only where one step of a small whole number is a lot.
    narrower = float(
        (
            np.abs(total)
            <= width - max(1, int(DiscreteLaplace(scale).std(Combination.of_cells(terms)) / 25))
        ).mean()
    )
    assert narrower <= 0.95 + 5 * error
