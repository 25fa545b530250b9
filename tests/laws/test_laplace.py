"""Closed forms of the discrete Laplace law against brute force and at extreme scales."""

from __future__ import annotations

import math
from fractions import Fraction
from types import ModuleType

import numpy as np
import pytest

from crowdtally.errors import UsageError
from crowdtally.laws import laplace
from crowdtally.laws.laplace import DiscreteLaplace
from kit.exactly import ONE, exp_neg

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
