"""How the cells of a transformed table are named: nodes, coefficients and buckets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdtally.values.axis import Axis
from crowdtally.values.dyadic import Dyadic, DyadicAxis
from crowdtally.values.sketching import Sketching


@dataclass(frozen=True, eq=False)
class Nodes:
    """The nodes of a dyadic tree.

    An ordered axis becomes four columns: the node's level (0 is the root), its place on the level,
    and its first and last value. A node of padding only has no values: they are null.
    """

    axes: tuple[Axis, ...]
    """The table's axes."""
    tree: Dyadic
    """The tree over them."""

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that name a node."""
        names: list[str] = []
        for axis, part in zip(self.axes, self.tree.axes, strict=True):
            names += _node_names(axis.name) if part.ordered else [axis.name]
        return tuple(names)

    @property
    def size(self) -> int:
        """How many nodes there are."""
        return self.tree.size

    def columns(self, cells: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """What names each node."""
        found: list[dict[str, NDArray[Any]]] = []
        for axis, part in zip(reversed(self.axes), reversed(self.tree.axes), strict=True):
            codes = (cells % part.nodes).astype(np.int64)
            cells = cells // part.nodes
            named = _node(axis, part, codes) if part.ordered else {axis.name: axis.values[codes]}
            found.append(named)
        return {name: column for columns in reversed(found) for name, column in columns.items()}


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
    """The table's axes."""
    along: int
    """Which of them is transformed."""

    @property
    def names(self) -> tuple[str, ...]:
        """The axes' names; the transformed one's with ``_coefficient``."""
        return tuple(
            f"{axis.name}_coefficient" if place == self.along else axis.name
            for place, axis in enumerate(self.axes)
        )

    @property
    def size(self) -> int:
        """How many coefficients there are."""
        size = 1
        for place, axis in enumerate(self.axes):
            size *= DyadicAxis(len(axis)).leaves if place == self.along else len(axis)
        return size

    def columns(self, cells: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """What names each coefficient."""
        found: dict[str, NDArray[Any]] = {}
        for place in range(len(self.axes) - 1, -1, -1):
            axis, name = self.axes[place], self.names[place]
            length = DyadicAxis(len(axis)).leaves if place == self.along else len(axis)
            codes = (cells % length).astype(np.int64)
            cells = cells // length
            found[name] = codes if place == self.along else axis.values[codes]
        return dict(reversed(found.items()))


@dataclass(frozen=True, eq=False)
class Buckets:
    """The buckets of a count sketch."""

    sketching: Sketching
    """Its public hashes."""

    @property
    def names(self) -> tuple[str, ...]:
        """Row and bucket."""
        return ("row", "bucket")

    @property
    def size(self) -> int:
        """How many there are."""
        return self.sketching.size

    def columns(self, cells: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Row and bucket of each."""
        row, bucket = np.divmod(cells, self.sketching.buckets)
        return {"row": row, "bucket": bucket}
