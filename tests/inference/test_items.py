"""Estimates of items: near the truth, and right as often as they say."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from crowdtally.core.counts import Keeping
from crowdtally.inference.facts import Chosen, ItemFacts, Noisy
from crowdtally.inference.items import chances_among, estimate_items, kth_largest
from crowdtally.laws.laplace import DiscreteLaplace


def law(scale: float) -> DiscreteLaplace:
    """The law of noise of so large a scale, as a count, on a fine grid."""
    return DiscreteLaplace(Fraction(scale) * 2**20, Fraction(1, 2**20))


def noise(rng: np.random.Generator, scale: float, size: int) -> np.ndarray:
    """Laplace noise, nearly enough."""
    return rng.laplace(0, scale, size)


# ---- From all that a release says to an estimate of every item -----------------------------------


def test_a_small_domain_is_unbounded():
    law = DiscreteLaplace(Fraction(4))
    found = estimate_items(ItemFacts(3, Noisy(np.array([100.0, 7, -6]), law), exact=True))
    assert found.calibrated
    assert found.mean[0] == pytest.approx(100, abs=0.1)
    assert 0 < found.mean[2] < 4.5
    assert found.low[2] == 0


def test_a_summary_has_estimates_of_all_items():
    rng = np.random.default_rng(5)
    truth = np.append(np.full(50, 300.0), np.zeros(950))
    values = np.rint(truth + noise(rng, 10, 1000))
    places = np.flatnonzero(np.abs(values) >= 40)
    law, keeping = DiscreteLaplace(Fraction(10)), Keeping(40)
    summary = Chosen(values[places], law, places=places, keeping=keeping)
    found = estimate_items(ItemFacts(1000, summary))
    assert not found.calibrated
    assert found.mean.sum() == pytest.approx(truth.sum(), rel=0.1)


def test_nothing_but_noise_stays_near_nothing():
    rng = np.random.default_rng(6)
    scale = 50.0
    found = estimate_items(ItemFacts(2000, Noisy(noise(rng, scale, 2000), law(scale))))
    assert not found.calibrated
    assert np.array_equal(found.bounded, found.mean)
    assert found.mean.mean() < 0.3 * scale
    assert np.isfinite(found.high).all()


# ---- Lists that follow from estimates, and the chance of being among the largest -----------------


def test_chances_add_up_and_match_draws():
    rng = np.random.default_rng(2)
    mean, spread = 100 * rng.pareto(2, 400), np.full(400, 15.0)
    found = chances_among(mean, spread, 10)
    assert found.sum() == pytest.approx(10)
    draws = mean + spread * rng.normal(size=(4000, 400))
    line = np.partition(draws, 390, axis=1)[:, 390]
    assert found == pytest.approx((draws >= line[:, None]).mean(axis=0), abs=0.06)


def test_chances_at_the_edges():
    counts, sure = np.array([1.0, 2.0, 30.0]), np.zeros(3)
    assert chances_among(counts, np.ones(3), 3).tolist() == [1, 1, 1]
    assert chances_among(counts, np.ones(3), 0).tolist() == [0, 0, 0]
    assert chances_among(counts, sure, 1).tolist() == [0, 0, 1]
    assert chances_among(np.full(4, 4.0), np.zeros(4), 2) == pytest.approx([0.5] * 4)
    assert chances_among(np.empty(0), np.empty(0), 3).shape == (0,)


@pytest.mark.parametrize("size", [5, 3000, 70_001])
def test_the_kth_largest_is_found_whatever_is_equal(size: int) -> None:
    rng = np.random.default_rng(size)
    for values in (rng.random(size), rng.integers(0, 3, size) * 1.0, np.zeros(size)):
        for k in (1, 2, 5, min(size, 270)):
            assert kth_largest(values, k) == np.sort(values)[-k]
