"""Answers from Haar coefficients."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from crowdtally.core.hierarchy import range_weights
from crowdtally.errors import UsageError
from crowdtally.laws.base import Combination
from crowdtally.laws.laplace import DiscreteLaplace


def haar(size: int) -> np.ndarray:
    """Coefficients × values: the total, then left − right of every node of a heap, root first."""
    rows = [np.ones(size)]
    width = size
    while width > 1:
        half = np.repeat([1.0, -1.0], width // 2)
        rows += [np.kron(unit, half) for unit in np.eye(size // width)]
        width //= 2
    return np.array(rows)


def test_weights_are_those_of_the_inverse():
    """Each coefficient's weight in a range is what the inverse matrix gives it."""
    for levels in range(5):
        size = 1 << levels
        columns = np.linalg.inv(haar(size)).T
        for low in range(size):
            for high in range(low + 1, size + 1):
                wanted = columns[:, low:high].sum(axis=1)
                weights = range_weights(levels, low, high)
                found = [weights.get(c, 0.0) for c in range(size)]
                assert np.allclose(found, wanted, rtol=0, atol=1e-12)
                assert len(weights) <= 2 * levels + 1


def test_long_ranges_have_small_errors():
    """Weights are at most 1/2 below the total, so the variance grows with the levels alone."""
    law, levels = DiscreteLaplace(Fraction(21)), 20
    weights = range_weights(levels, 12345, 987654).values()
    error = law.std(Combination(sum(w * w for w in weights), sum(weights)))
    assert error == pytest.approx(law.std() * sum(w * w for w in weights) ** 0.5)
    assert error < law.std() * (levels / 2 + 1) ** 0.5


@pytest.mark.parametrize(("low", "high"), [(0, 0), (-1, 2), (3, 2), (0, 9)])
def test_ranges_that_are_none(low, high):
    with pytest.raises(UsageError, match="range"):
        range_weights(3, low, high)
