"""Items and contexts that add up: the least squares, and their variances."""

from __future__ import annotations

import numpy as np
import pytest

from crowdtally.inference.contexts import consistent_items


def test_it_is_the_weighted_least_squares():
    rng = np.random.default_rng(1)
    h, own, theirs = 5, 9.0, 2.0
    items, contexts = rng.normal(50, 9, 1), rng.normal(10, 4, (1, h))
    design = np.vstack([np.ones((1, h)), np.eye(h)])
    weights = np.diag([1 / own] + [1 / theirs] * h)
    values = np.append(items, contexts)
    inverse = np.linalg.inv(design.T @ weights @ design)
    best = inverse @ design.T @ weights @ values
    found = consistent_items(items, own, contexts, theirs)
    assert found.contexts[0] == pytest.approx(best)
    assert found.items[0] == pytest.approx(best.sum())
    assert found.context_variance == pytest.approx(inverse[0, 0])
    assert found.item_variance == pytest.approx(inverse.sum())


def test_the_variances_are_those_of_draws():
    rng = np.random.default_rng(2)
    size = 20_000
    items, contexts = rng.normal(0, 3, size), rng.normal(0, 2, (size, 4))
    found = consistent_items(items, 9.0, contexts, 4.0)
    assert found.items.var() == pytest.approx(found.item_variance, rel=0.05)
    assert found.contexts.var() == pytest.approx(found.context_variance, rel=0.05)
    assert found.items.var() < 9.0
