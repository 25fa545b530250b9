"""Dyadic ranges and Haar wavelets: trees over an ordered list."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import log2, prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crowdtally.core.counts import Counts, Keeping
from crowdtally.core.hierarchy import Dyadic, DyadicAxis, range_weights
from crowdtally.core.privacy import Epsilon
from crowdtally.curator.summaries.base import Summary
from crowdtally.curator.summaries.priority import prioritised
from crowdtally.curator.summaries.sparse import without_orphans
from crowdtally.curator.summaries.threshold import filter_summary
from crowdtally.curator.transforms.trees import dyadic_counts, haar_counts
from crowdtally.errors import UsageError
from crowdtally.noise.draws import SystemDraws
from kit.summaries import priority_summary, threshold_summary

# ---- Dyadic trees: nodes, ranges, sensitivity, the ancestor rule ---------------------------------


SHAPES = [
    ([1], None),
    ([2], None),
    ([5], None),
    ([8], None),
    ([3, 4], None),
    ([3, 4], [True, False]),
    ([3, 4], [False, True]),
    ([2, 1, 5], [True, True, True]),
    ([2, 3, 5], [True, False, True]),
]


def sparse(table: np.ndarray, l1_bound: int = 1, size: int | None = None) -> Counts:
    flat = table.ravel()
    cells = np.flatnonzero(flat)
    return Counts(size or flat.size, cells, flat[cells], l1_bound)


def dense(counts: Counts) -> np.ndarray:
    table = np.zeros(counts.size, dtype=np.int64)
    table[counts.cells] = counts.values
    return table


def leaves_of(axis: DyadicAxis, node: int) -> range:
    """By definition: walk down to the leaves."""
    if not axis.ordered:
        return range(node, node + 1)
    first = last = node
    while first < axis.leaves - 1:
        first, last = 2 * first + 1, 2 * last + 2
    return range(first - axis.leaves + 1, min(last - axis.leaves + 2, axis.length))


def by_definition(table: np.ndarray, tree: Dyadic) -> np.ndarray:
    sums = []
    for codes in product(*(range(axis.nodes) for axis in tree.axes)):
        parts = zip(tree.axes, codes, strict=True)
        box = np.ix_(*(list(leaves_of(axis, code)) for axis, code in parts))
        sums.append(int(table[box].sum()))
    return np.array(sums)


@pytest.mark.parametrize(("lengths", "ordered"), SHAPES)
def test_every_node_counts_its_leaves(lengths, ordered):
    rng = np.random.default_rng(1)
    tree = Dyadic.over(lengths, ordered=ordered)
    for density in (0, 0.3, 1):
        table = rng.integers(1, 9, lengths) * (rng.random(lengths) < density)
        found = dyadic_counts(sparse(table, 3), tree)
        assert dense(found).tolist() == by_definition(table, tree).tolist()
        assert found.l1_bound == 3 * tree.factor
        assert found.size == tree.size


@pytest.mark.parametrize(("lengths", "ordered"), SHAPES)
def test_every_range_is_exact_without_noise(lengths, ordered):
    rng = np.random.default_rng(2)
    tree = Dyadic.over(lengths, ordered=ordered)
    table = rng.integers(0, 9, lengths)
    nodes = dense(dyadic_counts(sparse(table), tree))
    ranges = [[(a, b) for a in range(n) for b in range(a + 1, n + 1)] for n in lengths]
    for box in product(*ranges):
        cover = tree.cover(box)
        assert nodes[cover].sum() == table[tuple(slice(a, b) for a, b in box)].sum()
        assert cover == sorted(set(cover))
        most = prod(
            max(1, 2 * axis.levels) if axis.ordered else high - low
            for axis, (low, high) in zip(tree.axes, box, strict=True)
        )
        assert len(cover) <= most


@settings(deadline=None)
@given(st.integers(1, 10**6), st.data())
def test_covers_of_long_axes_are_small_disjoint_and_complete(length, data):
    axis = DyadicAxis(length)
    low = data.draw(st.integers(0, length - 1))
    high = data.draw(st.integers(low + 1, length))
    cover = axis.cover(low, high)
    assert len(cover) <= max(1, 2 * axis.levels)
    spans = sorted((leaves_of(axis, node) for node in cover), key=lambda span: span.start)
    assert [span.start for span in spans] == [low, *(span.stop for span in spans[:-1])]
    assert spans[-1].stop == high


def change(lengths, ordered, record) -> int:
    """What one record changes, in L1, over all nodes."""
    table = np.zeros(lengths, dtype=np.int64)
    table[record] = 1
    return int(
        np.abs(dense(dyadic_counts(sparse(table), Dyadic.over(lengths, ordered=ordered)))).sum()
    )


@pytest.mark.parametrize(("lengths", "ordered"), SHAPES)
def test_the_bound_is_what_a_record_changes_and_no_less(lengths, ordered):
    tree = Dyadic.over(lengths, ordered=ordered)
    for record in product(*(range(n) for n in lengths)):
        assert change(lengths, ordered, record) == tree.factor
    levels = [axis.levels for axis in tree.axes if axis.ordered]
    if max(levels) > 0:  # the mutant: log m where log m + 1 is needed
        assert prod(max(k, 1) for k in levels) < tree.factor


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 40), st.lists(st.tuples(st.integers(0, 39), st.integers(1, 5)), max_size=6))
def test_neighbours_differ_by_at_most_the_bound(length, records):
    """A user with L records in all, added to any table."""
    tree = Dyadic.over([length])
    before = np.arange(length) % 3
    after = before.copy()
    for place, weight in records:
        after[place % length] += weight
    bound = max(int((after - before).sum()), 1)
    first, second = (dyadic_counts(sparse(t, bound), tree) for t in (before, after))
    assert np.abs(dense(first) - dense(second)).sum() <= first.l1_bound


def test_the_number_of_nodes_is_small():
    rng = np.random.default_rng(3)
    length = 2**20
    for n in (1, 10, 1000, 50_000):
        cells = np.unique(rng.integers(0, length, n))
        counts = Counts(length, cells, np.ones(len(cells), dtype=np.int64), 1)
        found = dyadic_counts(counts, Dyadic.over([length]))
        assert len(found.cells) <= len(cells) * (log2(length / len(cells)) + 2) - 1
        assert (np.diff(found.cells) > 0).all()
        assert found.values[0] == len(cells)


def test_trees_beyond_64_bits():
    lengths = [2**40, 10**9, 3]
    tree = Dyadic.over(lengths, ordered=[True, True, False])
    assert tree.size > 2**63
    cells = [5, (7 * 10**9 + 8) * 3 + 1, prod(lengths) - 1]
    found = dyadic_counts(Counts(prod(lengths), cells, [1, 2, 3], 1), tree)
    assert found.cells.dtype == object
    assert len(found.cells) <= 3 * tree.factor
    assert list(found.cells) == sorted(set(found.cells.tolist()))
    kept = dict(zip(found.cells.tolist(), found.values.tolist(), strict=True))
    assert [kept.get(root) for root in range(3)] == [None, 2, 4]  # cells 5 and the last end in 2
    for box, wanted in [
        ([(0, 2**40), (0, 10**9), (0, 3)], 6),
        ([(7, 8), (8, 9), (1, 2)], 2),
        ([(1, 2**40), (0, 10**9), (0, 3)], 5),
        ([(0, 2**40), (9, 10**9), (0, 3)], 3),
    ]:
        assert sum(kept.get(node, 0) for node in tree.cover(box)) == wanted


def test_sums_do_not_wrap():
    counts = Counts(4, [0, 1, 2], [2**62, 2**62, 2**62], 1)
    found = dyadic_counts(counts, Dyadic.over([4]))
    assert found.values.tolist()[0] == 3 * 2**62


def summary(cells, values, size, publishing="filter") -> Summary:
    return Summary(publishing, np.array(cells), np.array(values), size, {}, Keeping(1))


def orphans_by_definition(cells: list[int], tree: Dyadic) -> list[int]:
    """A node stays if every node that contains it is published."""
    kept = set(cells)
    boxes = {}
    for codes in product(*(range(axis.nodes) for axis in tree.axes)):
        parts = zip(tree.axes, codes, strict=True)
        boxes[tree.number(codes)] = [padded_leaves(axis, code) for axis, code in parts]

    def contains(outer, inner) -> bool:
        return all(set(i) <= set(o) for o, i in zip(outer, inner, strict=True))

    return [
        cell
        for cell in cells
        if all(node in kept for node, box in boxes.items() if contains(box, boxes[cell]))
    ]


def padded_leaves(axis: DyadicAxis, node: int) -> range:
    full = DyadicAxis(axis.leaves, axis.ordered)
    return leaves_of(full, node)


@pytest.mark.parametrize(
    ("lengths", "ordered"),
    [([8], None), ([3, 4], None), ([4, 3], [True, False]), ([3, 5], [False, True])],
)
def test_nodes_below_a_dropped_node_are_dropped(lengths, ordered):
    rng = np.random.default_rng(4)
    tree = Dyadic.over(lengths, ordered=ordered)
    for share in (0.3, 0.7, 0.9):
        for _ in range(20):
            cells = np.flatnonzero(rng.random(tree.size) < share).tolist()
            found = without_orphans(summary(cells, [c + 1 for c in cells], tree.size), tree)
            assert found.cells.tolist() == orphans_by_definition(cells, tree)
            assert found.values.tolist() == [cell + 1 for cell in found.cells]
            assert found.consistency == "ancestors"
    assert without_orphans(summary([], [], tree.size), tree).cells.tolist() == []


def test_the_ancestor_rule_comes_after_the_filter_and_before_sampling():
    rng = np.random.default_rng(5)
    tree = Dyadic.over([2**16])
    cells = np.unique(rng.integers(0, 2**12, 300))
    counts = dyadic_counts(Counts(2**16, cells, np.full(len(cells), 5000), 1), tree)
    draws, epsilon = SystemDraws(), Epsilon.of(1)
    whole = filter_summary(counts, epsilon, draws, cut=60)
    filtered = without_orphans(whole, tree)
    sampled = prioritised(filtered, 200, draws)
    assert len(sampled.cells) == 200
    assert sampled.consistency == "ancestors"
    assert sampled.facts()["consistency"] == "ancestors"
    noise, left = (np.isin(s.cells, counts.cells, invert=True).sum() for s in (whole, filtered))
    assert left < noise / 10  # of the nodes that hold nobody, those beside occupied ones
    assert np.isin(counts.cells, filtered.cells).mean() > 0.99
    sample = threshold_summary(counts, epsilon, draws, threshold=Fraction(10**4), cut=50)
    for wrong in (sample, sampled):
        with pytest.raises(UsageError, match="before sampling"):
            without_orphans(wrong, tree)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Dyadic.over([4, 4], ordered=[False, False]), "ordered attribute"),
        (lambda: Dyadic.over([0]), "at least one value"),
        (lambda: Dyadic.over([2] * 40), "fewer ordered"),
        (lambda: DyadicAxis(4).cover(2, 2), "at least one"),
        (lambda: DyadicAxis(4).cover(2, 5), "at least one"),
        (lambda: DyadicAxis(4).cover(-1, 2), "at least one"),
        (lambda: Dyadic.over([4]).cover([(0, 1), (0, 1)]), "one range for each"),
        (lambda: dyadic_counts(sparse(np.ones(5, int)), Dyadic.over([4])), "stands over"),
        (lambda: without_orphans(summary([0], [1], 5), Dyadic.over([4])), "nodes"),
    ],
)
def test_what_is_refused(make, words):
    with pytest.raises(UsageError, match=words):
        make()


# ---- The integer Haar transform: its coefficients, its bound, its inverse, its refusals ----------


def sparse_haar(table: np.ndarray, l1_bound: int = 1) -> Counts:
    flat = table.ravel()
    cells = np.flatnonzero(flat)
    return Counts(flat.size, cells, flat[cells], l1_bound)


def by_definition_haar(values: np.ndarray) -> list[int]:
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
        found = haar_counts(sparse_haar(values, 2), [length])
        assert dense(found).tolist() == by_definition_haar(values)
        assert found.l1_bound == 2 * ((length - 1).bit_length() + 1)
        assert found.signed


@pytest.mark.parametrize(("lengths", "axis"), [([3, 5], 0), ([3, 5], 1), ([2, 6, 3], 1)])
def test_one_axis_of_several(lengths, axis):
    rng = np.random.default_rng(7)
    table = rng.integers(0, 4, lengths)
    found = haar_counts(sparse_haar(table), lengths, axis)
    leaves = 1 << (lengths[axis] - 1).bit_length()
    shape = [leaves if i == axis else n for i, n in enumerate(lengths)]
    wanted = np.apply_along_axis(by_definition_haar, axis, table)
    assert wanted.shape == tuple(shape)
    assert dense(found).reshape(shape).tolist() == wanted.tolist()


@settings(max_examples=80, deadline=None)
@given(st.lists(st.integers(0, 50), min_size=1, max_size=33), st.data())
def test_counts_and_ranges_come_back_exactly(values, data):
    table = np.array(values)
    coefficients = dense(haar_counts(sparse_haar(table), [len(values)]))
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
def test_the_bound_is_what_a_record_changes_and_no_less_haar(length):
    for place in range(length):
        table = np.zeros(length, dtype=np.int64)
        table[place] = 1
        found = haar_counts(sparse_haar(table), [length])
        assert np.abs(found.values).sum() == found.l1_bound == (length - 1).bit_length() + 1


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 40), st.lists(st.tuples(st.integers(0, 39), st.integers(1, 5)), max_size=6))
def test_neighbours_differ_by_at_most_the_bound_haar(length, records):
    before = np.arange(length) % 3
    after = before.copy()
    for place, weight in records:
        after[place % length] += weight
    bound = max(int((after - before).sum()), 1)
    first, second = (haar_counts(sparse_haar(t, bound), [length]) for t in (before, after))
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
    counts = haar_counts(sparse_haar(np.array([1, 2, 3, 4])), [4])
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
    changes = haar_counts(sparse_haar(np.eye(8, dtype=np.int64)[place]), [8]).values
    assert changes.dtype == np.int64
    assert {abs(change) for change in changes.tolist()} == {1}


@pytest.mark.parametrize(
    ("lengths", "axis"), [([5], 0), ([4], 1), ([2, 3], 0), ([2, 2], -1), ([], 0)]
)
def test_shapes_that_do_not_fit(lengths, axis):
    with pytest.raises(UsageError, match="does not have axes"):
        haar_counts(sparse_haar(np.ones(4, dtype=int)), lengths, axis)
