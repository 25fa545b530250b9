"""Cells that are not told apart from noise have no more than is left for them."""

from __future__ import annotations

import numpy as np
import pytest

from crowdtally.inference.empirical_bayes import within
from crowdtally.inference.items import chances_among
from crowdtally.inference.posterior import Posterior

SIZE = 100_000


def posterior() -> tuple[Posterior, np.ndarray]:
    """One large cell, one doubtful one, some small ones, and many of which nothing is said."""
    found, said = Posterior.empty(SIZE), np.zeros(SIZE, dtype=np.bool_)
    said[:50] = True
    found.mean[:], found.variance[:], found.high[:] = 0.05, 0.2, 3.0
    found.mean[:50], found.variance[:50] = 0.5, 2.0
    found.mean[0], found.low[0], found.high[0], found.variance[0] = 400.0, 380.0, 420.0, 100.0
    found.mean[1], found.variance[1], found.high[1] = 20.0, 40.0, 30.0
    return found, said


def copied(found: Posterior) -> Posterior:
    return Posterior(*(part.copy() for part in found.parts()))


def test_they_add_up_to_what_is_left() -> None:
    (before, said), (own, _) = posterior(), posterior()
    whole = copied(own)
    within(900.0, said, own, whole)
    assert whole.mean.sum() == pytest.approx(900.0, rel=1e-6)
    assert whole.mean[0] == 400.0
    assert 10.0 < whole.mean[1] < 20.0  # more evidence loses less
    assert whole.mean[2] / before.mean[2] < whole.mean[1] / before.mean[1]
    assert len(np.unique(whole.mean[50:])) == 1
    assert (whole.variance[1:] > 0).all()
    np.testing.assert_array_equal(whole.high, before.high)
    np.testing.assert_array_equal(own.mean, whole.mean)


def test_nothing_changes_where_there_is_enough() -> None:
    (before, said), (own, _) = posterior(), posterior()
    whole = copied(own)
    within(1e6, said, own, whole)
    np.testing.assert_array_equal(whole.mean, before.mean)


def test_nothing_is_left_where_what_is_told_apart_is_all() -> None:
    own, said = posterior()
    whole = copied(own)
    within(300.0, said, own, whole)
    assert whole.mean.sum() == pytest.approx(400.0, abs=1e-3)


def test_cells_far_below_the_line_do_not_matter() -> None:
    """Chances add up to k, whether most cells leave the race early or late."""
    mean = np.concatenate([np.linspace(100, 50, 20), np.zeros(5_000)])
    found = chances_among(mean, np.concatenate([np.full(20, 6.0), np.full(5_000, 0.5)]), 7)
    assert found.sum() == pytest.approx(7, abs=1e-6)
    assert (np.diff(found[:20]) <= 0).all()
    assert not found[20:].any()
