"""Sums over cells that were sampled or sketched."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt

import numpy as np
import pytest

from crowdtally.core.counts import Counts, Keeping
from crowdtally.core.hierarchy import Sketching
from crowdtally.core.privacy import Epsilon
from crowdtally.curator.summaries.threshold import filter_summary
from crowdtally.curator.transforms.base import sketch_counts
from crowdtally.errors import UsageError
from crowdtally.laws.base import Combination
from crowdtally.laws.floors import empty_cell
from crowdtally.laws.laplace import DiscreteLaplace
from crowdtally.noise.draws import SystemDraws
from crowdtally.reader.estimates.cell_sums import Sampled, sketch_sum, weighted_sum
from kit.draws import Seeded
from kit.summaries import priority_summary, sampled, sum_of, table_of, threshold_summary, told_by

# ---- What published values stand for, and what is said about their sums --------------------------


SCALE = Fraction(10)
NOISE = DiscreteLaplace(SCALE).std()


def test_raw_values_are_summed_as_they_are():
    for keeping in (Keeping(), Keeping(5), Keeping(5, Fraction(4)), Keeping(2, None, "one")):
        found = sum_of([7, -9, 30], 10, sampled(keeping, SCALE))
        assert found.value == 28


def test_sampled_values_stand_for_those_like_them():
    how = sampled(Keeping(3, Fraction(25, 2)), SCALE)
    assert how.adjusted([3, -12, 13, -40]).tolist() == [12.5, -12.5, 13, -40]
    assert sum_of([3, -12, 13, -40], 100, how).value == -27


def test_the_error_of_a_dense_table_is_its_noise():
    assert sum_of([1] * 9, 9, sampled(Keeping(), SCALE)).standard_error == pytest.approx(3 * NOISE)


def test_the_error_of_a_sample_adds_what_sampling_loses():
    """Σ τ(τ−w) over the kept w < τ, and the noise of every cell of the subset."""
    found = sum_of([60, 90, 500], 3, sampled(Keeping(0, Fraction(100)), SCALE))
    assert found.standard_error == pytest.approx(sqrt(100 * 40 + 100 * 10 + 3 * NOISE**2))


def test_cells_that_are_absent_are_no_less_uncertain_than_empty_ones():
    keeping = Keeping(0, Fraction(100))
    found = sum_of([], 4, sampled(keeping, SCALE))
    assert found.value == 0
    assert found.standard_error == pytest.approx(sqrt(4 * empty_cell(SCALE, keeping).variance))


def test_the_error_behind_a_filter():
    """Kept cells carry noise; empty ones are seen only where their noise passes the cut."""
    keeping = Keeping(40)
    by_chance = empty_cell(SCALE, keeping).variance
    found = sum_of([100, 200], 52, sampled(keeping, SCALE))
    assert found.standard_error == pytest.approx(sqrt(2 * NOISE**2 + 50 * by_chance))
    assert by_chance < NOISE**2


@pytest.mark.parametrize(
    ("how", "words"),
    [
        (sampled(Keeping(), SCALE), "true counts"),
        (sampled(Keeping(0, Fraction(9)), SCALE), "true counts"),
        (sampled(Keeping(7), SCALE), "size 7 or more"),
        (sampled(Keeping(7, Fraction(9)), SCALE), "smaller ones count as 0"),
        (sampled(Keeping(0, Fraction(9), "one"), SCALE), "sums over many are high"),
        (sampled(Keeping(7, Fraction(9), "one"), SCALE), "an empty one counts"),
        (sampled(Keeping(7), SCALE, tree=True), "those below them"),
    ],
)
def test_it_says_what_it_is_unbiased_for(how, words):
    assert words in sum_of([50], 3, how).unbiased_for


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
        how = told_by(summary)
        assert how.keeping.cut == summary.keeping.cut
        assert how.keeping.sides == summary.keeping.sides
        assert how.keeping.threshold == summary.threshold
        assert how.law == DiscreteLaplace(SCALE)
    dense = {"publishing": "dense", "epsilon": "1", "sensitivity": 10}
    assert Sampled.of(table_of(dense, SCALE, 5)) == sampled(Keeping(), SCALE)


def test_weighted_sums_count_what_was_published():
    """Of three cells of weights 1/2, 2 and 1 the last was not published."""
    how, of = sampled(Keeping(10), SCALE), Combination(0.25 + 4 + 1, 3.5)
    found = weighted_sum([90, 20], [0.5, 2.0], of, how)
    assert found.value == 85
    by_chance = empty_cell(SCALE, Keeping(10)).variance
    assert found.standard_error == pytest.approx(sqrt(4.25 * NOISE**2 + by_chance))
    assert weighted_sum([], [], Combination(1.0, 1.0), how).value == 0


def test_values_in_units_make_counts():
    """A sample of scaled rows: value and error are the same numbers of smaller counts."""
    keeping, unit = Keeping(7, Fraction(100)), Fraction(1, 8)
    whole = sum_of([60, -90, 500], 9, sampled(keeping, SCALE))
    found = sum_of([60, -90, 500], 9, Sampled(keeping, DiscreteLaplace(SCALE, unit)))
    assert found.value == whole.value / 8
    assert found.standard_error == pytest.approx(whole.standard_error / 8)


# ---- Answers from a count sketch -----------------------------------------------------------------


RNG = np.random.default_rng(1)
CELLS = np.unique(RNG.integers(0, 10**12, 200))
VALUES = RNG.integers(50, 150, len(CELLS))
COUNTS_SKETCH = Counts(10**12, CELLS, VALUES, 1)


def buckets(sketching: Sketching) -> np.ndarray:
    found = sketch_counts(COUNTS_SKETCH, sketching)
    table = np.zeros(sketching.size)
    table[found.cells] = found.values
    return table


def test_without_collisions_and_noise_counts_are_exact():
    sketching = Sketching(10**12, buckets=10**6, rows=3, seed=2)
    table = buckets(sketching)
    for place in (0, 57, 199):
        assert sketch_sum(table, CELLS[place : place + 1], sketching).value == VALUES[place]
    assert sketch_sum(table, CELLS, sketching).value == VALUES.sum()
    assert sketch_sum(table, np.array([12345]), sketching).value == 0


@pytest.mark.parametrize("rows", [1, 3])
def test_it_is_unbiased_and_its_error_is_as_said(rows):
    """Over seeds and noise: one occupied cell and one empty one, and a subset of fifty."""
    wanted = [CELLS[:1], np.array([7]), CELLS[:50]]
    truth = [int(VALUES[0]), 0, int(VALUES[:50].sum())]
    errors, said = [], []
    for seed in range(150):
        sketching = Sketching(10**12, buckets=64, rows=rows, seed=seed)
        counts = sketch_counts(COUNTS_SKETCH, sketching)
        table = filter_summary(counts, Epsilon.of("0.5"), SystemDraws(Seeded(seed)), cut=0).values
        found = [sketch_sum(table, cells, sketching) for cells in wanted]
        errors.append([f.value - t for f, t in zip(found, truth, strict=True)])
        said.append([f.standard_error for f in found])
    spread = np.std(errors, axis=0)
    assert (np.abs(np.mean(errors, axis=0)) < 6 * spread / 150**0.5).all()
    ratio = spread / np.mean(said, axis=0)
    assert (ratio > 0.6).all()
    assert (ratio < 1.3).all()


def test_cells_beyond_64_bits():
    cells = np.array([3, 10**25], dtype=object)
    sketching = Sketching(10**26, buckets=1000, rows=2, seed=1)
    found = sketch_counts(Counts(10**26, cells, [5, 7], 1), sketching)
    table = np.zeros(2000)
    table[found.cells] = found.values
    assert sketch_sum(table, cells[1:], sketching).value == 7


def test_what_is_refused():
    sketching = Sketching(10, 4, 2, 0)
    with pytest.raises(UsageError, match="8 buckets"):
        sketch_sum(np.zeros(7), np.array([1]), sketching)
