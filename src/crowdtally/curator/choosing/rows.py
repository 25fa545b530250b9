"""What the choices read of the records: row sums. Exact, private, never released.

A user's row sum RC_u is the sum of that user's row: the number of distinct cells (binary rows), of
records, or of records capped at a public r per cell. A broken precondition raises ``ValueError``,
which names no value: it is a fault of the calling code, not of a curator's input.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Sums of what a table holds stay far below 2^63, so that no total can wrap unnoticed.
_LARGEST_TOTAL = 2**61


@dataclass(frozen=True, eq=False)
class RowSums:
    """How many users have which row sum. One user changes one entry by 1."""

    sums: NDArray[np.int64]
    """Row sums, in any order; those of no user may be absent."""
    users: NDArray[np.int64]
    """How many users have that row sum."""

    def __post_init__(self) -> None:
        _check(sums=self.sums, users=self.users)

    def above(self, bounds: NDArray[np.int64]) -> NDArray[np.int64]:
        """#{u: RC_u > θ} for each θ of ``bounds``.

        >>> RowSums(np.array([1, 5]), np.array([10, 2])).above(np.array([0, 1, 4, 5]))
        array([12,  2,  2,  0])
        """
        order = np.argsort(self.sums)
        up_to = np.concatenate(([0], np.cumsum(self.users[order])))
        places = np.searchsorted(self.sums[order], bounds, side="right")
        return np.asarray(up_to[-1] - up_to[places], dtype=np.int64)


@dataclass(frozen=True, eq=False)
class RowNorms:
    """How many users have which sum of squares and which sum of a row; each is in one entry."""

    squares: NDArray[np.int64]
    """Q: sums of squares, at least 1."""
    sums: NDArray[np.int64]
    """RC: row sums, at least 1."""
    users: NDArray[np.int64]
    """How many users have both; a pair may stand in several entries, which then add up."""

    def __post_init__(self) -> None:
        _check(squares=self.squares, sums=self.sums, users=self.users)


@dataclass(frozen=True, eq=False)
class RowTable:
    """For each row sum ρ and column j, the total of column j over the users whose row sum is ρ.

    A user whose row is x adds x_j to each (Σx, j). For binary rows: the number of users with row
    sum ρ who have column j.
    """

    sums: NDArray[np.int64]
    """ρ of each entry, at least 1."""
    columns: NDArray[np.int64]
    """j of each entry, from 0; a pair (ρ, j) may stand in several entries, which then add up."""
    totals: NDArray[np.int64]
    """The total of each entry."""

    def __post_init__(self) -> None:
        _check(sums=self.sums, columns=self.columns, totals=self.totals)

    def fits(self, cells: int, cap: int) -> bool:
        """Whether it can be a table of rows over ``cells`` columns with values up to ``cap``."""
        if self.sums.size == 0:
            return True
        sums_fit = self.sums.min() >= 1 and self.sums.max() <= cells * cap
        return bool(sums_fit and self.columns.max() < cells)


def _check(**arrays: NDArray[Any]) -> None:
    if len({array.shape for array in arrays.values()}) != 1:
        raise ValueError(f"{' and '.join(arrays)} must be arrays of one length.")
    for name, array in arrays.items():
        if array.dtype != np.int64 or array.ndim != 1:
            raise ValueError(f"{name} must be a row of 64-bit integers, not {array.dtype}.")
        if array.size and array.min() < 0:
            raise ValueError(f"{name} must not be negative.")
    *_, weights = arrays.values()
    if weights.sum(dtype=np.float64) > _LARGEST_TOTAL:
        raise ValueError("the entries add up to more than 64-bit sums can hold.")
