"""Counts of all nodes of a dyadic tree.

Contract. If the table's counts have L1 bound L, the nodes' counts have L·Π(k_i + 1): a record is in
one node of each combination of levels. Nothing is drawn here. The proof is in ``dyadic.md``.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

import numpy as np
from numpy.typing import NDArray

from crowdtally.curator.publishing.summary import Summary
from crowdtally.errors import UsageError
from crowdtally.values.counts import Counts
from crowdtally.values.dyadic import Dyadic, DyadicAxis
from crowdtally.values.integers import Integers, as_kind, grouped, integers, positions


def dyadic_counts(counts: Counts, tree: Dyadic) -> Counts:
    """The non-zero nodes of ``tree`` and their counts.

    Args:
        counts: the table's cells, numbered in mixed radix, the last axis fastest.
        tree: the public tree over the same axes.
    """
    if tree.cells != counts.size:
        raise UsageError(
            f"the tree stands over {tree.cells} cells, and the table has {counts.size}."
        )
    numbers, values = counts.cells, counts.addable()
    size, inner = counts.size, counts.size
    for axis in tree.axes:
        inner //= axis.length  # cells of the axes that follow
        size = size // axis.length * axis.nodes
        if axis.ordered:
            numbers, values = _with_ancestors(numbers, values, axis, inner, size)
    order = np.argsort(numbers, kind="stable")
    bound = counts.l1_bound * tree.factor
    return Counts(
        tree.size, numbers[order], integers(values[order]), bound, counts.unit, signed=counts.signed
    )


def _with_ancestors(
    numbers: Integers, values: Integers, axis: DyadicAxis, inner: int, size: int
) -> tuple[Integers, Integers]:
    """Replace one axis's values by its nodes, from the leaves up, adding what falls together."""
    numbers = as_kind(numbers, size)
    outer, code, rest = _split(numbers, axis.length, inner)
    all_numbers, all_values = [], []
    for level in range(axis.levels, -1, -1):
        found = grouped((outer * axis.nodes + (code + ((1 << level) - 1))) * inner + rest)
        values = found.sums(values)
        outer, code, rest = found.firsts(outer), found.firsts(code), found.firsts(rest)
        all_numbers.append(found.numbers)
        all_values.append(values)
        code = code >> 1
    return np.concatenate(all_numbers), np.concatenate(all_values)


def _split(numbers: Integers, length: int, inner: int) -> tuple[Integers, Integers, Integers]:
    """Mixed-radix digits around one axis: what stands before it, its own, what follows."""
    above, rest = numbers // inner, numbers % inner
    return above // length, above % length, rest


def without_orphans(summary: Summary, tree: Dyadic) -> Summary:
    """Drop every published node that has an unpublished ancestor: post-processing, at no cost.

    A node's count is at least that of each node below it; an ancestor that did not pass the filter
    says that what is below is noise. For a priority sample apply it to the whole filtered table and
    sample afterwards: a node that was sampled away says nothing.
    """
    if summary.publishing not in ("dense", "filter"):
        raise UsageError(
            f"the ancestor rule needs the output of a filter, not of {summary.publishing!r}: apply "
            "it after filtering and before sampling."
        )
    if summary.size != tree.size:
        raise UsageError(f"the tree has {tree.size} nodes, and the table {summary.size} cells.")
    parents, depth = _parents(summary.cells, tree)
    alive = np.zeros(len(summary.cells), dtype=np.bool_)
    for level in range(int(depth.max(initial=-1)) + 1):  # parents are one level up
        here = np.flatnonzero(depth == level)
        passed = np.ones(len(here), dtype=np.bool_)
        for parent in parents:
            place, found = positions(summary.cells, parent[here])
            passed &= found & (alive[place] | (parent[here] == summary.cells[here]))
        alive[here] = passed
    return replace(
        summary,
        cells=summary.cells[alive],
        values=summary.values[alive],
        consistency="ancestors",
    )


def _parents(numbers: Integers, tree: Dyadic) -> tuple[list[Integers], NDArray[np.int64]]:
    """For each ordered axis the node one step up on it (at its root, the node itself); the depth.

    The depth is the sum over the axes of the steps from the root.
    """
    parents: list[Integers] = []
    depth = np.zeros(len(numbers), dtype=np.int64)
    for place, axis in enumerate(tree.axes):
        if not axis.ordered:
            continue
        inner = prod(later.nodes for later in tree.axes[place + 1 :])
        code = numbers // inner % axis.nodes
        up = np.where(code > 0, (code - 1) // 2, code)
        parents.append(numbers - (code - up) * inner)
        first = np.array([(1 << level) - 1 for level in range(axis.levels + 1)], dtype=code.dtype)
        depth += np.searchsorted(first, code, side="right") - 1
    return parents, depth
