"""Lists that follow from estimates, and the chance of being among the largest."""

from __future__ import annotations

import numpy as np
import pytest

from crowdtally.inference.items import (
    ItemEstimates,
    chances_among,
    equal_mass_groups,
    heaviest,
    kth_largest,
    largest,
)


def estimates(*mean: float, own: float = 1.0) -> ItemEstimates:
    counts = np.array(mean)
    spread = np.full(len(counts), own)
    return ItemEstimates(
        counts, counts, counts, counts, spread, spread, counts, kept_share=1.0, calibrated=True
    )


def test_the_largest_come_first_and_ties_by_the_list():
    found = estimates(5, 9, 5, 1, 9)
    assert largest(found, 3).tolist() == [1, 4, 0]
    assert largest(found, 3, [4, 0]).tolist() == [1, 2, 3]
    assert largest(found, 0).tolist() == []
    assert largest(found, 99).tolist() == [1, 4, 0, 2, 3]


def test_the_heaviest_hold_the_share():
    found = estimates(5, 50, 5, 30, 10)
    assert heaviest(found, 0.5).tolist() == [1]
    assert heaviest(found, 0.51).tolist() == [1, 3]
    assert heaviest(found, 0.3, [1]).tolist() == [3]
    assert heaviest(found, 0.7, [1]).tolist() == [3, 4]
    assert heaviest(estimates(0, 0), 0.3).tolist() == []


def test_groups_hold_equal_mass_and_the_first_the_largest():
    rng = np.random.default_rng(1)
    found = estimates(*(100 * rng.pareto(1.5, 900)))
    groups = equal_mass_groups(found, 4, exclude=[7, 8])
    assert (groups == -1).nonzero()[0].tolist() == [7, 8]
    masses = np.bincount(groups[groups >= 0], found.mean[groups >= 0], minlength=4)
    assert masses == pytest.approx(masses.mean(), rel=0.1)
    for group in range(3):
        assert found.mean[groups == group].min() >= found.mean[groups == group + 1].max()
    assert sorted(set(equal_mass_groups(estimates(*[0.0] * 8), 4).tolist())) == [0, 1, 2, 3]
    assert equal_mass_groups(estimates(3), 4, exclude=[0]).tolist() == [-1]


def test_chances_add_up_and_match_draws():
    rng = np.random.default_rng(2)
    mean, spread = 100 * rng.pareto(2, 400), np.full(400, 15.0)
    found = chances_among(mean, spread, 10)
    assert found.sum() == pytest.approx(10)
    draws = mean + spread * rng.normal(size=(4000, 400))
    line = np.partition(draws, 390, axis=1)[:, 390]
    assert found == pytest.approx((draws >= line[:, None]).mean(axis=0), abs=0.06)


def test_chances_at_the_edges():
    assert estimates(1, 2, 3).chance_among(3).tolist() == [1, 1, 1]
    assert estimates(1, 2, 3).chance_among(0).tolist() == [0, 0, 0]
    assert estimates(1, 2, 30, own=0.0).chance_among(1).tolist() == [0, 0, 1]
    assert estimates(4, 4, 4, 4, own=0.0).chance_among(2) == pytest.approx([0.5] * 4)
    assert chances_among(np.empty(0), np.empty(0), 3).shape == (0,)


@pytest.mark.parametrize("size", [5, 3000, 70_001])
def test_the_kth_largest_is_found_whatever_is_equal(size: int) -> None:
    rng = np.random.default_rng(size)
    for values in (rng.random(size), rng.integers(0, 3, size) * 1.0, np.zeros(size)):
        for k in (1, 2, 5, min(size, 270)):
            assert kth_largest(values, k) == np.sort(values)[-k]
