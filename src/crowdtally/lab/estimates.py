"""A reader's estimate of every count, from noisy tables that were not saved.

The estimates are those of the reader's answers to questions about single cells: a sampled value w
counts sign·max(w, τ), a dropped one 0, a transform is inverted, and all nodes of one tree are
fitted to each other. Those of ``auto`` are made by the same functions of ``inference``.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdtally.core.hierarchy import (
    DyadicAxis,
    Sketching,
    consistent_columns,
    fitted_squares,
    range_weights,
)
from crowdtally.core.layout import EDGES, ITEMS, Buckets, Coefficients, Nodes
from crowdtally.curator.converse import Released
from crowdtally.curator.methods.auto import Design, outcome_of, released_facts
from crowdtally.curator.request.request import Request
from crowdtally.format import NoisyTable
from crowdtally.inference.auto import estimate_auto as from_auto
from crowdtally.inference.auto_cells import estimate_cells
from crowdtally.lab.rehearse import check_size
from crowdtally.laws.base import as_counts
from crowdtally.reader.estimates.cell_sums import Sampled

Floats = NDArray[np.float64]

_BLOCK = 1 << 20


def estimate(table: NoisyTable) -> Floats:
    """The count of every cell, in the order of the domain; of every discovered item."""
    check_size(table.name, table.layout.size)
    published, layout = _published(table), table.layout
    if isinstance(layout, Nodes):
        found = _from_nodes(published, layout, dense=table.cells is None)
    elif isinstance(layout, Coefficients):
        found = _from_coefficients(published, layout, dense=table.cells is None)
    elif isinstance(layout, Buckets):
        check_size(table.name, layout.sketching.cells)
        found = _from_buckets(published, layout.sketching)
    else:
        found = published
    return np.asarray(as_counts(found, table.law.unit), dtype=np.float64)


def range_answers(table: NoisyTable, low: NDArray[Any], high: NDArray[Any]) -> Floats | None:
    """A reader's answers for ranges of cells, where nodes of a tree were dropped.

    A range is then the sum of the fewest nodes that make it up. None where it is the sum of the
    cells, and for tables of several axes, whose cells in a row are no range of a tree.
    """
    layout = table.layout
    if not isinstance(layout, Nodes) or len(layout.axes) > 1 or table.cells is None:
        return None
    published, axis = _published(table), layout.tree.axes[0]
    padded = DyadicAxis(axis.leaves)
    ends = np.where(high == axis.length, axis.leaves, high)  # nobody is in the padding
    pairs = zip(low.tolist(), ends.tolist(), strict=True)
    sums = [published[padded.cover(first, end)].sum() for first, end in pairs]
    return np.asarray(as_counts(np.array(sums), table.law.unit), dtype=np.float64)


def _published(table: NoisyTable) -> Floats:
    """The estimate of each published value, in units; 0 for those that were dropped."""
    values = Sampled(table.keeping, table.law).adjusted(table.values)
    if table.cells is None:
        return values
    found = np.zeros(table.layout.size)
    found[table.cells.astype(np.int64)] = values
    return found


def _from_nodes(published: Floats, layout: Nodes, *, dense: bool) -> Floats:
    parts = layout.tree.axes
    fitted = dense and sum(part.ordered for part in parts) == 1
    found = published.reshape([part.nodes for part in parts])
    for place, part in enumerate(parts):
        if part.ordered:
            along = np.moveaxis(found, place, 0)
            found = np.moveaxis(_leaves(along, part, fitted=fitted), 0, place)
    return found.ravel()


def _leaves(nodes: Floats, axis: DyadicAxis, *, fitted: bool) -> Floats:
    """(nodes, …) → (values, …).

    As in the reader, the last value includes the padding, which is empty, where nodes were dropped
    and where its error is then smaller.
    """
    first, others = axis.leaves - 1, nodes.shape[1:]
    if fitted:
        nodes = consistent_columns(nodes.reshape(axis.nodes, -1)).reshape(nodes.shape)
    found = nodes[first : first + axis.length].copy()
    cover = DyadicAxis(axis.leaves).cover(axis.length - 1, axis.leaves)
    alone = [first + axis.length - 1]
    if not fitted or fitted_squares(axis.nodes, cover) <= fitted_squares(axis.nodes, alone):
        found[-1] = nodes[cover].reshape(len(cover), *others).sum(axis=0)
    return found


def _from_coefficients(published: Floats, layout: Coefficients, *, dense: bool) -> Floats:
    """The inverse: from the total down, the halves of a node are (node ± difference)/2."""
    lengths = [len(axis) for axis in layout.axes]
    axis = DyadicAxis(lengths[layout.along])
    shape = [axis.leaves if place == layout.along else n for place, n in enumerate(lengths)]
    along = np.moveaxis(published.reshape(shape), layout.along, 0)
    sums = along[:1]
    for level in range(axis.levels):
        differences = along[1 << level : 2 << level]
        halves = np.stack([sums + differences, sums - differences], axis=1) / 2
        sums = halves.reshape(2 << level, *along.shape[1:])
    found = sums[: axis.length].copy()
    if not dense or _squares(axis, axis.leaves) <= _squares(axis, axis.length):
        found[-1] = sums[axis.length - 1 :].sum(axis=0)
    return np.moveaxis(found, 0, layout.along).ravel()


def _squares(axis: DyadicAxis, end: int) -> float:
    """Σ weight² of the coefficients that make up the last value, with the padding up to ``end``."""
    weights = range_weights(axis.levels, axis.length - 1, end).values()
    return sum(weight * weight for weight in weights)


def _from_buckets(buckets: Floats, sketching: Sketching) -> Floats:
    """Each cell's bucket times its sign, averaged over the rows; some cells at a time."""
    rows = buckets.reshape(sketching.rows, sketching.buckets)
    found = np.zeros(sketching.cells)
    for start in range(0, sketching.cells, _BLOCK):
        cells = np.arange(start, min(start + _BLOCK, sketching.cells))
        for row in range(sketching.rows):
            bucket, sign = sketching.places(cells, row)
            found[cells] += sign * rows[row, bucket]
    return found / sketching.rows


@dataclass(frozen=True, eq=False)
class AutoEstimates:
    name: str
    """Of the table: ``items``, or ``cells`` where there are attributes."""
    mean: Floats
    """Of every item, or cell of attributes: least squared error."""
    median: Floats
    """The same with the least absolute error."""
    edges: Floats | None = None
    """Of every item in every context, a row for each item; None without contexts."""

    def by_table(self) -> dict[str, Floats]:
        if self.edges is None:
            return {self.name: self.mean}
        return {ITEMS.name: self.mean, EDGES.name: self.edges.ravel()}


def estimate_auto(request: Request, run: Released) -> AutoEstimates:
    design = Design.of(request)
    check_size(EDGES.name, design.size * prod(len(axis) for axis in design.contexts))
    facts = released_facts(design, outcome_of(run), run.tables)
    found = from_auto(facts)
    items, edges = found.items, None
    if facts.cells is not None:
        edges = estimate_cells(facts, found).cells.mean
    elif facts.totals is not None:
        totals = np.maximum(facts.totals.values, facts.totals.scale / 2)
        edges = items.mean[:, None] * (totals / totals.sum())
    return AutoEstimates(design.items.name, items.mean, items.median, edges)
