"""A dense dyadic tree made consistent: least squares in two passes (Hay et al.).

The published nodes of one ordered axis all carry independent noise of one variance, and a node is
the sum of its children. The counts that satisfy this and are closest to the published ones have the
smallest variance of all linear unbiased estimates. Post-processing: it costs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crowdtally.errors import UsageError

Floats = NDArray[np.float64]


def consistent(nodes: ArrayLike) -> Floats:
    """The least-squares tree of a complete one: nodes in heap order from the root, all published.

    >>> consistent([7, 2, 3]).round(3).tolist()
    [6.333, 2.667, 3.667]
    """
    noisy = np.asarray(nodes, dtype=np.float64)
    levels = (noisy.size + 1).bit_length() - 2
    if noisy.ndim != 1 or noisy.size < 1 or noisy.size != (2 << levels) - 1:
        raise UsageError(
            f"a complete tree has 1, 3, 7, 15, … nodes in one flat array: received {noisy.size}."
        )
    return _downwards(_upwards(noisy, levels), levels)


def consistent_columns(nodes: ArrayLike) -> Floats:
    """The same for many trees at once: one in each column.

    >>> consistent_columns([[7, 3], [2, 1], [3, 2]]).round(3).tolist()
    [[6.333, 3.0], [2.667, 1.0], [3.667, 2.0]]
    """
    noisy = np.asarray(nodes, dtype=np.float64)
    levels = (len(noisy) + 1).bit_length() - 2
    if noisy.ndim != 2 or not len(noisy) or len(noisy) != (2 << levels) - 1:
        raise UsageError(
            "complete trees have 1, 3, 7, 15, … nodes, and stand in the columns of a table: "
            f"received an array of shape {noisy.shape}."
        )
    return _downwards(_upwards(noisy, levels), levels)


def _level(level: int) -> slice:
    return slice((1 << level) - 1, (2 << level) - 1)


def _siblings(nodes: Floats, level: int) -> Floats:
    """The nodes of a level, the two children of each node above it together."""
    found = nodes[_level(level)]
    return found.reshape(-1, 2, *found.shape[1:])


def _upwards(noisy: Floats, levels: int) -> Floats:
    """The best estimate of each node from its own subtree.

    With 2^h leaves below it, a node's own value and the sum of its children's estimates are
    weighted by 2^h and 2^h − 1, the inverses of their variances up to a factor.
    """
    best = noisy.copy()
    for level in range(levels - 1, -1, -1):
        height = levels - level
        children = _siblings(best, level + 1).sum(axis=1)
        own, theirs = float(2**height), float(2**height - 1)
        best[_level(level)] = (own * noisy[_level(level)] + theirs * children) / (own + theirs)
    return best


def _downwards(best: Floats, levels: int) -> Floats:
    """What a node has more than its children is shared between them equally."""
    final = best.copy()
    for level in range(levels):
        pairs = _siblings(best, level + 1)
        surplus = final[_level(level)] - pairs.sum(axis=1)
        children = pairs + surplus[:, None] / 2
        final[_level(level + 1)] = children.reshape(final[_level(level + 1)].shape)
    return final


def fitted_squares(size: int, nodes: Sequence[int]) -> float:
    """Σ weight² over all ``size`` nodes of a tree, of the fitted sum of some of them.

    The weights that give the fitted sum are the fit of those nodes' indicator: a projection is
    symmetric.
    """
    indicator = np.zeros(size)
    indicator[list(nodes)] = 1
    return float((consistent(indicator) ** 2).sum())
