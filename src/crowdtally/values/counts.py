"""Exact counts on their way to the noise, with the bound that makes noise sufficient."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from crowdtally.values.domain import Axis

What = Literal["records", "users"]


@dataclass(frozen=True, eq=False)
class Counts:
    """Non-zero cells of a table, not yet private.

    Contract: adding or removing one user changes the table by at most ``l1_bound`` in L1, in the
    integer units that ``values`` are in (multiples of 1/``grid``).
    """

    axes: tuple[Axis, ...]
    """What the cells are cells of."""
    cells: NDArray[np.int64]
    """Cell numbers, ascending, distinct."""
    values: NDArray[np.int64]
    """The count of each cell, in units of 1/grid; none is zero."""
    what: What
    """Whether records or distinct users are counted."""
    l1_bound: int
    """What one user can change, in the same units."""
    grid: int = 1
    """Units per count."""

    @property
    def size(self) -> int:
        """Number of cells of the whole public table."""
        size = 1
        for axis in self.axes:
            size *= len(axis)
        return size

    def dense(self) -> NDArray[np.int64]:
        """All cells in order, zeros included."""
        table = np.zeros(self.size, dtype=np.int64)
        table[self.cells] = self.values
        return table
