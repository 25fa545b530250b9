"""The flat prior on counts of at least 0, against the sum by hand."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from crowdtally.inference.mixing import posterior
from crowdtally.laws.laplace import DiscreteLaplace


@pytest.mark.parametrize("scale", ["1/2", "3", "20", "400"])
@pytest.mark.parametrize("value", [-9, 0, 2, 30])
def test_it_is_the_law_cut_off_at_nobody(scale, value):
    law = DiscreteLaplace(Fraction(scale))
    counts = np.arange(0, 20_000)
    chances = law.probabilities(value - counts)
    chances /= chances.sum()
    mean = float(chances @ counts)
    below = np.cumsum(chances)
    found = posterior([float(value)], law, flat=True)
    loose = 0.02 * float(law.scale) + 1e-9
    assert found.mean[0] == pytest.approx(mean, abs=loose)
    assert found.variance[0] == pytest.approx(float(chances @ counts**2) - mean**2, rel=0.01)
    for part, share in ((found.low, 0.025), (found.median, 0.5), (found.high, 0.975)):
        assert part[0] == pytest.approx(np.searchsorted(below, share), abs=max(loose, 1.0))


def test_few_cells_have_a_flat_prior_and_many_have_not():
    law = DiscreteLaplace(Fraction(100))
    values = np.zeros(199)
    few, many = posterior(values, law), posterior(np.zeros(200), law)
    assert few.mean == pytest.approx(100.0, rel=0.02)
    assert many.mean.max() < 20
    assert posterior(np.zeros(200), law, flat=True).mean[:1] == pytest.approx(few.mean[:1])


def test_far_above_nobody_the_interval_is_the_noise_interval():
    law = DiscreteLaplace(Fraction(10))
    found = posterior([1000.0], law, flat=True)
    width = law.half_width(Fraction(19, 20))
    assert (found.low[0], found.high[0]) == pytest.approx((1000 - width, 1000 + width), abs=1)
