"""Whether contexts differ: how often the look is wrong either way."""

import numpy as np
import pytest

from crowdtally.inference.stopping import differ, excess

SHARES = np.array([0.1, 0.2, 0.3, 0.4])
COUNTS = np.linspace(300, 100, 60)


def rate(true, scale: float, *, counts=None, shares=SHARES, times: int = 400) -> float:
    """How often noisy versions of these cells are found to differ."""
    rng = np.random.default_rng(7)
    seen = (true + rng.laplace(0, scale, true.shape) for _ in range(times))
    return np.mean([differ(cells, 2**0.5 * scale, shares, counts=counts) for cells in seen])


def test_contexts_that_do_not_differ_are_stopped_mostly():
    assert 0.2 < rate(np.outer(COUNTS, SHARES), 20, counts=COUNTS) < 0.4
    assert 0.2 < rate(np.zeros((15, 4)), 20) < 0.4


def test_contexts_that_differ_are_seen():
    rng = np.random.default_rng(1)
    lifted = np.outer(COUNTS, SHARES) * (1 + 0.6 * rng.standard_normal((60, 4)))
    assert rate(lifted, 20, counts=COUNTS) > 0.97
    tastes = 400 * SHARES * rng.standard_normal((15, 4)) * 0.3
    assert rate(tastes, 20) > 0.97


def test_a_context_of_heavy_users_is_no_difference():
    heavy = np.array([0.2, 0.2, 0.3, 0.3])  # of these rows; step 8 said something else
    assert rate(np.outer(COUNTS, heavy), 5, counts=COUNTS) < 0.4
    popular = COUNTS**1.3  # and the items' sizes are not quite as estimated either
    assert rate(np.outer(popular * COUNTS.sum() / popular.sum(), SHARES), 5, counts=COUNTS) < 0.4


def test_the_score_is_in_standard_deviations():
    rng = np.random.default_rng(5)
    scores = [excess(rng.laplace(0, 9, (40, 4)), 9 * 2**0.5, SHARES) for _ in range(600)]
    assert np.mean(scores) == pytest.approx(0, abs=0.2)
    assert 0.7 < np.std(scores) < 1.3


@pytest.mark.parametrize(
    "cells", [np.ones((5, 1)), np.empty((0, 4)), np.zeros((3, 4))], ids=["one", "none", "empty"]
)
def test_there_is_nothing_to_tell_apart(cells):
    shares = np.full(cells.shape[1], 1 / cells.shape[1])
    assert not differ(cells, 1.0, shares)
    assert not differ(cells, 0.0, shares)
