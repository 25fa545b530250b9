"""Who is in which cell: distinct users, the one kind of count that interval noise may be added to.

Interval noise asks for more than a bound on a sum: one user must change every cell by 0 or 1, all
the same way. Counts that merely add up to little do not have that, and a type keeps them out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from crowdtally.errors import UsageError
from crowdtally.values.whole import is_whole

if TYPE_CHECKING:
    from crowdtally.values.integers import Integers


@dataclass(frozen=True, eq=False)
class Memberships:
    """How many distinct users each cell of a table has, all cells, not yet private.

    Contract: adding one user changes every cell by 0 or by +1, removing one by 0 or by −1, in
    whichever cells and however many of them. In the norm max z⁺ + max z⁻ that is at most 1. Whoever
    makes one of these from records answers for it: each user is counted once in a cell, and nobody
    else's cells depend on her.

    >>> Memberships.of(4, [1, 3], [5, 2]).values
    array([0, 5, 0, 2])
    """

    size: int
    """How many cells there are."""
    values: NDArray[np.int64]
    """The users of every cell, in order, zeros included."""

    def __post_init__(self) -> None:
        if not is_whole(self.size) or self.size < 1:
            raise UsageError(
                f"the number of cells must be a whole number of at least 1: received {self.size!r}."
            )
        values = np.asarray(self.values)
        if values.dtype != np.int64 or values.shape != (self.size,):
            raise UsageError(
                f"users are counted in all {self.size} cells, as 64-bit integers: received "
                f"{values.size} of {values.dtype}."
            )
        if (values < 0).any():
            raise UsageError("a cell cannot have fewer than 0 users.")
        object.__setattr__(self, "values", values)

    @classmethod
    def of(cls, size: int, cells: Integers | list[int], users: Integers | list[int]) -> Memberships:
        """From the cells that anybody is in, each once, and how many users each has."""
        values = np.zeros(size, dtype=np.int64)
        values[np.asarray(cells, dtype=np.int64)] = np.asarray(users, dtype=np.int64)
        return cls(size, values)
