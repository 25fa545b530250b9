"""Made-up sparse tables are those of the paper."""

from __future__ import annotations

import numpy as np
import pytest

from crowdtally_research.reproducing.papers.cormode.tables import Sparse, clustered, uniform


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
