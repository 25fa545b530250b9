"""The mean absolute noise of one cell, which the choices weigh against what a bound loses."""

from __future__ import annotations

from fractions import Fraction
from math import pi, sqrt

import numpy as np
import pytest

from crowdtally.core.privacy import Epsilon, Rho
from crowdtally.curator.choices.bounds import NoiseCost, RankChoice, RowSums, log_spaced
from crowdtally.noise.draws import SystemDraws


def test_laplace_noise_is_not_even_rounded() -> None:
    cost = NoiseCost(Epsilon.of("3/7"))
    assert [Fraction(cost.at(theta), cost.unit) for theta in (1, 10)] == [
        Fraction(7, 3), Fraction(70, 3),
    ]  # fmt: skip
    assert Fraction(cost.step(5), cost.unit) == Fraction(7, 3)


@pytest.mark.parametrize("rooted", [False, True])
@pytest.mark.parametrize("theta", [1, 4, 90])
def test_gaussian_noise_by_its_mean_absolute_value(theta: int, rooted: bool) -> None:
    rho = 0.02
    cost = NoiseCost(Rho.of("0.02"), rooted)
    deviation = (sqrt(theta) if rooted else theta) / sqrt(2 * rho)
    drawn = np.abs(np.random.default_rng(5).normal(0, deviation, 10**6))
    error = 5 * drawn.std() / 1000
    assert cost.at(theta) / cost.unit == pytest.approx(drawn.mean(), abs=error)
    ahead = cost.at(theta + 1) - cost.at(theta)
    behind = cost.at(theta) - cost.at(theta - 1)
    assert ahead - 1 <= cost.step(theta) <= behind + 1


def test_the_rank_rule_takes_a_longer_bound_where_noise_grows_with_the_root() -> None:
    """Every bound up to 100 cuts 400 users; the target is what noise grows by."""
    rows = RowSums(np.arange(1, 401), np.ones(400, dtype=np.int64))
    sure = Epsilon.of(10**6)
    picked = {
        rooted: RankChoice(20, log_spaced(400), sure, Rho.of("0.01"), rooted=rooted).pick(
            rows, SystemDraws()
        )
        for rooted in (False, True)
    }
    per_theta = 20 / sqrt(pi * 0.01)
    assert picked[False] == pytest.approx(400 - per_theta, rel=0.05)
    assert picked[True] > picked[False]
