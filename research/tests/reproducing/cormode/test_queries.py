"""Queries are random sums, and their error is the paper's."""

from __future__ import annotations

import numpy as np

from crowdtally_research.reproducing.papers.cormode.tables import Ranges, Subsets, relative


def test_subsets_are_sums_over_distinct_cells() -> None:
    """Powers of two tell which cells are in a sum."""
    values = 2.0 ** np.arange(40)
    sums = Subsets.drawn(40, [1, 4, 30], seed=1).sums(values)
    assert {size: len(found) for size, found in sums.items()} == {1: 200, 4: 50, 30: 5}
    for size, found in sums.items():
        assert {int(one).bit_count() for one in found} == {size}


def test_at_most_a_hundred_subsets_of_each_shuffle() -> None:
    sums = Subsets.drawn(1_000, [2], seed=1).sums(np.ones(1_000))
    assert sums[2].tolist() == [2.0] * 500


def test_subsets_of_one_shuffle_are_disjoint() -> None:
    (found,) = Subsets.drawn(12, [3], seed=2).sums(2.0 ** np.arange(12)).values()
    assert found.reshape(5, 4).sum(axis=1).tolist() == [4095.0] * 5


def test_runs_have_other_subsets() -> None:
    values = np.arange(100.0)
    one, other = (Subsets.drawn(100, [5], seed).sums(values)[5] for seed in (1, 2))
    assert (one != other).any()


def test_ranges_are_sums_over_neighbours() -> None:
    asked = Ranges.drawn(50, [1, 7, 50], 30, seed=1)
    values = np.arange(50.0) ** 2
    for size, found in asked.sums(values).items():
        low = asked.low[size]
        assert len(low) == 30
        assert low.min() >= 0
        assert (low + size).max() <= 50
        assert found.tolist() == [values[at : at + size].sum() for at in low]


def test_errors_are_absolute_and_over_the_truth() -> None:
    answers, truth = {3: np.array([0.0, 30.0])}, {3: np.array([10.0, 10.0])}
    assert relative(answers, truth) == {3: 150.0}


def test_no_truth_is_no_division() -> None:
    assert relative({1: np.array([2.0])}, {1: np.array([0.0])}) == {1: 200.0}
