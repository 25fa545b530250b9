"""How the cells of a table are numbered and named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isqrt, prod
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from crowdtally.values.axis import Axis


class Layout(Protocol):
    """A public set of cells, numbered from 0, each named by a row of values."""

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that name a cell."""

    @property
    def size(self) -> int:
        """How many cells there are."""

    def columns(self, cells: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """The values that name these cells, by column."""


@dataclass(frozen=True, eq=False)
class Grid:
    """Every combination of the axes' values; mixed radix, the last axis fastest."""

    axes: tuple[Axis, ...]
    """The axes, slowest first."""

    @property
    def names(self) -> tuple[str, ...]:
        """The axes' names."""
        return tuple(axis.name for axis in self.axes)

    @property
    def size(self) -> int:
        """The product of the axes' lengths; a Python integer of any size."""
        return prod(len(axis) for axis in self.axes)

    def columns(self, cells: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """The values on each axis."""
        found: dict[str, NDArray[Any]] = {}
        for axis in reversed(self.axes):
            codes = (cells % len(axis)).astype(np.int64)
            cells = cells // len(axis)
            found[axis.name] = axis.values[codes]
        return dict(reversed(found.items()))


def other_name(name: str) -> str:
    """What the second item of a pair is called."""
    return f"other_{name}"


@dataclass(frozen=True, eq=False)
class Pairs:
    """Unordered pairs i < j of one axis; pair (i, j) has number j(j−1)/2 + i."""

    axis: Axis
    """The axis both halves come from."""

    @property
    def names(self) -> tuple[str, ...]:
        """The axis's name, and the same after ``other_``."""
        return (self.axis.name, other_name(self.axis.name))

    @property
    def size(self) -> int:
        """m(m−1)/2."""
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
    """Cells that a release itself brought to light, possibly none."""

    values: Mapping[str, NDArray[Any]]
    """For each column the value of every cell; the cells are sorted, the first column slowest."""

    @property
    def names(self) -> tuple[str, ...]:
        """The columns."""
        return tuple(self.values)

    @property
    def size(self) -> int:
        """How many there are."""
        return len(next(iter(self.values.values())))

    def columns(self, cells: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """The values themselves."""
        return {name: values[cells] for name, values in self.values.items()}


@dataclass(frozen=True, eq=False)
class Numbered:
    """Numbers from 0 in one column, such as those of bins."""

    name: str
    """The column."""
    size: int
    """How many there are."""

    @property
    def names(self) -> tuple[str, ...]:
        """The one column."""
        return (self.name,)

    def columns(self, cells: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """The numbers themselves."""
        return {self.name: np.asarray(cells, dtype=np.int64)}


@dataclass(frozen=True, eq=False)
class Picked:
    """Some cells of a layout, which the release itself chose from released values."""

    of: Layout
    """The layout that they were picked from."""
    places: NDArray[np.int64]
    """Their numbers in it, ascending."""

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of the layout."""
        return self.of.names

    @property
    def size(self) -> int:
        """How many were picked."""
        return len(self.places)

    def columns(self, cells: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """The values that name the picked cells."""
        return self.of.columns(self.places[cells])


@dataclass(frozen=True, eq=False)
class Crossed:
    """Every combination of the cells of two layouts, the second fastest."""

    first: Layout
    """The slower one."""
    second: Layout
    """The faster one."""

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of both."""
        return (*self.first.names, *self.second.names)

    @property
    def size(self) -> int:
        """The product."""
        return self.first.size * self.second.size

    def columns(self, cells: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """The values of both."""
        return {
            **self.first.columns(cells // self.second.size),
            **self.second.columns(cells % self.second.size),
        }


def grid(axes: Sequence[Axis]) -> Grid:
    """The grid of these axes."""
    return Grid(tuple(axes))
