"""How the cells of a table are numbered and named, and the kinds of tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from math import isqrt, prod
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from crowdtally.core.domain import Axis
from crowdtally.core.hierarchy import Dyadic, DyadicAxis, Sketching


class Layout(Protocol):
    """A public set of cells, numbered from 0, each named by a row of values."""

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that name a cell."""

    @property
    def size(self) -> int:
        """The number of cells; a Python integer of any size."""

    def columns(self, cells: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """The values that name these cells, by column."""


def _codes(cells: NDArray[Any], lengths: Sequence[int]) -> list[NDArray[np.int64]]:
    """The positions of cells on axes of these lengths; mixed radix, the last axis fastest."""
    codes = []
    for length in reversed(lengths):
        codes.append((cells % length).astype(np.int64))
        cells = cells // length
    return codes[::-1]


@dataclass(frozen=True, eq=False)
class Grid:
    """Every combination of the axes' values; mixed radix, the last axis fastest."""

    axes: tuple[Axis, ...]
    """Slowest first."""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(axis.name for axis in self.axes)

    @property
    def size(self) -> int:
        return prod(map(len, self.axes))

    def columns(self, cells: NDArray[Any]) -> dict[str, NDArray[Any]]:
        codes = _codes(cells, list(map(len, self.axes)))
        return {axis.name: axis.values[c] for axis, c in zip(self.axes, codes, strict=True)}


def other_name(name: str) -> str:
    """The column of the second item of a pair."""
    return f"other_{name}"


@dataclass(frozen=True, eq=False)
class Pairs:
    """Unordered pairs i < j of one axis; pair (i, j) has number j(j−1)/2 + i."""

    axis: Axis

    @property
    def names(self) -> tuple[str, ...]:
        return (self.axis.name, other_name(self.axis.name))

    @property
    def size(self) -> int:
        return len(self.axis) * (len(self.axis) - 1) // 2

    def columns(self, cells: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Both items of each pair, the one that is earlier in the list first."""
        # isqrt is exact where a float's square root would be off by one.
        later = np.array([(1 + isqrt(1 + 8 * int(cell))) // 2 for cell in cells], dtype=np.int64)
        earlier = (cells - later * (later - 1) // 2).astype(np.int64)
        first, second = self.names
        return {first: self.axis.values[earlier], second: self.axis.values[later]}


@dataclass(frozen=True, eq=False)
class Listed:
    """Cells that a release discovered, possibly none."""

    values: Mapping[str, NDArray[Any]]
    """For each column the value of every cell; the cells are sorted, the first column slowest."""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.values)

    @property
    def size(self) -> int:
        return len(next(iter(self.values.values())))

    def columns(self, cells: NDArray[Any]) -> dict[str, NDArray[Any]]:
        return {name: values[cells] for name, values in self.values.items()}


@dataclass(frozen=True, eq=False)
class Numbered:
    """Numbers from 0 in one column, such as those of bins."""

    name: str
    size: int

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name,)

    def columns(self, cells: NDArray[Any]) -> dict[str, NDArray[Any]]:
        return {self.name: np.asarray(cells, dtype=np.int64)}


@dataclass(frozen=True, eq=False)
class Picked:
    """Some cells of a layout, which the release itself chose from released values."""

    of: Layout
    places: NDArray[np.int64]
    """Their numbers in it, ascending."""

    @property
    def names(self) -> tuple[str, ...]:
        return self.of.names

    @property
    def size(self) -> int:
        return len(self.places)

    def columns(self, cells: NDArray[Any]) -> dict[str, NDArray[Any]]:
        return self.of.columns(self.places[cells])


@dataclass(frozen=True, eq=False)
class Crossed:
    """Every combination of the cells of two layouts, the second fastest."""

    first: Layout
    second: Layout

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.first.names, *self.second.names)

    @property
    def size(self) -> int:
        return self.first.size * self.second.size

    def columns(self, cells: NDArray[Any]) -> dict[str, NDArray[Any]]:
        return {
            **self.first.columns(cells // self.second.size),
            **self.second.columns(cells % self.second.size),
        }


def grid(axes: Sequence[Axis]) -> Grid:
    return Grid(tuple(axes))


@dataclass(frozen=True, eq=False)
class Nodes:
    """The nodes of a dyadic tree.

    An ordered axis becomes four columns: the node's level (0 is the root), its place on the level,
    and its first and last value. A node of padding only has no values: they are null.
    """

    axes: tuple[Axis, ...]
    tree: Dyadic

    @property
    def names(self) -> tuple[str, ...]:
        names: list[str] = []
        for axis, part in zip(self.axes, self.tree.axes, strict=True):
            names += _node_names(axis.name) if part.ordered else [axis.name]
        return tuple(names)

    @property
    def size(self) -> int:
        return self.tree.size

    def columns(self, cells: NDArray[Any]) -> dict[str, NDArray[Any]]:
        named: dict[str, NDArray[Any]] = {}
        every = _codes(cells, [part.nodes for part in self.tree.axes])
        for axis, part, codes in zip(self.axes, self.tree.axes, every, strict=True):
            named |= _node(axis, part, codes) if part.ordered else {axis.name: axis.values[codes]}
        return named


def _node_names(name: str) -> list[str]:
    return [f"{name}_level", f"{name}_place", f"{name}_first", f"{name}_last"]


def _node(axis: Axis, part: DyadicAxis, codes: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
    starts = np.array([(1 << level) - 1 for level in range(part.levels + 1)])
    level = np.searchsorted(starts, codes, side="right") - 1
    place = codes - starts[level]
    width = 1 << (part.levels - level)
    first = place * width
    last = np.minimum(first + width, part.length) - 1
    last = np.where(last < first, part.length, last)  # nothing but padding
    columns = [level, place, _valued(axis, first), _valued(axis, last)]
    return dict(zip(_node_names(axis.name), columns, strict=True))


def _valued(axis: Axis, codes: NDArray[np.int64]) -> NDArray[Any]:
    """The values at these positions; null beyond the end."""
    padding = codes >= len(axis)
    values = axis.values[np.where(padding, 0, codes)]
    if not padding.any():
        return values
    return np.ma.masked_array(values, mask=padding)


@dataclass(frozen=True, eq=False)
class Coefficients:
    """Haar coefficients along one axis: 0 is the total, j ≥ 1 left − right of node j of a heap."""

    axes: tuple[Axis, ...]
    along: int
    """The place of the transformed axis."""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(
            f"{axis.name}_coefficient" if place == self.along else axis.name
            for place, axis in enumerate(self.axes)
        )

    @property
    def size(self) -> int:
        return prod(self._lengths)

    @property
    def _lengths(self) -> list[int]:
        lengths = list(map(len, self.axes))
        lengths[self.along] = DyadicAxis(lengths[self.along]).leaves
        return lengths

    def columns(self, cells: NDArray[Any]) -> dict[str, NDArray[Any]]:
        found = _codes(cells, self._lengths)
        values = [
            codes if place == self.along else self.axes[place].values[codes]
            for place, codes in enumerate(found)
        ]
        return dict(zip(self.names, values, strict=True))


@dataclass(frozen=True, eq=False)
class Buckets:
    sketching: Sketching

    @property
    def names(self) -> tuple[str, ...]:
        return ("row", "bucket")

    @property
    def size(self) -> int:
        return self.sketching.size

    def columns(self, cells: NDArray[Any]) -> dict[str, NDArray[Any]]:
        row, bucket = np.divmod(cells, self.sketching.buckets)
        return {"row": row, "bucket": bucket}


@dataclass(frozen=True)
class TableKind:
    """The meaning of a table's name: which lists its cells come from, and what a count counts.

    >>> EDGES.axes(["place", "day"]), ITEMS.axes(["place", "day"]), PAIRS.axes(["place"])
    (('place', 'day'), ('place',), ('place', 'other_place'))
    """

    name: str
    """Also the name of its file."""
    over: Literal[
        "first list", "all lists", "pairs", "items", "contexts", "items in context", "own"
    ]
    """A cell: a value of the domain's first list, one of each list, or an unordered pair of
    different values of the first; of ``auto``: an item (a cell, where there are attributes), a
    combination of contexts, an item in one; or a number of the table's own."""
    own: str | None = None
    """The column of the table's own numbers."""
    chosen: bool = False
    """Whether it has only some items, chosen by the release from earlier answers."""
    answers: bool = True
    """Whether readers' questions are answered from it."""
    transforms: bool = True
    counted: Mapping[str, str] = field(default_factory=dict)
    """What a count counts, where that is not what the release counts."""
    short_rows: bool = False
    """Whether it counts users of short rows, and another table the others: each user is in one of
    them, so both cost no more than one."""

    @property
    def is_pairs(self) -> bool:
        return self.over == "pairs"

    def axes(self, lists: Sequence[str]) -> tuple[str, ...]:
        """The names of its axes, slowest first, in a domain of these lists."""
        if self.over == "pairs":
            return (lists[0], other_name(lists[0]))
        return tuple(lists) if self.over == "all lists" else (lists[0],)

    def counts(self, counted: str) -> str:
        """What a count of this table counts, in a release that counts records or users."""
        return self.counted.get(counted, counted)


ITEMS = TableKind("items", "first list")
EDGES = TableKind("edges", "all lists")
_BOTH = {"records": "pairs of records", "users": "users with both items"}
PAIRS = TableKind("pairs", "pairs", transforms=False, counted=_BOTH)
CELLS = TableKind("cells", "all lists")
POPULARITY = TableKind("popularity", "first list", answers=False, transforms=False)

_step = partial(TableKind, answers=False, transforms=False)
"""A table of a step of ``auto``, from which estimates are made."""

_USERS = {"records": "users"}
SIZES = _step("sizes", "own", "bin", counted=_USERS)
PILOT_SHORT = _step("pilot_short", "items", short_rows=True)
PILOT = _step("pilot", "items")
ITEMS_SHORT = _step("items_short", "items", short_rows=True)
TOTAL = _step("total", "own", "total")
CONTEXTS = _step("contexts", "contexts")
ZOOM = _step("zoom", "items", chosen=True)
HEAD = _step("head", "items", chosen=True, counted=_USERS)
HEADS = _step("heads", "items in context", chosen=True, counted=_USERS)
HEAD_ROWS = _step("head_rows", "items", chosen=True)

STEPS = (SIZES, PILOT_SHORT, PILOT, ITEMS_SHORT, TOTAL, CONTEXTS, ZOOM, HEAD, HEAD_ROWS)
"""The tables of ``auto`` beside those of items and of items in contexts; top items have a head."""

KINDS = {kind.name: kind for kind in (ITEMS, EDGES, PAIRS, CELLS, POPULARITY, *STEPS, HEADS)}
"""Every kind by its name; those with fewer cells first."""


def added(costs: Mapping[str, Fraction]) -> dict[str, Fraction]:
    """How much each table adds to a release's cost, by name; ``costs`` are those of the tables.

    >>> costs = {"items_short": Fraction(1, 20), "items": Fraction(1, 20)}
    >>> [str(cost) for cost in added(costs).values()]
    ['0', '1/20']
    """
    free = {kind.name for kind in STEPS if kind.short_rows}
    return {name: Fraction(0) if name in free else cost for name, cost in costs.items()}
