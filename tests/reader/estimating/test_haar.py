"""Answers from Haar coefficients."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from crowdtally.errors import UsageError
from crowdtally.laws.laplace import DiscreteLaplace
from crowdtally.reader.estimating.haar import inverse, range_weights
from crowdtally.reader.estimating.sampled import Sampled, linear_sum
from crowdtally.values.keeping import Keeping


def test_weights_are_those_of_the_inverse():
    """The inverse of each unit vector, summed over the range, is that coefficient's weight."""
    for levels in range(5):
        size = 1 << levels
        columns = np.array([inverse(unit) for unit in np.eye(size)])
        for low in range(size):
            for high in range(low + 1, size + 1):
                wanted = columns[:, low:high].sum(axis=1)
                weights = range_weights(levels, low, high)
                assert [weights.get(c, 0.0) for c in range(size)] == wanted.tolist()
                assert len(weights) <= 2 * levels + 1


def test_long_ranges_have_small_errors():
    """Weights are at most 1/2 below the total, so the variance grows with the levels alone."""
    scale, levels = Fraction(21), 20
    weights = range_weights(levels, 12345, 987654)
    cells = np.arange(1 << levels)
    values = np.zeros(1 << levels, dtype=np.int64)
    found = linear_sum(cells, values, weights, Sampled(Keeping(), scale))
    assert found.standard_error == pytest.approx(
        DiscreteLaplace(scale).std() * sum(w * w for w in weights.values()) ** 0.5
    )
    assert found.standard_error < DiscreteLaplace(scale).std() * (levels / 2 + 1) ** 0.5


@pytest.mark.parametrize("coefficients", [[], [1, 2, 3], [[1, 2]]])
def test_transforms_that_are_none(coefficients):
    with pytest.raises(UsageError, match="complete transform"):
        inverse(coefficients)


@pytest.mark.parametrize(("low", "high"), [(0, 0), (-1, 2), (3, 2), (0, 9)])
def test_ranges_that_are_none(low, high):
    with pytest.raises(UsageError, match="range"):
        range_weights(3, low, high)
