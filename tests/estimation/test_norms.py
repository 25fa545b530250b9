"""Estimates from rows that were scaled to a norm, with Gaussian noise."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from crowdtally.inference.facts import ItemFacts, Noisy
from crowdtally.inference.items import estimate_items
from crowdtally.inference.lifts import Head, common_of, head_lifts
from crowdtally.inference.rows import read_sizes
from crowdtally.inference.stopping import excess, squares_of
from crowdtally.laws.gaussian import GaussianNoise
from crowdtally.laws.interval import IntervalNoise
from crowdtally.laws.laplace import DiscreteLaplace


@pytest.mark.parametrize("theta", [3, 8, 15])
def test_what_a_norm_leaves_out_is_expected(theta: int) -> None:
    """Of log-normal rows, by their histogram alone."""
    rng = np.random.default_rng(3)
    rows = np.maximum(np.rint(rng.lognormal(4, 1, 20_000)), 1)
    places = np.minimum(np.floor(np.log2(rows)), 12).astype(int)
    sizes = read_sizes(np.bincount(places, minlength=13), 5.0)
    for power in (0.5, 0.6):
        lost = float(np.maximum(rows - theta * rows ** (1 - power), 0).sum() / rows.sum())
        assert sizes.lost(theta, power) == pytest.approx(lost, abs=0.02)
    assert sizes.lost(theta, 0.5) < sizes.lost(theta)


def made(theta: int, seed: int = 5) -> tuple[ItemFacts, np.ndarray]:
    """Users of 100 items each, scaled to a norm of θ, and the true counts."""
    rng = np.random.default_rng(seed)
    users, items, each = 4000, 1500, 100
    likely = 1 / np.arange(3, items + 3)
    keys = rng.exponential(size=(users, items)) / likely
    has = np.zeros(items)
    for start in range(0, users, 500):
        chosen = np.argpartition(keys[start : start + 500], each, axis=1)[:, :each]
        has += np.bincount(chosen.ravel(), minlength=items)
    law = GaussianNoise(Fraction(theta**2 * 2**40, 2) / Fraction(1, 80), Fraction(1, 2**20))
    noisy = has * min(1, theta / each**0.5) + rng.normal(0, law.std(), items)
    bins = np.zeros(13)
    bins[6] = users
    sizes = Noisy(bins, DiscreteLaplace(Fraction(1)))
    return ItemFacts(items, Noisy(noisy, law), sizes, theta=theta, norm="l2"), has


def test_what_a_norm_left_out_is_put_back() -> None:
    facts, truth = made(5)
    found = estimate_items(facts)
    assert found.mean.sum() == pytest.approx(truth.sum(), rel=0.1)
    inside = (found.low <= truth) & (truth <= found.high)
    assert inside.mean() > 0.9


def test_intervals_hold_with_gaussian_noise() -> None:
    held = []
    for seed in range(4):
        facts, truth = made(10, seed)
        found = estimate_items(facts)
        held.append(np.mean((found.low <= truth) & (truth <= found.high)))
    assert 0.93 < np.mean(held) <= 1


def test_independent_noise_has_no_common_shift() -> None:
    assert common_of(IntervalNoise(Fraction(1), 20)) == 0.5
    law = GaussianNoise(Fraction(100))
    assert common_of(law) == 0
    expected = np.full((20, 3), 100.0)
    raised = expected + np.array([30.0, 0.0, 0.0])
    levels = [
        head_lifts(Head(np.arange(20), raised, 10.0, common), expected, np.full(3, 0.1)).level[0]
        for common in (0.0, 0.5)
    ]
    assert levels[0] == pytest.approx(0.3, abs=0.01)  # no shift explains any of it
    assert levels[1] < levels[0]


def test_squares_of_gaussian_noise_scatter_less() -> None:
    shares, rng = np.array([0.5, 0.3, 0.2]), np.random.default_rng(1)
    law = GaussianNoise(Fraction(81))
    scores = [
        excess(rng.normal(0, 9, (40, 3)), 9.0, shares, squares=squares_of(law)) for _ in range(400)
    ]
    assert np.std(scores) == pytest.approx(1, abs=0.15)
    assert squares_of(DiscreteLaplace(Fraction(9))) > squares_of(law)
