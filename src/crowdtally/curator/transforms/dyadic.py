"""Counts of all nodes of a dyadic tree.

Contract. If the table's counts have L1 bound L, the nodes' counts have L·Π(k_i + 1): a record is in
one node of each combination of levels. Nothing is drawn here. The proof is in ``dyadic.md``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from crowdtally.core.counts import Counts
from crowdtally.core.hierarchy import Dyadic, DyadicAxis, fitted_squares
from crowdtally.core.layout import Grid, Layout, Nodes
from crowdtally.core.numbers import Integers, as_kind, group_equal, integers
from crowdtally.curator.transforms.transform import box_squares, mean_over_starts
from crowdtally.errors import UsageError


@dataclass(frozen=True)
class DyadicTransform:
    """All nodes of a binary tree over each ordered axis."""

    name: ClassVar[str] = "dyadic"
    takes: ClassVar[frozenset[str]] = frozenset({"ordered"})
    signed: ClassVar[bool] = False

    ordered: tuple[str, ...]
    """The axes whose ranges will be asked for."""

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> DyadicTransform:
        """From ``ordered``."""
        if not options["ordered"]:
            raise UsageError("--transform dyadic answers ranges: say of what, --ordered NAME.")
        return cls(options["ordered"])

    def tree(self, cells: Layout) -> Dyadic:
        """The tree over a table's axes."""
        axes = _axes(cells)
        return Dyadic.over([len(a) for a in axes], ordered=[a.name in self.ordered for a in axes])

    def layout(self, cells: Layout) -> Nodes:
        """Its nodes."""
        return Nodes(_axes(cells), self.tree(cells))

    def factor(self, cells: Layout) -> int:
        """One node for each combination of levels."""
        return self.tree(cells).factor

    def l2_factor(self, cells: Layout) -> int:
        """Each of them by one."""
        return self.factor(cells)

    def apply(self, counts: Counts, cells: Layout) -> Counts:
        """The nodes' counts."""
        return dyadic_counts(counts, self.tree(cells))

    def squares(self, cells: Layout, query: int, *, dense: bool) -> float:
        """The nodes that make up a range; all nodes of one tree are fitted to each other."""
        fitted = dense and len(self.ordered) == 1

        def along(length: int, taken: int) -> float:
            axis = DyadicAxis(length)

            def squares(low: int, high: int) -> float:
                nodes = axis.cover(low, high)
                return fitted_squares(axis.nodes, nodes) if fitted else len(nodes)

            return mean_over_starts(length, taken, squares)

        return box_squares(_axes(cells), query, self.ordered, along)

    def facts(self) -> dict[str, Any]:
        """Its name and axes."""
        return {"kind": self.name, "ordered": list(self.ordered)}


def _axes(cells: Layout) -> tuple[Any, ...]:
    if not isinstance(cells, Grid):
        raise TypeError("only a table with axes has ranges")
    return cells.axes


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
        tree.size, numbers[order], integers(values[order]), bound, counts.unit,
        signed=counts.signed, squared=counts.l1_bound**2 * tree.factor,
    )  # fmt: skip


def _with_ancestors(
    numbers: Integers, values: Integers, axis: DyadicAxis, inner: int, size: int
) -> tuple[Integers, Integers]:
    """Replace one axis's values by its nodes, from the leaves up, adding what falls together."""
    numbers = as_kind(numbers, size)
    outer, code, rest = _split(numbers, axis.length, inner)
    all_numbers, all_values = [], []
    for level in range(axis.levels, -1, -1):
        found = group_equal((outer * axis.nodes + (code + ((1 << level) - 1))) * inner + rest)
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
