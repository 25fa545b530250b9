"""What the paper measures: publishing, sums, ranges, sparse tables, times."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import sqrt
from unittest import mock

import numpy as np
import pytest

from crowdtally.lab.estimates import estimate
from crowdtally.noise.draws import SystemDraws
from crowdtally_research.reproducing.figure import AUTO
from crowdtally_research.reproducing.papers.cormode import measuring, tables
from crowdtally_research.reproducing.papers.cormode.measuring import (
    CHECKED,
    D_FILTER,
    Trees,
    as_curves,
    batches,
    errors_of,
    errors_of_auto,
    level,
)
from crowdtally_research.reproducing.papers.cormode.tables import (
    Floats,
    Ranges,
    Sparse,
    Subsets,
    auto_estimates,
    clustered,
    relative,
    uniform,
)

# ---- The real publishing code is measured, and the errors are what its laws say ------------------


def made(seed: int) -> Sparse:
    return uniform(20_000, 2_000, 20, seed)


def test_geometric_errs_by_its_noise() -> None:
    """A sum of r cells has noise of √(2r)/ε, so its mean error is √(2/π) of that."""
    seen = errors_of({"geometric": tables.geometric()}, made, [100, 1_000], 4)["geometric"]
    for size, errors in seen.errors.items():
        expected = 100 * sqrt(2 / np.pi) * 10 * sqrt(2 * size) / (size * 10)
        assert np.mean(errors) == pytest.approx(expected, rel=0.15)
    assert seen.published == [20_000] * 4


def test_filters_keep_what_their_cut_says() -> None:
    """Independently: noise on every cell, then the cut."""
    sparse, rng = made(1), np.random.default_rng(1)
    gone = np.exp(-0.1)
    noise = rng.geometric(1 - gone, (2, sparse.size))
    noisy = sparse.truth + noise[0] - noise[1]
    for way, kept in (
        (tables.filtering(30), np.abs(noisy) >= 30),
        (tables.filtering(30, "one"), noisy >= 30),
    ):
        found = tables.published(sparse, way)
        assert len(found.values) == pytest.approx(kept.sum(), rel=0.1)
        assert (np.abs(found.values) >= 30).all()
        mean = estimate(found).mean()
        assert mean == pytest.approx(np.where(kept, noisy, 0).mean(), rel=0.05)


@pytest.mark.parametrize(
    "way",
    [tables.priority(1_500), tables.filter_priority(1_500, 30), tables.filter_priority(1_500)],
)
def test_priority_samples_have_their_size(way: object) -> None:
    found = tables.published(made(1), way)  # type: ignore[arg-type]
    assert len(found.values) == 1_500


def test_threshold_samples_have_about_their_size() -> None:
    found = tables.published(made(1), tables.sampling(1_500, made(1).persons))
    assert 1_200 < len(found.values) < 1_700


def test_each_run_has_data_of_its_own() -> None:
    seeds: list[int] = []

    def noted(seed: int) -> Sparse:
        seeds.append(seed)
        return made(seed)

    errors_of({"filter": tables.filtering(50)}, noted, [100], 3)
    assert seeds == [0, 1, 2]


def test_auto_estimates_every_cell_of_the_persons() -> None:
    sparse = uniform(400, 40, 20, seed=1)
    first, second = auto_estimates(sparse, 2)
    assert len(first) == 400
    assert (first != second).any()
    assert first.min() >= 0
    assert abs(first[sparse.cells] - sparse.values).mean() < 20
    assert np.delete(first, sparse.cells).mean() < 10


def test_errors_of_auto_are_of_all_runs() -> None:
    """Instead of a real run, estimates that are one too high in every cell."""
    asked: list[int] = []

    def off_by_one(sparse: Sparse, runs: int) -> Iterator[Floats]:
        asked.append(runs)
        yield from [sparse.truth + 1.0] * runs

    with mock.patch.object(measuring, "auto_estimates", off_by_one):
        seen = errors_of_auto(lambda _: Sparse(4, np.arange(4), np.full(4, 50)), [1, 2], 6)
    assert asked == [5, 1]
    assert seen[AUTO].errors == {1: [2.0] * 6, 2: [2.0] * 6}


def test_five_runs_share_their_persons() -> None:
    assert list(batches(2)) == [(0, 2)]
    assert list(batches(20)) == [(0, 5), (1, 5), (2, 5), (3, 5)]


def test_curves_and_levels() -> None:
    seen = errors_of({"filter": tables.filtering(50)}, made, [100, 1_000], 2)
    curve = as_curves("c", seen, lambda size: size / 1_000)
    assert [(one.panel, one.line, one.x, one.runs) for one in curve] == [
        ("c", "filter", 0.1, 2), ("c", "filter", 1.0, 2)
    ]  # fmt: skip
    assert curve[0].mean == pytest.approx(np.mean(seen["filter"].errors[100]))
    assert [(one.x, one.mean) for one in level("a", "auto", [1.0, 3.0], [5, 9])] == [
        (5, 2.0), (9, 2.0)
    ]  # fmt: skip


# ---- Queries are random sums, and their error is the paper's -------------------------------------


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


# ---- Ranges from trees and wavelets --------------------------------------------------------------


LINES = [
    "geometric", "d-geometric", "wavelet", "d-priority", "d-filter", "d-filter-priority",
    "d-filter, consistent", "d-filter-priority, consistent",
]  # fmt: skip


@pytest.fixture
def large() -> Sparse:
    """Counts so large that noise hardly shows."""
    cells = np.arange(0, 1_000, 3)
    return Sparse(1_000, cells, np.full(len(cells), 10**9))


def test_every_method_is_right_without_much_noise(large: Sparse) -> None:
    trees = Trees.over(1_000, 5_000)
    found = measuring.range_errors(trees, large, [50, 300], 20, seed=1)
    assert list(found) == LINES
    for line, errors in found.items():
        assert errors.keys() == {50, 300}
        assert max(errors.values()) < 1e-3, line


def test_dense_nodes_are_summed_as_they_are() -> None:
    """The fewest nodes of a range, by hand, of a tree with 8 leaves."""
    trees = Trees.over(8, 8)
    table = trees.nodes.publish(uniform(8, 4, 20, seed=1).counts, SystemDraws())
    values = table.values.astype(float)
    asked = Ranges({7: np.array([0]), 3: np.array([1])})
    found = measuring.node_sums(table, asked)
    # nodes from the root: 0; 1 2; 3 4 5 6; the leaves are 7 to 14
    assert found[7].tolist() == [values[1] + values[5] + values[13]]
    assert found[3].tolist() == [values[8] + values[4]]


def test_consistency_drops_orphans_from_the_same_noise() -> None:
    trees, sparse = Trees.over(1_000, 400), uniform(1_000, 100, 20, seed=2)
    found = measuring.summaries(trees, sparse)
    plain, checked = found[D_FILTER], found[D_FILTER + CHECKED]
    assert plain.cells is not None
    assert checked.cells is not None
    kept = set(plain.cells.tolist())
    expected = [
        node for node in sorted(kept) if all(above in kept for above in _ancestors(node))
    ]  # fmt: skip
    assert 0 < len(expected) < len(kept)
    assert checked.cells.tolist() == expected


def _ancestors(node: int) -> list[int]:
    found = []
    while node:
        node = (node - 1) // 2
        found.append(node)
    return found


def test_samples_of_nodes_have_their_size() -> None:
    trees, sparse = Trees.over(1_000, 100), uniform(1_000, 100, 20, seed=2)
    found = measuring.summaries(trees, sparse)
    assert len(found["d-filter-priority"].values) == 100
    assert len(found["d-filter"].values) > 100
    assert found["d-filter-priority"].law.scale == 110  # 11 levels of 1,024 leaves, over 0.1


# ---- Made-up sparse tables are those of the paper ------------------------------------------------


@pytest.mark.parametrize("make", [uniform, clustered])
def test_counts_are_normal_and_cells_distinct(make: object) -> None:
    assert callable(make)
    made: Sparse = make(20_000, 2_000, 20, seed=3)
    assert made.size == 20_000
    assert len(made.cells) == len(np.unique(made.cells)) == 2_000
    assert (np.diff(made.cells) > 0).all()
    assert made.cells.min() >= 0
    assert made.cells.max() < 20_000
    assert abs(made.values.mean() - 100) < 3
    assert abs(made.values.std() - 20) < 2
    assert made.values.min() >= 1
    assert made.persons == made.truth.sum() == made.values.sum()
    assert made.counts.l1_bound == 1


def test_counts_are_at_least_one() -> None:
    assert uniform(1_000, 500, 400, seed=1).values.min() == 1


def test_another_seed_is_another_table() -> None:
    one, other = (uniform(1_000, 100, 20, seed) for seed in (1, 2))
    assert (one.cells != other.cells).any()


def test_a_full_table_has_every_cell() -> None:
    assert uniform(50, 50, 20, seed=1).cells.tolist() == list(range(50))


def test_clusters_leave_most_of_the_domain_empty() -> None:
    """Of a hundred equal stretches many have nobody; spread cells leave none empty."""
    spread, skewed = (
        np.unique(make(100_000, 3_000, 20, seed=5).cells // 1_000).size
        for make in (uniform, clustered)
    )
    assert spread == 100
    assert skewed < 40


# ---- What is timed is the publishing of every method, and how much it gives ----------------------


METHODS = ["geometric", "wavelet", "filter", "threshold", "priority", "filter-priority", "auto"]


def test_every_method_publishes_what_it_says() -> None:
    sparse = uniform(10_000, 1_000, 20, seed=1)
    found = measuring.timed(sparse, measuring.ways_of(sparse, 1_000), 2)
    assert list(found) == METHODS
    sizes = {name: runs[0].values for name, runs in found.items()}
    assert sizes["geometric"] == sizes["auto"] == 10_000
    assert sizes["wavelet"] == 2**14
    assert sizes["priority"] == sizes["filter-priority"] == 1_000
    assert 1_500 < sizes["filter"] < 2_100
    for runs in found.values():
        assert len(runs) == 2
        assert all(one.seconds > 0 for one in runs)


def test_dense_methods_end_where_the_memory_does() -> None:
    sparse = uniform(1_000, 100, 20, seed=1)
    for most, first in ((1_000, 0), (999, 2)):
        with mock.patch.object(measuring, "MOST_CELLS", most):
            assert list(measuring.ways_of(sparse, 100)) == METHODS[first:]


def test_summaries_of_domains_of_any_size() -> None:
    sparse = uniform(10**11, 100, 20, seed=1)
    with mock.patch.object(measuring, "auto_table"):
        found = dict(measuring.ways_of(sparse, 100))
    assert list(found) == METHODS[2:]
    assert found["priority"](sparse) == 100


def test_wavelets_can_be_left_out() -> None:
    sparse = uniform(1_000, 100, 20, seed=1)
    assert "wavelet" not in measuring.ways_of(sparse, 100, wavelet=False)


@pytest.mark.parametrize(("size", "publishing"), [(900, "dense"), (10**7, "filter-priority")])
def test_auto_publishes_as_the_product_does(size: int, publishing: str) -> None:
    table = measuring.auto_table(size)
    assert table.cells.size == size
    assert table.publishing.name == publishing
    assert table.epsilon.value == Fraction(93, 1000)
    assert table.law.scale * table.unit == 1 / table.epsilon.value
