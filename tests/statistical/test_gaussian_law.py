"""The law of Gaussian noise: the true variance fits, a deviation 2% more or less does not.

10^6 draws or more at each of eight variances, and beyond cuts. Probabilities are computed in three
ways that must agree. Significance 10^-6.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from crowdtally.core.counts import Sides
from crowdtally.laws.balls import precision
from crowdtally.laws.gaussian_tails import beyond as beyond_ball
from crowdtally.noise.gaussian import discrete_gaussian, gaussian_beyond
from crowdtally.noise.source import system_words
from kit.bells import by_brackets, by_integrals, by_terms, edges_of
from kit.chisquare import draws_for_power, goodness

VARIANCES = [
    Fraction(v) for v in ("1/8", "3/7", "2", "100/3", "10000", "40001/2", "100000000/3", "1e12")
]
OFF = (Fraction(98, 100) ** 2, Fraction(102, 100) ** 2)
WIDE = 1000


def probabilities(variance: Fraction, edges: np.ndarray) -> np.ndarray:
    """Of the stretches between edges, in three ways that must agree."""
    first = by_terms(variance, edges)
    second = (by_integrals if variance >= WIDE else by_brackets)(variance, edges)
    assert np.allclose(first, second, rtol=1e-6, atol=1e-11)
    with precision(96):
        beyond = [1.0, *(float(beyond_ball(variance, int(edge))) for edge in edges), 0.0]
    assert np.allclose(first, -np.diff(beyond), rtol=1e-9, atol=1e-13)
    return first


def counted(values: np.ndarray, edges: np.ndarray) -> np.ndarray:
    return np.bincount(np.searchsorted(edges, values, side="right"), minlength=len(edges) + 1)


@pytest.mark.parametrize("variance", VARIANCES, ids=str)
def test_the_variance_fits_and_a_deviation_two_percent_off_does_not(variance: Fraction) -> None:
    edges = edges_of(variance)
    true = probabilities(variance, edges)
    quick = by_integrals if variance >= WIDE else by_terms
    wrong = [quick(variance * factor, edges) for factor in OFF]
    n = draws_for_power(true, wrong, bins=40, least=10**6)
    drawn = discrete_gaussian(variance, n, system_words())
    for bins in (40, None):
        verdict = goodness(counted(drawn, edges), true, bins)
        assert verdict.fits, f"variance {variance}, {n} draws: {verdict}"
    for factor in OFF:
        other = discrete_gaussian(variance * factor, n, system_words())
        verdict = goodness(counted(other, edges), true, bins=40)
        assert not verdict.fits, f"variance times {factor} passes at {variance}: {verdict}"


@pytest.mark.parametrize("variance", [Fraction("100/3"), Fraction(40001, 2)], ids=str)
def test_every_single_value_is_as_likely_as_it_should_be(variance: Fraction) -> None:
    """Also of the lowest bits, where a cell has several integers."""
    reach = int(4 * variance**0.5)
    edges = np.arange(-reach, reach + 2)
    verdict = goodness(
        counted(discrete_gaussian(variance, 10**6, system_words()), edges),
        by_terms(variance, edges),
    )
    assert verdict.fits, verdict
    drawn = discrete_gaussian(Fraction(10**12), 10**6, system_words())
    for bits in (4, 16):
        lowest = np.bincount(drawn % (1 << bits), minlength=1 << bits)
        verdict = goodness(lowest, np.full(1 << bits, 2.0**-bits))
        assert verdict.fits, f"the lowest {bits} bits: {verdict}"


BEYOND = [
    ("1/8", 1, "two"), ("3/7", 0, "one"), ("100", 25, "two"), ("100", 25, "one"), ("100", 0, "one"),
    ("100", 400, "two"), ("1e12", 3 * 10**6, "two"), ("1e12", 3 * 10**6, "one"),
    ("1e12", 4 * 10**7, "one"),
]  # fmt: skip


def given_beyond(variance: Fraction, least: int, edges: np.ndarray) -> np.ndarray:
    """Of stretches of weights from ``least`` on: every term, in floats, over the first one."""
    far = min(12 * variance**0.5, 40 * variance / max(least, 1))
    steps = np.arange(least, max(least + int(far) + 12, int(edges[-1]) + 1), dtype=np.float64)
    weights = np.exp(-(steps - least) * (steps + least) / (2 * float(variance)))
    parts = np.add.reduceat(weights, edges - least)
    return parts / weights.sum()


@pytest.mark.parametrize(("variance", "least", "sides"), BEYOND)
def test_the_law_beyond_a_cut(variance: str, least: int, sides: Sides) -> None:
    v = Fraction(variance)
    length = min(float(v) ** 0.5, float(v) / max(least, 1))  # over so much it falls
    edges = least + np.unique((length * np.linspace(0, 4, 30)).astype(np.int64))
    drawn = gaussian_beyond(v, least, sides, 10**6, system_words())
    weights = np.abs(drawn) if sides == "two" else drawn
    assert weights.min() >= least
    true = given_beyond(v, least, edges)
    verdict = goodness(counted(weights, edges)[1:], true)
    assert verdict.fits, verdict
    if len(edges) > 3:
        for factor in OFF:
            other = np.abs(gaussian_beyond(v * factor, least, sides, 10**6, system_words()))
            assert not goodness(counted(other, edges)[1:], true).fits, f"{factor} passes"
    if sides == "two":
        signs = np.bincount((drawn > 0).astype(int), minlength=2)
        assert goodness(signs, np.array([0.5, 0.5])).fits


def test_neighbouring_draws_are_independent() -> None:
    """Signs of neighbours, and of numbers one block apart: four equal corners."""
    drawn = discrete_gaussian(Fraction(10**8), 1 << 20, system_words())
    high = drawn > np.median(drawn)
    share = high.mean()
    for apart in (1, 1 << 16):
        first, second = high[:-apart], high[apart:]
        keep = np.arange(first.size) // apart % 2 == 0
        corners = np.bincount(2 * first[keep] + second[keep], minlength=4)
        sides = np.array([1 - share, share])
        assert goodness(corners, np.outer(sides, sides).ravel()).fits
