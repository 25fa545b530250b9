"""Exact counts on their way to the noise, with the bound that makes noise sufficient."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from crowdtally.values.layout import Layout

What = Literal["records", "users"]


@dataclass(frozen=True, eq=False)
class Counts:
    """Non-zero cells of a table, not yet private.

    Contract: adding or removing one user changes the table by at most ``l1_bound`` in L1, in the
    integer units that ``values`` are in.
    """

    layout: Layout
    """What the cells are cells of."""
    cells: NDArray[np.int64]
    """Cell numbers, ascending, distinct."""
    values: NDArray[np.int64]
    """The count of each cell, in integer units; none is zero."""
    what: What
    """Whether records or distinct users are counted."""
    l1_bound: int
    """What one user can change, in the same units."""
    unit: Fraction = Fraction(1)
    """What one unit of ``values`` means as a count. Public."""

    @property
    def size(self) -> int:
        """Number of cells of the whole public table."""
        return self.layout.size

    def dense(self) -> NDArray[np.int64]:
        """All cells in order, zeros included."""
        table = np.zeros(self.size, dtype=np.int64)
        table[self.cells] = self.values
        return table
