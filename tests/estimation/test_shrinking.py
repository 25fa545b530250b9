"""Shrinkage of rows towards zero, and what they lend each other."""

import numpy as np
import pytest

from crowdtally.inference import lifts
from crowdtally.inference.lifts import mvshrink


def rows(count: int, spread, noise: float, seed: int = 0):
    rng = np.random.default_rng(seed)
    true = rng.multivariate_normal(np.zeros(len(spread)), spread, size=count)
    return true, true + noise * rng.standard_normal(true.shape)


def test_nothing_but_noise_is_drawn_to_nothing():
    _, seen = rows(200, np.zeros((4, 4)), 1.0)
    assert np.abs(mvshrink(seen, np.ones(seen.shape)).mean).max() < 0.35
    assert np.abs(seen).max() > 3


def test_precise_values_are_left_alone():
    true, seen = rows(50, np.eye(3), 1e-4)
    assert mvshrink(seen, np.full(seen.shape, 1e-8)).mean == pytest.approx(true, abs=1e-3)


def test_contexts_that_go_together_lend_each_other_strength():
    together = np.full((5, 5), 0.95) + 0.05 * np.eye(5)
    true, seen = rows(300, together, 1.0)
    found = mvshrink(seen, np.ones(seen.shape))
    alone = seen / 2  # the best that one cell can say by itself: gain 1/(1+1)
    assert np.mean((found.mean - true) ** 2) < 0.6 * np.mean((alone - true) ** 2)
    assert found.spread == pytest.approx(together, abs=0.25)


def test_stated_covariances_hold():
    spread = np.array([[1.0, 0.6], [0.6, 0.5]])
    true, seen = rows(4000, spread, 0.8, seed=3)
    found = mvshrink(seen, np.full(seen.shape, 0.64))
    errors = found.mean - true
    assert errors.T @ errors / 4000 == pytest.approx(found.covariance.mean(axis=0), abs=0.05)


@pytest.mark.parametrize(
    ("values", "variances"),
    [
        (np.array([[0.4]]), np.array([[0.1]])),  # h = 1, one row
        (np.array([[3.0, -1.0, 0.0]]), np.ones((1, 3))),
        (np.zeros((6, 2)), np.ones((6, 2))),
        (np.full((6, 2), 0.1), np.full((6, 2), 1e30)),  # nothing can be seen
        (np.full((6, 2), 1e12), np.ones((6, 2))),
        (np.array([[1.0, 2.0], [1.0, 5.0]]), np.array([[1e-12, 1e12], [1.0, 1.0]])),
        (np.empty((0, 3)), np.empty((0, 3))),
    ],
)
def test_extremes_stay_finite_and_never_overshoot(values, variances):
    found = mvshrink(values, variances)
    assert np.isfinite(found.mean).all()
    assert np.isfinite(found.covariance).all()
    assert (np.einsum("ijj->ij", found.covariance) >= -1e-9).all()
    assert (np.abs(found.mean) <= np.abs(values).max(initial=0.0) * (1 + 1e-9)).all()
    assert ((found.gain >= -1e-9) & (found.gain <= 1 + 1e-9)).all()


def test_many_contexts_are_shrunk_in_blocks(monkeypatch):
    _, seen = rows(30, np.eye(5), 1.0)
    monkeypatch.setattr(lifts, "WIDEST", 3)
    found = mvshrink(seen, np.ones(seen.shape))
    assert found.mean[:, :3] == pytest.approx(mvshrink(seen[:, :3], np.ones((30, 3))).mean)
    assert found.mean[:, 3:] == pytest.approx(mvshrink(seen[:, 3:], np.ones((30, 2))).mean)
    assert not found.spread[:3, 3:].any()
