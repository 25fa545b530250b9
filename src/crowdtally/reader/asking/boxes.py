"""Which published cells, nodes or coefficients a box of cells is summed from, and with what weight.

On each axis by itself: the weight of a published cell is the product of its axes' weights. So a sum
over a box is one question to the table, and Σ weight² over all cells, published or dropped, which
the error needs, is a product too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdtally.reader.axes import Listed, Mask
from crowdtally.reader.condition import Box
from crowdtally.reader.estimating.consistency import consistent
from crowdtally.reader.tables import Weights
from crowdtally.values.dyadic import DyadicAxis
from crowdtally.values.haar import range_weights


@dataclass(frozen=True, eq=False)
class Parts:
    """The part of one axis in a sum."""

    rows: Weights | None
    """Which values, nodes or coefficients count, and what; None where all values count 1."""
    squares: float
    """Σ weight² over them, published or not."""

    @property
    def plain(self) -> bool:
        """Whether all of them count 1."""
        return self.rows is None or self.rows.weights is None


@dataclass(frozen=True, eq=False)
class Summed:
    """A box, as a question to a table."""

    cells: int
    """How many cells of the domain it has; a Python integer of any size."""
    parts: tuple[Parts, ...]
    """The part of each axis."""

    @property
    def rows(self) -> list[Weights]:
        """What picks the rows of the table."""
        return [part.rows for part in self.parts if part.rows is not None]

    @property
    def squares(self) -> float:
        """Σ weight² over all published or dropped cells."""
        return prod(float(part.squares) for part in self.parts)  # infinite beyond 1e308

    def at_each(self, axis: int) -> Summed:
        """The same without one axis: a question for each of its values."""
        return Summed(self.cells, self.parts[:axis] + self.parts[axis + 1 :])

    @property
    def plain(self) -> bool:
        """Whether every cell that counts does so with weight 1."""
        return all(part.plain for part in self.parts)


def transform_of(table: Mapping[str, Any]) -> Mapping[str, Any]:
    """What ``release.json`` says about a table's transform."""
    found: Mapping[str, Any] = table.get("transform", {"kind": "none", "ordered": []})
    return found


def summed(table: Mapping[str, Any], axes: Sequence[Listed], box: Box) -> Summed:
    """The question that the sum over a box is, to a table that is not a sketch."""
    transform = transform_of(table)
    masks = {axis.name: box.get(axis.name) for axis in axes}
    cells = prod(_size(axis, masks[axis.name]) for axis in axes)
    ordered = [axis.name for axis in axes if axis.name in transform["ordered"]]
    dense = table["publishing"] == "dense"
    parts = []
    for axis in axes:
        mask = masks[axis.name]
        if axis.name not in ordered:
            parts.append(_values(axis, mask))
        elif transform["kind"] == "haar":
            parts.append(_along(axis, mask, _coefficients, dense))
        elif dense and len(ordered) == 1:
            # All nodes of one tree, of one variance each: least squares, at no cost.
            parts.append(_along(axis, mask, _fitted, dense))
        else:
            parts.append(_along(axis, mask, _nodes, dense))
    return Summed(cells, tuple(parts))


def leaves(axis: Listed) -> Weights:
    """The rows of a tree that are single values of an ordered axis."""
    tree = DyadicAxis(len(axis))
    return Weights(_names(axis, np.arange(len(axis)) + tree.leaves - 1))


def _size(axis: Listed, mask: Mask | None) -> int:
    return len(axis) if mask is None else int(mask.sum())


def _values(axis: Listed, mask: Mask | None) -> Parts:
    if mask is None:
        return Parts(None, len(axis))
    values = axis.axis.values[mask]
    return Parts(Weights({axis.name: values}), len(values))


Runs = Sequence[tuple[int, int]]
"""Half-open runs of positions on a padded axis."""


def _along(
    axis: Listed, mask: Mask | None, how: Callable[[Listed, Runs], Parts], dense: bool
) -> Parts:
    """The part of an ordered axis.

    A run to the end of the list may go on to the end of the padding, where nobody is. Then fewer
    nodes or coefficients make it up, so fewer can have been dropped. Of a dense table both ways are
    right, and the one of smaller error is taken.
    """
    tree = DyadicAxis(len(axis))
    runs = _runs(np.ones(len(axis), dtype=np.bool_) if mask is None else mask)
    parts = how(axis, [(low, tree.leaves if high == len(axis) else high) for low, high in runs])
    if not dense:
        return parts
    return min(parts, how(axis, runs), key=lambda one: one.squares)


def _runs(mask: Mask) -> list[tuple[int, int]]:
    """The positions that are meant, as runs."""
    steps = np.diff(np.concatenate(([0], mask.astype(np.int8), [0])))
    starts, ends = np.flatnonzero(steps == 1).tolist(), np.flatnonzero(steps == -1).tolist()
    return list(zip(starts, ends, strict=True))


def _cover(axis: Listed, runs: Runs) -> NDArray[np.int64]:
    """The fewest nodes whose leaves, padding included, are these runs."""
    tree = DyadicAxis(DyadicAxis(len(axis)).leaves)
    return np.array([node for low, high in runs for node in tree.cover(low, high)], dtype=np.int64)


def _nodes(axis: Listed, runs: Runs) -> Parts:
    nodes = _cover(axis, runs)
    return Parts(Weights(_names(axis, nodes)), len(nodes))


def _fitted(axis: Listed, runs: Runs) -> Parts:
    """All nodes, with the weights of the least-squares sum.

    Least squares projects the nodes onto the trees whose nodes are the sums of their children. A
    projection is symmetric, so the weights that give the fitted sum of some nodes are the fit of
    those nodes' indicator.
    """
    indicator = np.zeros(DyadicAxis(len(axis)).nodes)
    indicator[_cover(axis, runs)] = 1
    weights = consistent(indicator)
    needed = np.flatnonzero(weights)
    return Parts(Weights(_names(axis, needed), weights[needed]), float((weights**2).sum()))


def _names(axis: Listed, nodes: NDArray[np.int64]) -> dict[str, NDArray[np.int64]]:
    """The columns that name nodes, from their numbers in a heap whose root is 0."""
    levels = np.array([int(node + 1).bit_length() - 1 for node in nodes.tolist()], dtype=np.int64)
    return {f"{axis.name}_level": levels, f"{axis.name}_place": nodes + 1 - (1 << levels)}


def _coefficients(axis: Listed, runs: Runs) -> Parts:
    levels = DyadicAxis(len(axis)).levels
    added: Counter[int] = Counter()
    for low, high in runs:
        added.update(range_weights(levels, low, high))
    needed = {place: weight for place, weight in added.items() if weight}
    weights = np.array(list(needed.values()), dtype=np.float64)
    keys = {f"{axis.name}_coefficient": np.array(list(needed), dtype=np.int64)}
    return Parts(Weights(keys, weights), float((weights**2).sum()))
