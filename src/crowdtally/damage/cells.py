"""Which cells a table has, from ``release.json`` alone: columns, types, number and order.

A cell is named by one code on each **factor**: a list's value, a node of a tree over it, a Haar
coefficient, a row or bucket of a sketch. Tables are sorted by these codes, the first one slowest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from crowdtally.values.dyadic import DyadicAxis

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
class PublicList:
    """A public list of the domain, as ``release.json`` describes it: the values of one column."""

    name: str
    """The column."""
    kind: str | None
    """``text`` or ``integer``; None for discovered items, which may be either."""
    length: int
    """How many values it has."""
    values: Sequence[Any] | None
    """The values in their order; None where only a table of the release lists them."""

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> PublicList:
        """From an entry of the domain."""
        return cls(facts["name"], facts.get("kind"), facts["size"], facts.get("values"))

    @property
    def columns(self) -> Mapping[str, str | None]:
        """The one column."""
        return {self.name: self.kind}

    @cached_property
    def places(self) -> dict[Any, int]:
        """The position of every value."""
        return {value: place for place, value in enumerate(self.values or ())}

    def codes(self, rows: Block) -> Codes:
        """The positions of the rows' values."""
        found = (self.places.get(value, NO_CELL) for value in rows[self.name].tolist())
        return np.fromiter(found, dtype=np.int64, count=len(rows[self.name]))


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

    @property
    def columns(self) -> Mapping[str, str | None]:
        """The columns that name a cell, and the kind of their values."""
        return {name: kind for factor in self.factors for name, kind in factor.columns.items()}

    @property
    def size(self) -> int:
        """How many cells the public table has; a Python integer of any size."""
        if self.pairs:
            return self.factors[0].length * (self.factors[0].length - 1) // 2
        return prod(factor.length for factor in self.factors)

    def codes(self, rows: Block) -> list[Codes]:
        """The rows' codes, slowest factor first."""
        found = [factor.codes(rows) for factor in self.factors]
        if not self.pairs:
            return found
        earlier, later = found  # pairs are sorted by the later item, then by the earlier one
        return [later, np.where(earlier < later, earlier, NO_CELL)]


def cells_of(table: Mapping[str, Any], lists: Mapping[str, PublicList]) -> Cells:
    """The cells of a table.

    Args:
        table: its entry in ``release.json``.
        lists: the lists of the domain, by name, the items first.
    """
    axes = list(lists.values())
    if table["name"] in ("items", "popularity"):
        axes = axes[:1]
    if table["name"] == "pairs":
        (items, *_) = axes
        return Cells((items, replace(items, name=f"other_{items.name}")), pairs=True)
    return Cells(tuple(_factors(axes, table.get("transform", {"kind": "none"}))))


def _factors(axes: Sequence[PublicList], transform: Mapping[str, Any]) -> list[Factor]:
    if transform["kind"] == "sketch":
        return [Numbers("row", transform["rows"]), Numbers("bucket", transform["buckets"])]
    return [
        axis if axis.name not in transform.get("ordered", ()) else _along(axis, transform["kind"])
        for axis in axes
    ]


def _along(axis: PublicList, kind: str) -> Factor:
    if kind == "dyadic":
        return Nodes(axis)
    return Numbers(f"{axis.name}_coefficient", DyadicAxis(axis.length).leaves)


def lists_of(domain: Mapping[str, Any]) -> dict[str, PublicList]:
    """The lists of a release's domain by name, in the order of the columns."""
    facts = domain.get("attributes") or [domain["items"], *domain["contexts"]]
    return {one["name"]: PublicList.of(one) for one in facts}


def rows_of(table: Mapping[str, Any]) -> int:
    """How many rows a table's file must have, by what ``release.json`` says of its cells."""
    return int(table.get("published_cells", table["cells"]))
