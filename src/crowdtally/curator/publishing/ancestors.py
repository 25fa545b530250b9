"""The ancestor rule of trees: what lies below a node that was dropped is dropped too."""

from __future__ import annotations

from dataclasses import replace
from math import prod

import numpy as np
from numpy.typing import NDArray

from crowdtally.core.hierarchy import Dyadic
from crowdtally.core.numbers import Integers, positions
from crowdtally.curator.publishing.summary import Summary
from crowdtally.errors import UsageError


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
