"""What published values stand for, and what is said about their sums."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt

import numpy as np
import pytest

from crowdtally.curator.publishing.filter import filter_summary
from crowdtally.curator.publishing.priority import priority_summary
from crowdtally.curator.publishing.threshold import threshold_summary
from crowdtally.errors import UsageError
from crowdtally.laws.laplace import DiscreteLaplace
from crowdtally.laws.tails import empty_cell
from crowdtally.noise.draws import SystemDraws
from crowdtally.reader.estimating.sampled import Sampled, linear_sum, subset_sum
from crowdtally.values.counts import Counts
from crowdtally.values.epsilon import Epsilon
from crowdtally.values.keeping import Keeping

SCALE = Fraction(10)
NOISE = DiscreteLaplace(SCALE).std()


def test_raw_values_are_summed_as_they_are():
    for keeping in (Keeping(), Keeping(5), Keeping(5, Fraction(4)), Keeping(2, None, "one")):
        found = subset_sum([7, -9, 30], 10, Sampled(keeping, SCALE))
        assert found.value == 28


def test_sampled_values_stand_for_those_like_them():
    sampled = Sampled(Keeping(3, Fraction(25, 2)), SCALE)
    assert sampled.adjusted([3, -12, 13, -40]).tolist() == [12.5, -12.5, 13, -40]
    assert subset_sum([3, -12, 13, -40], 100, sampled).value == -27


def test_the_error_of_a_dense_table_is_its_noise():
    assert subset_sum([1] * 9, 9, Sampled(Keeping(), SCALE)).standard_error == pytest.approx(
        3 * NOISE
    )


def test_the_error_of_a_sample_adds_what_sampling_loses():
    """Σ τ(τ−w) over the kept w < τ, and the noise of every cell of the subset."""
    found = subset_sum([60, 90, 500], 3, Sampled(Keeping(0, Fraction(100)), SCALE))
    assert found.standard_error == pytest.approx(sqrt(100 * 40 + 100 * 10 + 3 * NOISE**2))


def test_cells_that_are_absent_are_no_less_uncertain_than_empty_ones():
    keeping = Keeping(0, Fraction(100))
    found = subset_sum([], 4, Sampled(keeping, SCALE))
    assert found.value == 0
    assert found.standard_error == pytest.approx(sqrt(4 * empty_cell(SCALE, keeping).variance))


def test_the_error_behind_a_filter():
    """Kept cells carry noise; empty ones are seen only where their noise passes the cut."""
    keeping = Keeping(40)
    by_chance = empty_cell(SCALE, keeping).variance
    found = subset_sum([100, 200], 52, Sampled(keeping, SCALE))
    assert found.standard_error == pytest.approx(sqrt(2 * NOISE**2 + 50 * by_chance))
    assert by_chance < NOISE**2


@pytest.mark.parametrize(
    ("sampled", "words"),
    [
        (Sampled(Keeping(), SCALE), "true counts"),
        (Sampled(Keeping(0, Fraction(9)), SCALE), "true counts"),
        (Sampled(Keeping(7), SCALE), "size 7 or more"),
        (Sampled(Keeping(7, Fraction(9)), SCALE), "smaller ones count as 0"),
        (Sampled(Keeping(0, Fraction(9), "one"), SCALE), "sums over many are high"),
        (Sampled(Keeping(7, Fraction(9), "one"), SCALE), "an empty one counts"),
        (Sampled(Keeping(7), SCALE, tree=True), "those below them"),
    ],
)
def test_it_says_what_it_is_unbiased_for(sampled, words):
    assert words in subset_sum([50], 3, sampled).unbiased_for


COUNTS = Counts(10**9, np.arange(100) * 10**6, np.full(100, 500), l1_bound=1)
EPSILON = Epsilon.of("0.1")


def summaries():
    draws = SystemDraws()
    yield filter_summary(COUNTS, EPSILON, draws, cut=150)
    yield threshold_summary(COUNTS, EPSILON, draws, threshold=Fraction(10**8), cut=0)
    yield threshold_summary(COUNTS, EPSILON, draws, threshold=Fraction(2001, 2), cut=140)
    yield priority_summary(COUNTS, EPSILON, draws, size=60, cut=140, sides="one")
    yield priority_summary(COUNTS, EPSILON, draws, size=60)


def test_the_facts_of_a_release_say_all_that_is_needed():
    for summary in summaries():
        sampled = Sampled.of(summary.facts(), summary.scale)
        assert sampled.keeping.cut == summary.keeping.cut
        assert sampled.keeping.sides == summary.keeping.sides
        assert sampled.keeping.threshold == summary.threshold
        assert sampled.scale == SCALE
    assert Sampled.of({"publishing": "dense"}, SCALE) == Sampled(Keeping(), SCALE)


def test_linear_sums_find_what_was_published():
    cells, values = np.array([2, 5, 9]), np.array([20, -50, 90])
    sampled = Sampled(Keeping(10), SCALE)
    found = linear_sum(cells, values, {9: 0.5, 2: 2.0, 7: 1.0}, sampled)
    assert found.value == 85
    by_chance = empty_cell(SCALE, Keeping(10)).variance
    assert found.standard_error == pytest.approx(sqrt(4.25 * NOISE**2 + by_chance))
    big = np.array([10**30, 10**31], dtype=object)
    assert linear_sum(big, np.array([7, 8]), {10**31: 1.0, 5: 1.0}, sampled).value == 8
    assert linear_sum(cells[:0], values[:0], {3: 1.0}, sampled).value == 0


@pytest.mark.parametrize("cells", [0, -1, 1, 2.0, True])
def test_subsets_that_are_none(cells):
    with pytest.raises(UsageError, match="subset"):
        subset_sum([5, 6], cells, Sampled(Keeping(), SCALE))
