"""The laws of geometric and Laplace noise: the true scale fits, 2% more or less does not.

Each test draws as many numbers as it takes to reject a scale that is 2% off all but once in ten
million times, and at least 10^6. Significance 10^-6: all of them together fail by chance about once
in thirty thousand runs.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from crowdtally.noise.geometric import discrete_laplace, geometric
from crowdtally.noise.source import system_words
from kit.chisquare import draws_for_power, goodness
from kit.noise_checks import fits, geometric_law, histogram, laplace_law

RATES = [Fraction(r) for r in ("0.001", "0.01", "0.05", "0.1", "0.5", "1", "3", "10")]
OFF = (Fraction(98, 100), Fraction(102, 100))


def sample(rate: Fraction, n: int, values: int, two_sided: bool) -> np.ndarray:
    def draw(k: int) -> np.ndarray:
        if two_sided:
            return discrete_laplace(1 / rate, k, system_words())
        return geometric(rate, k, system_words())

    return histogram(draw, n, values, two_sided)


@pytest.mark.parametrize("two_sided", [False, True], ids=["geometric", "laplace"])
@pytest.mark.parametrize("rate", RATES, ids=str)
def test_the_scale_fits_and_two_percent_more_or_less_does_not(rate, two_sided):
    law = laplace_law if two_sided else geometric_law
    values = 2 * int(20 / rate) + 21
    true = law(float(rate), values)
    wrong = [law(float(rate / factor), values) for factor in OFF]
    n = draws_for_power(true, wrong, bins=40, least=10**6)

    for verdict in fits(sample(rate, n, values, two_sided), true):
        assert verdict.fits, f"rate {rate}, {n} draws: {verdict}"
    for factor in OFF:
        verdict = goodness(sample(rate / factor, n, values, two_sided), true, bins=40)
        assert not verdict.fits, f"scale times {factor} passes at rate {rate}: {verdict}"


@pytest.mark.parametrize("two_sided", [False, True], ids=["geometric", "laplace"])
def test_neighbouring_draws_are_independent(two_sided):
    """Signs of (draw − median) of neighbours and of numbers one block apart: four equal corners."""
    n = 1 << 20
    draw = discrete_laplace(Fraction(50), n, system_words())
    if not two_sided:
        draw = geometric(Fraction(1, 50), n, system_words())
    high = draw > np.median(draw)
    share = high.mean()
    for apart in (1, 1 << 16):
        first, second = high[:-apart], high[apart:]
        # Overlapping pairs are correlated; every other stretch keeps them apart.
        keep = np.arange(first.size) // apart % 2 == 0
        corners = np.bincount(2 * first[keep] + second[keep], minlength=4)
        sides = np.array([1 - share, share])
        verdict = goodness(corners, np.outer(sides, sides).ravel())
        assert verdict.fits, f"{apart} apart: {verdict}"
