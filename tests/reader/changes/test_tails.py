"""P-values against exact convolutions; adjusted ones against the definition."""

from __future__ import annotations

from fractions import Fraction
from math import lgamma

import numpy as np
import pytest

from crowdtally.laws.base import Combination, NoiseLaw
from crowdtally.laws.cumulants import cumulants
from crowdtally.laws.interval import IntervalNoise
from crowdtally.laws.laplace import DiscreteLaplace
from crowdtally.reader.changes.significance import adjusted, discovered, harmonic
from crowdtally.reader.changes.tails import Errors, Noise, Sample, reach, tail

LEAST = 1e-12
"""Tails that are compared: smaller ones nobody asks for."""


def masses(law: NoiseLaw, reach: int) -> np.ndarray:
    return np.exp(law.log_probabilities(np.arange(-reach, reach + 1)))


def tails_of(law: np.ndarray) -> np.ndarray:
    """Pr[T ≥ t] for t = 0, 1, …, of a law that is the same on both sides."""
    return law[::-1].cumsum()[::-1][(len(law) - 1) // 2 :]


def both(first: NoiseLaw, second: NoiseLaw, size: int) -> Errors:
    ones = np.ones(size)
    return Errors([Noise(cumulants(first), ones), Noise(cumulants(second), ones)], [], 0 * ones)


def laplace(scale: str) -> DiscreteLaplace:
    return DiscreteLaplace(Fraction(scale))


LAWS = [
    (laplace("10"), laplace("10")),
    (laplace("10"), laplace("40")),
    (laplace("2.5"), laplace("3")),
    (laplace("1"), laplace("1")),
    (laplace("0.3"), laplace("0.3")),
    (laplace("0.2"), laplace("1")),
    (IntervalNoise(Fraction(1, 5), 20, 2), IntervalNoise(Fraction(1, 5), 20, 2)),
    (IntervalNoise(Fraction(1, 2), 3), IntervalNoise(Fraction(1, 2), 3)),
    (IntervalNoise(Fraction(1), 7), IntervalNoise(Fraction(3, 10), 7)),
]


@pytest.mark.parametrize(("first", "second"), LAWS)
def test_a_tail_is_never_too_small_and_hardly_too_large(first: NoiseLaw, second: NoiseLaw) -> None:
    unit = float(first.unit)
    reached = int(30 * max(first.std(), second.std()) / unit) + 30
    exact = tails_of(np.convolve(masses(first, reached), masses(second, reached)))
    exact = exact[exact > LEAST]
    found = tail(both(first, second, len(exact)), np.arange(len(exact)) * unit)
    asked = found < 1
    ratio = found[asked] / exact[asked]
    assert ratio.min() >= 1.0
    coarse = max(first.std(), second.std()) < 2 * unit
    assert ratio.max() <= (2.0 if coarse else 1.2)
    assert exact[~asked].min() > 0.01, "only where no p-value is small a tail is taken for 1"


@pytest.mark.parametrize(("mean", "scale"), [(100, 10), (5, 3), (2, 8), (1000, 5)])
def test_sampling_is_counted_as_a_poisson_error(mean: int, scale: int) -> None:
    law, steps = laplace(str(scale)), np.arange(int(mean + 20 * mean**0.5 + 60))
    poisson = np.exp(steps * np.log(mean) - mean - np.array([lgamma(x + 1) for x in steps]))
    noise = masses(law, 60 * scale)
    exact = tails_of(np.convolve(np.convolve(noise, noise), np.convolve(poisson, poisson[::-1])))
    exact = exact[exact > LEAST]
    ones = np.ones(len(exact))
    samples = [Sample(mean * ones, 1.0), Sample(mean * ones, -1.0)]
    errors = Errors([Noise(cumulants(law), ones)] * 2, samples, 0 * ones)
    found = tail(errors, np.arange(len(exact)).astype(float))
    ratio = found[found < 1] / exact[found < 1]
    assert ratio.min() >= 1.0
    assert ratio.max() <= 1.2
    ends = reach(errors, np.full(len(exact), 0.001))
    assert abs(ends[0] - np.flatnonzero(exact <= 0.001)[0]) <= 1 + 0.02 * ends[0]


@pytest.mark.parametrize("cells", [1, 5])
def test_cells_of_one_draw_go_together(cells: int) -> None:
    law = IntervalNoise(Fraction(1, 3), 20, 2)
    bend = cumulants(law, cells).at(np.zeros(1))[2][0]
    assert bend == pytest.approx(law.std(Combination.of_cells(cells)) ** 2, rel=1e-3)
    apart = cumulants(law, 1, cells).at(np.zeros(1))[2][0]
    assert apart == pytest.approx(cells * law.std() ** 2, rel=1e-3)


def test_adjusted_values_are_the_least_rates_at_which_each_is_found() -> None:
    rng = np.random.default_rng(0)
    for size in (1, 2, 7, 40):
        chances = np.round(rng.random(size) ** 3, 3)
        ordered = np.sort(chances)
        rates = [ordered[j - 1] * size / j for j in range(1, size + 1)]
        by_rule = [
            min(1.0, *(rate for rate, value in zip(rates, ordered, strict=True) if value >= one))
            for one in chances
        ]
        assert adjusted(chances) == pytest.approx(by_rule)


def test_rises_and_falls_share_the_rate() -> None:
    one = np.array([0.03, 1.0])
    nothing = np.ones(2)
    assert len(discovered([one], [nothing], 0.06)) == 0
    found = discovered([one], [nothing], 0.12)
    assert found.lines.tolist() == [0]
    assert found.rose.tolist() == [True]
    assert found.q_values.tolist() == [pytest.approx(0.12)]
    assert found.p_values.tolist() == [pytest.approx(0.06)]


def test_any_dependence_is_paid_for() -> None:
    assert harmonic(1) == 1
    assert harmonic(4) == pytest.approx(25 / 12)
