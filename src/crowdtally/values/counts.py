"""Exact counts on their way to the noise, with the bound that makes noise sufficient."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from crowdtally.errors import UsageError
from crowdtally.values.integers import Integers, as_kind, integers, largest
from crowdtally.values.whole import is_whole

What = Literal["records", "users"]


@dataclass(frozen=True, eq=False)
class Counts:
    """The non-zero cells of a table, not yet private, over a public domain of any size.

    Contract: adding or removing one user changes the whole table, zeros included, by at most
    ``l1_bound`` in L1 and by at most the root of ``l2_squared`` in L2, in the integer units that
    ``values`` are in. A listed cell may hold 0: listing it changes no law.

    >>> Counts(10**30, [5, 10**29], [1, 2], l1_bound=1).cells.dtype
    dtype('O')
    """

    size: int
    """N: how many cells the public domain has."""
    cells: Integers
    """Numbers of the listed cells, ascending and distinct, in 0..N−1."""
    values: Integers
    """Their counts, in the units that the bound is in."""
    l1_bound: int
    """L: what one user can change, over all cells."""
    unit: Fraction = Fraction(1)
    """What one unit of ``values`` means as a count. Public."""
    signed: bool = False
    """Whether a count may be negative although nobody was removed (a difference of counts)."""
    squared: int | None = field(default=None, kw_only=True)
    """Δ²: the square of what one user can change in L2, where that is known to be less than L²."""

    def __post_init__(self) -> None:
        for name in ("size", "l1_bound"):
            value = getattr(self, name)
            if not is_whole(value) or value < 1:
                words = "number of cells" if name == "size" else "L1 bound"
                raise UsageError(
                    f"the {words} must be a whole number of at least 1: received {value!r}."
                )
        self._check_squared()
        object.__setattr__(self, "cells", as_kind(integers(self.cells), self.size))
        object.__setattr__(self, "values", integers(self.values))
        if self.cells.shape != self.values.shape or self.cells.ndim != 1:
            raise UsageError("each listed cell needs one count, in two flat arrays.")
        if len(self.cells) and not (self.cells[0] >= 0 and self.cells[-1] < self.size):
            raise UsageError(f"a cell lies outside the domain of {self.size} cells.")
        if not (self.cells[1:] > self.cells[:-1]).all():
            raise UsageError("the cells must be listed in ascending order, each once.")

    def _check_squared(self) -> None:
        if self.squared is not None and (
            not is_whole(self.squared) or not 1 <= self.squared <= self.l1_bound**2
        ):
            raise UsageError(
                "the square of an L2 bound is a whole number from 1 to the square of the L1 bound: "
                f"received {self.squared!r}."
            )

    @property
    def l2_squared(self) -> int:
        """Δ²: what is known, or L², which no user exceeds in L2 either."""
        return self.l1_bound**2 if self.squared is None else self.squared

    def dense(self) -> NDArray[np.int64]:
        """All cells in order, zeros included."""
        table = np.zeros(self.size, dtype=np.int64)
        table[self.cells] = self.values
        return table

    def addable(self) -> Integers:
        """The values in a kind of array in which no sum of them wraps round."""
        fits = largest(self.values) * max(len(self.values), 1) < 1 << 62
        return self.values if fits else self.values.astype(object)
