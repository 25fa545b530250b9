"""Two passes over a dense tree are its least-squares solution."""

from __future__ import annotations

import numpy as np
import pytest

from crowdtally.core.hierarchy import DyadicAxis, consistent, consistent_columns
from crowdtally.errors import UsageError


def design(levels: int) -> np.ndarray:
    """Nodes × leaves: 1 where the leaf is below the node."""
    leaves = 1 << levels
    rows = []
    for level in range(levels + 1):
        rows += np.kron(np.eye(1 << level), np.ones(leaves >> level)).tolist()
    return np.array(rows)


@pytest.mark.parametrize("levels", [0, 1, 2, 3, 6])
def test_two_passes_are_least_squares(levels):
    rng = np.random.default_rng(levels)
    matrix = design(levels)
    for _ in range(5):
        noisy = rng.normal(0, 100, len(matrix)).round()
        leaves, *_ = np.linalg.lstsq(matrix, noisy, rcond=None)
        assert np.allclose(consistent(noisy), matrix @ leaves, atol=1e-8)


@pytest.mark.parametrize("levels", [1, 4])
def test_a_consistent_tree_stays(levels):
    matrix = design(levels)
    tree = matrix @ np.arange(1 << levels)
    assert np.allclose(consistent(tree), tree)


def test_mutants_are_not_least_squares():
    """One pass alone, equal weights in it, or the surplus given to one child."""
    rng = np.random.default_rng(9)
    matrix = design(3)
    noisy = rng.normal(0, 100, len(matrix))
    leaves, *_ = np.linalg.lstsq(matrix, noisy, rcond=None)
    from_leaves = matrix @ noisy[7:]
    assert not np.allclose(from_leaves, matrix @ leaves)
    averaged = noisy.copy()
    for node in range(6, -1, -1):
        averaged[node] = (noisy[node] + averaged[2 * node + 1] + averaged[2 * node + 2]) / 2
    assert not np.allclose(averaged, matrix @ leaves)


def test_ranges_become_less_noisy():
    """The variance of a range's estimate, from the matrices: never above that of its nodes."""
    levels = 5
    axis = DyadicAxis(32)
    nodes = len(design(levels))
    passes = np.array([consistent(row) for row in np.eye(nodes)]).T
    for low, high in [(0, 1), (3, 29), (0, 32), (7, 16), (1, 31)]:
        cover = axis.cover(low, high)
        assert (passes[cover].sum(axis=0) ** 2).sum() <= len(cover) + 1e-9


@pytest.mark.parametrize("nodes", [[], [1, 2], [1] * 6, [[1, 2, 3]]])
def test_trees_that_are_none(nodes):
    with pytest.raises(UsageError, match="complete tree"):
        consistent(nodes)


def test_many_trees_at_once_are_each_as_alone() -> None:
    rng = np.random.default_rng(9)
    for nodes in (1, 3, 7, 31):
        trees = rng.integers(-50, 50, size=(nodes, 4)).astype(float)
        alone = np.stack([consistent(tree) for tree in trees.T], axis=1)
        assert (consistent_columns(trees) == alone).all()
    for wrong in (np.zeros(3), np.zeros((2, 3)), np.zeros((0, 3))):
        with pytest.raises(UsageError, match="stand in the columns of a table"):
            consistent_columns(wrong)
