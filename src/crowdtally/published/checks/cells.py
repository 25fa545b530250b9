"""Which cells a table has, from ``release.json`` alone: columns, types, number and order.

A cell is named by one code on each **factor**: a list's value, a node of a tree over it, a Haar
coefficient, a row or bucket of a sketch. Tables are sorted by these codes, the first one slowest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from crowdtally.core.hierarchy import DyadicAxis
from crowdtally.core.layout import HEADS
from crowdtally.published.domain import PublicDomain, PublicList
from crowdtally.published.table import TableFacts, TransformFacts

Codes = NDArray[np.int64]
Block = Mapping[str, NDArray[Any]]
"""Some rows of a table: its columns by name."""

NO_CELL = -1
"""The code of a row that names no cell of the public table."""


class Factor(Protocol):
    """One part of a cell's name."""

    @property
    def columns(self) -> Mapping[str, str | None]:
        """Its columns, and the kind of their values; None where it may be either."""

    @property
    def length(self) -> int:
        """How many codes there are."""

    def codes(self, rows: Block) -> Codes:
        """The code of each row; ``NO_CELL`` where its columns name none."""


@dataclass(frozen=True, eq=False)
class Values:
    """The values of a list."""

    over: PublicList
    """The list."""

    @property
    def columns(self) -> Mapping[str, str | None]:
        """The one column."""
        return {self.over.name: self.over.kind}

    @property
    def length(self) -> int:
        """How many values there are."""
        return self.over.length

    @cached_property
    def places(self) -> dict[Any, int]:
        """The position of every value."""
        return {value: place for place, value in enumerate(self.over.values or ())}

    def codes(self, rows: Block) -> Codes:
        """The positions of the rows' values."""
        column = rows[self.over.name]
        found = (self.places.get(value, NO_CELL) for value in column.tolist())
        return np.fromiter(found, dtype=np.int64, count=len(column))


@dataclass(frozen=True, eq=False)
class Nodes:
    """The nodes of a dyadic tree over a list: level, place, and the first and last value below."""

    over: PublicList
    """The list."""

    @property
    def columns(self) -> Mapping[str, str | None]:
        """Four columns."""
        name, kind = self.over.name, self.over.kind
        kinds = {"level": "integer", "place": "integer", "first": kind, "last": kind}
        return {f"{name}_{part}": one for part, one in kinds.items()}

    @property
    def length(self) -> int:
        """How many nodes there are."""
        return DyadicAxis(self.over.length).nodes

    def codes(self, rows: Block) -> Codes:
        """The nodes' numbers in a heap whose root is 0."""
        tree, values = DyadicAxis(self.over.length), self.over.values or ()
        level, place, first, last = (rows[name].tolist() for name in self.columns)
        codes = np.full(len(level), NO_CELL, dtype=np.int64)
        for row, named in enumerate(zip(level, place, first, last, strict=True)):
            if not 0 <= named[0] <= tree.levels or not 0 <= named[1] < 1 << named[0]:
                continue
            width = 1 << (tree.levels - named[0])
            start, end = named[1] * width, min((named[1] + 1) * width, tree.length)
            # A node of padding only has no values.
            ends = (values[start], values[end - 1]) if start < end else (None, None)
            if named[2:] == ends:
                codes[row] = (1 << named[0]) - 1 + named[1]
        return codes


@dataclass(frozen=True, eq=False)
class Numbers:
    """Numbers from 0 in one column: Haar coefficients, rows or buckets of a sketch."""

    name: str
    """The column."""
    length: int
    """How many numbers there are."""

    @property
    def columns(self) -> Mapping[str, str | None]:
        """The one column."""
        return {self.name: "integer"}

    def codes(self, rows: Block) -> Codes:
        """The numbers themselves."""
        numbers = rows[self.name]
        return np.where((numbers >= 0) & (numbers < self.length), numbers, NO_CELL)


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of a table."""

    factors: tuple[Factor, ...]
    """The parts of a cell's name, in the order of the columns."""
    pairs: bool = False
    """Whether both factors are one list, and a cell is an unordered pair of its values."""
    whole: int = 0
    """Of a table of chosen items: how many factors, the last ones, each item has all codes of."""
    chosen: int | None = None
    """How many cells there are, where a release chose some of its items, or found its cells."""

    @property
    def columns(self) -> Mapping[str, str | None]:
        """The columns that name a cell, and the kind of their values."""
        return {name: kind for factor in self.factors for name, kind in factor.columns.items()}

    @property
    def size(self) -> int:
        """How many cells the public table has; a Python integer of any size."""
        if self.chosen is not None:
            return self.chosen
        if self.pairs:
            return self.factors[0].length * (self.factors[0].length - 1) // 2
        return prod(factor.length for factor in self.factors)

    @property
    def together(self) -> int:
        """How many cells each chosen item has: one in each context, or one."""
        return prod(factor.length for factor in self.factors[len(self.factors) - self.whole :])

    @property
    def items(self) -> int:
        """How many items, or cells of attributes, could have been chosen."""
        return prod(factor.length for factor in self.factors[: len(self.factors) - self.whole])

    def codes(self, rows: Block) -> list[Codes]:
        """The rows' codes, slowest factor first."""
        found = [factor.codes(rows) for factor in self.factors]
        if not self.pairs:
            return found
        earlier, later = found  # pairs are sorted by the later item, then by the earlier one
        return [later, np.where(earlier < later, earlier, NO_CELL)]


def cells_of(table: TableFacts, domain: PublicDomain) -> Cells:
    """The cells of a table."""
    transform = table.transform
    if transform.kind == "sketch":
        return Cells((Numbers("row", transform.rows), Numbers("bucket", transform.buckets)))
    if table.kind.is_pairs:
        items, (_, other) = domain.lists[0], table.axes
        return Cells((Values(items), Values(items.renamed(other))), pairs=True)
    factors = tuple(_factor(domain.by_name[axis], transform) for axis in table.axes)
    if table.kind.own is not None:
        # How many numbers there are nothing but the table says: as many as go with its contexts.
        length = table.cells // prod(factor.length for factor in factors)
        return Cells((Numbers(table.kind.own, length), *factors))
    if table.is_discovered:
        return Cells(factors, chosen=table.cells)
    if table.is_chosen:
        # Top items of each context are others in each.
        each = table.kind.over == "items in context" and table.kind is not HEADS
        whole = len(domain.contexts) if each else 0
        return Cells(factors, whole=whole, chosen=table.cells)
    return Cells(factors)


def _factor(axis: PublicList, transform: TransformFacts) -> Factor:
    if axis.name not in transform.ordered:
        return Values(axis)
    if transform.kind == "dyadic":
        return Nodes(axis)
    return Numbers(f"{axis.name}_coefficient", DyadicAxis(axis.length).leaves)
