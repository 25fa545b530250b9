"""Trees of ranges: dyadic counts, and Haar coefficients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar

import numpy as np

from crowdtally.core import hierarchy
from crowdtally.core.counts import Counts
from crowdtally.core.hierarchy import DyadicAxis, fitted_squares, range_weights
from crowdtally.core.integers import Integers, as_kind, group_equal, integers
from crowdtally.core.layout import Coefficients, Grid, Layout, Nodes
from crowdtally.core.values import names, value
from crowdtally.curator.transforms.base import Plain, box_squares, mean_over_starts
from crowdtally.errors import UsageError

# Counts of all nodes of a dyadic tree.
#
# Contract. If the table's counts have L1 bound L, the nodes' counts have L·Π(k_i + 1): a record
# is in one node of each combination of levels. Nothing is drawn here. The proof is in
# ``dyadic.md``.


@value
@dataclass(frozen=True)
class Dyadic(Plain):
    """All nodes of a binary tree over each ordered axis."""

    name: ClassVar[str] = "dyadic"
    signed: ClassVar[bool] = False

    columns: str | Sequence[str]
    """The contexts or attributes whose ranges will be asked for."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", names(self.columns, "columns of Dyadic"))

    @property
    def ordered(self) -> tuple[str, ...]:
        return tuple(self.columns)

    def tree(self, cells: Layout) -> hierarchy.Dyadic:
        axes = _axes(cells)
        return hierarchy.Dyadic.over(
            [len(a) for a in axes], ordered=[a.name in self.ordered for a in axes]
        )

    def layout(self, cells: Layout) -> Nodes:
        return Nodes(_axes(cells), self.tree(cells))

    def factor(self, cells: Layout) -> int:
        return self.tree(cells).factor

    def apply(self, counts: Counts, cells: Layout) -> Counts:
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
        return {"kind": self.name, "ordered": list(self.ordered)}


def _axes(cells: Layout) -> tuple[Any, ...]:
    if not isinstance(cells, Grid):
        raise TypeError("only a table with axes has ranges")
    return cells.axes


def dyadic_counts(counts: Counts, tree: hierarchy.Dyadic) -> Counts:
    """The non-zero nodes of ``tree`` and their counts; it is over the table's own axes."""
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
    """Replace one axis's values by its nodes, from the leaves up, and add equal ones."""
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
    """Mixed-radix digits before, at and after one axis."""
    above, rest = numbers // inner, numbers % inner
    return above // length, above % length, rest


# The integer Haar transform along one ordered axis: the total, and left − right of every node.
#
# Contract. If the table's counts have L1 bound L, the coefficients have L·(k+1), and L·√(k+1) in
# L2: a record changes the total and one difference on each of k levels, each by 1. All
# coefficients are integers of one scale, so every zero coefficient gets the same noise, which the
# short cut of the sparse publishings needs; the orthonormal transform has neither property.
# Coefficients are signed, so only two-sided publishing fits, and no ancestor rule: a small
# difference says nothing about those below it. Nothing is drawn here. The proof is in
# ``haar.md``.


@value
@dataclass(frozen=True)
class Haar(Plain):
    """The integer Haar wavelet along one axis."""

    name: ClassVar[str] = "haar"
    signed: ClassVar[bool] = True

    columns: str | Sequence[str]
    """The one context or attribute whose ranges will be asked for."""

    def __post_init__(self) -> None:
        found = names(self.columns, "columns of Haar")
        if len(found) != 1:
            raise UsageError(
                f"Haar takes one column, and Dyadic several: received {', '.join(found) or 'none'}."
            )
        object.__setattr__(self, "columns", found)

    @property
    def ordered(self) -> tuple[str, ...]:
        return tuple(self.columns)

    @property
    def axis(self) -> str:
        return self.columns[0]

    def layout(self, cells: Layout) -> Coefficients:
        return Coefficients(_axes(cells), cells.names.index(self.axis))

    def factor(self, cells: Layout) -> int:
        found = self.layout(cells)
        return DyadicAxis(len(found.axes[found.along])).levels + 1

    def apply(self, counts: Counts, cells: Layout) -> Counts:
        found = self.layout(cells)
        return haar_counts(counts, [len(axis) for axis in found.axes], found.along)

    def squares(self, cells: Layout, query: int, *, dense: bool) -> float:
        def along(length: int, taken: int) -> float:
            levels = DyadicAxis(length).levels
            return mean_over_starts(
                length,
                taken,
                lambda low, high: sum(w * w for w in range_weights(levels, low, high).values()),
            )

        return box_squares(self.layout(cells).axes, query, self.ordered, along)

    def facts(self) -> dict[str, Any]:
        return {"kind": self.name, "ordered": [self.axis]}


def haar_counts(counts: Counts, lengths: Sequence[int], axis: int = 0) -> Counts:
    """Coefficients of a table with axes of ``lengths``, along one ``axis``; others are 0.

    The axis is padded to 2^k values. Its coefficients are numbered 0 for the total, and j = 1 ..
    2^k − 1 for the difference of node j of a heap whose root is 1 and whose children are 2j, 2j+1.
    """
    if prod(lengths) != counts.size or not 0 <= axis < len(lengths):
        raise UsageError(
            f"a table of {counts.size} cells does not have axes of lengths {list(lengths)}, or no "
            f"axis {axis}."
        )
    along = DyadicAxis(lengths[axis])
    inner = prod(lengths[axis + 1 :])
    size = counts.size // along.length * along.leaves
    numbers = as_kind(counts.cells, size)
    outer, code, rest = _split(numbers, along.length, inner)
    values = counts.addable()
    found: list[tuple[Integers, Integers]] = []
    for level in range(along.levels - 1, -1, -1):
        signed = np.where(code % 2 == 0, values, -values)
        code = code >> 1
        parent = group_equal((outer * along.leaves + (code + (1 << level))) * inner + rest)
        found.append((parent.numbers, parent.sums(signed)))
        values = parent.sums(values)
        outer, code, rest = (parent.firsts(part) for part in (outer, code, rest))
    total = group_equal(outer * along.leaves * inner + rest)
    found.append((total.numbers, total.sums(values)))
    all_numbers = np.concatenate([numbers for numbers, _ in found])
    order = np.argsort(all_numbers, kind="stable")
    coefficients = np.concatenate([values for _, values in found])[order]
    bound = counts.l1_bound * (along.levels + 1)
    squared = counts.l1_bound**2 * (along.levels + 1)
    return Counts(
        size, all_numbers[order], integers(coefficients), bound, counts.unit, signed=True,
        squared=squared,
    )  # fmt: skip
