"""Measured items join the calibrated ones."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import exp, hypot, inf, sqrt

import numpy as np
import pytest

from crowdtally.inference.facts import Chosen
from crowdtally.inference.heads import blended
from crowdtally.laws.base import Combination, NoiseLaw
from crowdtally.laws.gaussian import GaussianNoise
from crowdtally.laws.interval import IntervalNoise
from crowdtally.laws.laplace import DiscreteLaplace

REACH = 1.959964
TRUTH = 9000 * np.arange(1, 17.0) ** -0.8


def head_of(values, law: NoiseLaw | None = None, bound: float = inf) -> Chosen:
    sure, places = DiscreteLaplace(Fraction(1000), Fraction(1, 1 << 20)), np.arange(len(values))
    return Chosen(np.asarray(values, dtype=float), law or sure, bound, places=places)


def test_the_blend_is_that_of_the_variances():
    counts, noise = np.array([1000.0, 800.0]), 50.0
    head = head_of([1100.0, 760.0], GaussianNoise(Fraction(2500)))
    variances = np.array([400.0, 900.0])
    found = blended(head, counts, variances, 0.5, repeats=False)
    assert found is not None
    beyond = 100**2 + 40**2 - 2 * noise**2 - 1300
    square = beyond / (1000**2 + 800**2)
    doubt = variances + square * counts**2
    assert found.scatter**2 == pytest.approx(square, rel=1e-3)
    weight = doubt / (doubt + noise**2)
    assert found.mean == pytest.approx(counts + weight * (head.values - counts), rel=1e-4)
    assert found.variance == pytest.approx(doubt * noise**2 / (doubt + noise**2), rel=1e-3)
    low, high = found.interval(0.0, REACH)
    own = 2.2 / 1.96 * REACH * np.sqrt(found.variance)
    assert high[0] == pytest.approx(1100 + 2.2 / 1.96 * REACH * noise)
    assert low[0] == pytest.approx(found.mean[0] - own[0])


def test_the_noise_of_a_head_of_users_is_drawn_together():
    law = IntervalNoise(Fraction(1, 20), 16)
    found = blended(head_of(TRUTH, law), TRUTH, np.zeros(16), 0.5, repeats=False)
    assert found is not None
    assert found.sum_deviation == pytest.approx(law.std(Combination.of_cells(16)))
    assert found.sum_deviation == pytest.approx(law.std() * sqrt(16 + 16 * 15 / 2))


def test_where_counts_are_far_off_the_measured_count():
    counts = np.array([10.0, 10.0, 10.0])
    head = head_of([900.0, 900.0, 900.0], GaussianNoise(Fraction(100)))
    found = blended(head, counts, np.ones(3), 0.9, repeats=False)
    assert found is not None
    assert found.mean == pytest.approx([900.0] * 3, rel=0.01)


def test_a_head_of_scaled_rows_is_brought_to_the_counts_size():
    values = TRUTH / 1.5
    found = blended(head_of(values, bound=4), TRUTH, np.zeros(16), 0.4, repeats=True)
    assert found is not None
    assert found.factor == pytest.approx(1.5)
    assert found.values == pytest.approx(TRUTH)
    assert found.noise == pytest.approx((0.7 * (1 - 1 / 1.5) * TRUTH) ** 2, rel=1e-3)
    assert found.doubt(0.3) == pytest.approx(hypot(0.15, 0.5 * (1 - 1 / 1.5)))
    least = (0.3 * 0.4) ** 2 * TRUTH[0] ** 2
    expected = least * found.noise[0] / (least + found.noise[0])
    assert found.variance[0] == pytest.approx(expected, rel=1e-3)
    low, high = found.interval(0.3, REACH)
    assert low[0] < TRUTH[0] / exp(REACH * found.doubt(0.3))
    assert high[0] > TRUTH[0] * exp(REACH * found.doubt(0.3))
    empty = replace(found, mean=np.zeros(16))
    assert (empty.interval(0.3, REACH)[1] > 0).all()  # nothing is certain to be nothing


def test_a_head_of_noise_alone_says_nothing():
    law = DiscreteLaplace(Fraction(100))
    values = np.full(16, 3 * law.std() / 4 * 0.99)
    assert blended(head_of(values, law, 4), TRUTH, np.zeros(16), 0.5, repeats=True) is None
    assert blended(head_of(1.02 * values, law, 4), TRUTH, np.zeros(16), 0.5, repeats=True)


def test_scatter_has_a_floor_and_a_ceiling():
    sure = blended(head_of(TRUTH), TRUTH, np.zeros(16), 0.5, repeats=False)
    far = blended(head_of(9 * TRUTH), TRUTH, np.zeros(16), 0.5, repeats=False)
    assert sure is not None
    assert far is not None
    assert sure.scatter == pytest.approx(0.03)
    assert far.scatter**2 == pytest.approx(0.5)
