"""The noise of a sum: against the exact law of the sum, and against draws."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt

import numpy as np
import pytest

from crowdtally.laws.base import Combination
from crowdtally.laws.laplace import DiscreteLaplace, sum_half_width
from crowdtally.noise.draws import SystemDraws

LEVEL = Fraction(19, 20)
LEVELS = [Fraction(1, 2), LEVEL, Fraction(999, 1000)]


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
    for level in LEVELS:
        assert DiscreteLaplace(scale).half_width(level, terms) == least_width(law, level)


def test_one_term_agrees_with_the_exact_form() -> None:
    for scale in (Fraction(1, 1000), Fraction(10), Fraction(12345, 67)):
        for level in LEVELS:
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
