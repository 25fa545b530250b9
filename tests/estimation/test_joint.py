"""Cells that were measured twice."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from crowdtally.inference.facts import Chosen, ItemFacts, Noisy
from crowdtally.inference.items import bounded_counts
from crowdtally.inference.joint import Again
from crowdtally.inference.mixing import posterior
from crowdtally.inference.posterior import Noise
from crowdtally.laws.laplace import DiscreteLaplace

B = 1000.0
LAW = DiscreteLaplace(Fraction(1000))
SHARP = DiscreteLaplace(Fraction(500))


def noise(rng: np.random.Generator, scale: float, size: int) -> np.ndarray:
    return np.rint(scale * (rng.exponential(size=size) - rng.exponential(size=size)))


def test_chosen_noise_is_seen_through():
    """Items chosen for their noise: both values together say that there is nothing."""
    rng = np.random.default_rng(1)
    values = noise(rng, B, 4000)
    places = np.sort(np.argsort(-values)[:300])
    again = Again(places, noise(rng, B, 300), Noise(LAW))
    found = posterior(values, LAW, also=again)
    assert found.mean[places].mean() < 0.35 * B
    assert (found.low[places] == 0).mean() > 0.95


def test_a_second_value_lowers_the_error_of_its_own_cells():
    rng = np.random.default_rng(2)
    truth = B * rng.pareto(1.2, 4000)
    values = np.rint(truth + noise(rng, B, 4000))
    alone = posterior(values, LAW)
    places = np.sort(np.argsort(-alone.mean)[:500])
    second = np.rint(truth[places] + noise(rng, B / 2, 500))
    both = posterior(values, LAW, also=Again(places, second, Noise(SHARP)))

    def error(found: np.ndarray) -> float:
        return float(((found - truth)[places] ** 2).mean())

    assert error(both.mean) < 0.35 * error(alone.mean)
    inside = (both.low[places] <= truth[places]) & (truth[places] <= both.high[places])
    assert 0.9 < inside.mean() < 0.99


def test_another_unit_and_a_ratio_say_the_same():
    rng = np.random.default_rng(3)
    values = np.rint(B * rng.pareto(1.2, 1000) + noise(rng, B, 1000))
    places = np.arange(0, 1000, 7)
    second = np.rint(values[places] + noise(rng, B, len(places)))
    plain = posterior(values, LAW, also=Again(places, second, Noise(LAW)))
    halves = posterior(values, LAW, also=Again(places, second, Noise(SHARP, 2.0)))
    assert halves.mean == pytest.approx(plain.mean, rel=1e-2, abs=1.0)


def test_many_pairs_are_taken_together_without_a_visible_difference(monkeypatch):
    rng = np.random.default_rng(4)
    truth = B * rng.pareto(2, 1500)
    values = np.rint(truth + noise(rng, B, 1500))
    again = Again(np.arange(1000), np.rint(truth[:1000] + noise(rng, B, 1000)), Noise(LAW))
    fine = posterior(values, LAW, also=again)
    monkeypatch.setattr("crowdtally.inference.joint._MOST_ROWS", 300)
    coarse = posterior(values, LAW, also=again)
    assert np.abs(coarse.mean - fine.mean).mean() < 0.06 * B


def test_a_zoom_is_brought_to_the_size_of_the_table_by_posterior_means():
    """The zoom keeps three times as much; raw sums of chosen items are too large for a ratio."""
    rng = np.random.default_rng(5)
    truth = np.append(np.full(100, 6.0), np.zeros(3900))
    law, unit = DiscreteLaplace(Fraction(4000), Fraction(1, 1000)), 1000
    table = np.rint(unit * (truth + 4 * (rng.exponential(size=4000) - rng.exponential(size=4000))))
    alone = posterior(table, law)
    places = np.sort(np.argsort(-table)[:300])
    zoomed = 3 * truth[places] + 4 * (rng.exponential(size=300) - rng.exponential(size=300))
    facts = ItemFacts(
        4000,
        table=Noisy(table / unit, law),
        zoom=Chosen(places, np.rint(zoomed * unit) / unit, law),
    )
    found = bounded_counts(facts)
    error = ((found.mean - truth) ** 2).mean()
    assert error < 0.9 * ((alone.mean - truth) ** 2).mean()
    # A ratio of raw sums would make the chosen items half as large again.
    assert found.mean[places].sum() < 1.35 * truth[places].sum()


def test_a_zoom_of_nothing_but_noise_is_left_out():
    rng = np.random.default_rng(6)
    values = noise(rng, B, 1000)
    facts = ItemFacts(
        1000,
        table=Noisy(values, LAW),
        zoom=Chosen(np.arange(20), -np.abs(noise(rng, B, 20)), LAW, 1),
    )
    assert np.array_equal(bounded_counts(facts).mean, posterior(values, LAW).mean)
