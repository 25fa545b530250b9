"""The integer Haar transform: its coefficients, its bound, its inverse, its refusals."""

from __future__ import annotations

from fractions import Fraction
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crowdtally.core.counts import Counts
from crowdtally.core.hierarchy import Dyadic, range_weights
from crowdtally.core.privacy import Epsilon
from crowdtally.curator.summaries.priority import priority_summary
from crowdtally.curator.summaries.sparse import without_orphans
from crowdtally.curator.summaries.threshold import filter_summary, threshold_summary
from crowdtally.curator.transforms.trees import haar_counts
from crowdtally.errors import UsageError
from crowdtally.noise.draws import SystemDraws


def sparse(table: np.ndarray, l1_bound: int = 1) -> Counts:
    flat = table.ravel()
    cells = np.flatnonzero(flat)
    return Counts(flat.size, cells, flat[cells], l1_bound)


def dense(counts: Counts) -> np.ndarray:
    table = np.zeros(counts.size, dtype=np.int64)
    table[counts.cells] = counts.values
    return table


def by_definition(values: np.ndarray) -> list[int]:
    leaves = 1 << (len(values) - 1).bit_length()
    padded = np.concatenate([values, np.zeros(leaves - len(values), dtype=np.int64)])
    coefficients = [int(padded.sum())]
    level = 1
    while level < leaves:
        for part in padded.reshape(level, -1):
            half = len(part) // 2
            coefficients.append(int(part[:half].sum() - part[half:].sum()))
        level *= 2
    return coefficients


@pytest.mark.parametrize("length", [1, 2, 3, 4, 5, 8, 13, 16])
def test_coefficients_are_differences_of_sums(length):
    rng = np.random.default_rng(length)
    for density in (0, 0.3, 1):
        values = rng.integers(1, 9, length) * (rng.random(length) < density)
        found = haar_counts(sparse(values, 2), [length])
        assert dense(found).tolist() == by_definition(values)
        assert found.l1_bound == 2 * ((length - 1).bit_length() + 1)
        assert found.signed


@pytest.mark.parametrize(("lengths", "axis"), [([3, 5], 0), ([3, 5], 1), ([2, 6, 3], 1)])
def test_one_axis_of_several(lengths, axis):
    rng = np.random.default_rng(7)
    table = rng.integers(0, 4, lengths)
    found = haar_counts(sparse(table), lengths, axis)
    leaves = 1 << (lengths[axis] - 1).bit_length()
    shape = [leaves if i == axis else n for i, n in enumerate(lengths)]
    wanted = np.apply_along_axis(by_definition, axis, table)
    assert wanted.shape == tuple(shape)
    assert dense(found).reshape(shape).tolist() == wanted.tolist()


@settings(max_examples=80, deadline=None)
@given(st.lists(st.integers(0, 50), min_size=1, max_size=33), st.data())
def test_counts_and_ranges_come_back_exactly(values, data):
    table = np.array(values)
    coefficients = dense(haar_counts(sparse(table), [len(values)]))
    low = data.draw(st.integers(0, len(values) - 1))
    high = data.draw(st.integers(low + 1, len(values)))
    levels = (len(values) - 1).bit_length()
    weights = range_weights(levels, low, high)
    assert sum(w * coefficients[c] for c, w in weights.items()) == sum(values[low:high])
    for place, value in enumerate(values):
        alone = range_weights(levels, place, place + 1)
        assert sum(w * coefficients[c] for c, w in alone.items()) == value
    assert len(weights) <= 2 * levels + 1


@pytest.mark.parametrize("length", [1, 2, 5, 8])
def test_the_bound_is_what_a_record_changes_and_no_less(length):
    for place in range(length):
        table = np.zeros(length, dtype=np.int64)
        table[place] = 1
        found = haar_counts(sparse(table), [length])
        assert np.abs(found.values).sum() == found.l1_bound == (length - 1).bit_length() + 1


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 40), st.lists(st.tuples(st.integers(0, 39), st.integers(1, 5)), max_size=6))
def test_neighbours_differ_by_at_most_the_bound(length, records):
    before = np.arange(length) % 3
    after = before.copy()
    for place, weight in records:
        after[place % length] += weight
    bound = max(int((after - before).sum()), 1)
    first, second = (haar_counts(sparse(t, bound), [length]) for t in (before, after))
    assert np.abs(dense(first) - dense(second)).sum() <= first.l1_bound


def test_beyond_64_bits():
    lengths = [2**40, 2**40]
    cells = [3 * 2**40 + 1, 2**80 - 1]
    found = haar_counts(Counts(prod(lengths), cells, [4, 5], 1), lengths, 1)
    assert found.cells.dtype == object
    kept = dict(zip(found.cells.tolist(), found.values.tolist(), strict=True))
    assert len(kept) == 2 * 41
    for (row, column), value in {(3, 1): 4, (2**40 - 1, 2**40 - 1): 5}.items():
        weights = range_weights(40, column, column + 1)
        assert sum(w * kept[row * 2**40 + c] for c, w in weights.items()) == value


def test_only_two_sided_and_no_ancestor_rule():
    counts = haar_counts(sparse(np.array([1, 2, 3, 4])), [4])
    epsilon, draws = Epsilon.of(1), SystemDraws()
    for make in (
        lambda: filter_summary(counts, epsilon, draws, cut=2, sides="one"),
        lambda: threshold_summary(counts, epsilon, draws, threshold=Fraction(2), sides="one"),
        lambda: priority_summary(counts, epsilon, draws, size=2, sides="one"),
    ):
        with pytest.raises(UsageError, match="two-sided"):
            make()
    with pytest.raises(UsageError, match="nodes"):
        without_orphans(filter_summary(counts, epsilon, draws, cut=1), Dyadic.over([4]))


@pytest.mark.parametrize("place", range(8))
def test_all_coefficients_are_integers_of_one_scale(place):
    """A record changes each by 0 or 1; orthonormal ones would change by 2^(−h/2), h the height."""
    changes = haar_counts(sparse(np.eye(8, dtype=np.int64)[place]), [8]).values
    assert changes.dtype == np.int64
    assert {abs(change) for change in changes.tolist()} == {1}


@pytest.mark.parametrize(
    ("lengths", "axis"), [([5], 0), ([4], 1), ([2, 3], 0), ([2, 2], -1), ([], 0)]
)
def test_shapes_that_do_not_fit(lengths, axis):
    with pytest.raises(UsageError, match="does not have axes"):
        haar_counts(sparse(np.ones(4, dtype=int)), lengths, axis)
