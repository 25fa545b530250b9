"""Ranges from trees and wavelets."""

from __future__ import annotations

import numpy as np
import pytest

from crowdtally.noise.draws import SystemDraws
from crowdtally_research.reproducing.papers.cormode import measuring
from crowdtally_research.reproducing.papers.cormode.measuring import CHECKED, D_FILTER, Trees
from crowdtally_research.reproducing.papers.cormode.tables import Ranges, Sparse, uniform

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
