"""Exact counts, the rule that keeps noisy ones, and what a count counts in words."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from math import floor
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from crowdtally.core.integers import Integers, as_kind, integers, largest
from crowdtally.core.numbers import is_whole, show
from crowdtally.errors import UsageError

What = Literal["records", "users"]


def _require_positive(value: object, words: str) -> None:
    if not isinstance(value, int) or not is_whole(value) or value < 1:
        raise UsageError(f"the {words} must be a whole number of at least 1: received {value!r}.")


@dataclass(frozen=True, eq=False)
class Counts:
    """The non-zero cells of a table, not yet private, over a public domain of any size.

    Contract: adding or removing one user changes the whole table, zeros included, by at most
    ``l1_bound`` in L1 and by at most the root of ``l2_squared`` in L2, in the units of ``values``.
    A listed cell may hold 0.

    >>> Counts(10**30, [5, 10**29], [1, 2], l1_bound=1).cells.dtype
    dtype('O')
    """

    size: int
    """N: how many cells the public domain has."""
    cells: Integers
    """Numbers of the listed cells, ascending and distinct, in 0..N−1."""
    values: Integers
    """Their counts, in the units of the bound."""
    l1_bound: int
    """L: how much one user can change, over all cells."""
    unit: Fraction = Fraction(1)
    """What one unit of ``values`` means as a count. Public."""
    signed: bool = False
    """Whether a count may be negative, as a difference of counts."""
    squared: int | None = field(default=None, kw_only=True)
    """Δ²: the square of how much one user can change in L2, where it is known to be below L²."""

    def __post_init__(self) -> None:
        _require_positive(self.size, "number of cells")
        _require_positive(self.l1_bound, "L1 bound")
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
        """Δ²; where it is not known L², which no user exceeds in L2 either."""
        return self.l1_bound**2 if self.squared is None else self.squared

    def dense(self) -> NDArray[np.int64]:
        table = np.zeros(self.size, dtype=np.int64)
        table[self.cells] = self.values
        return table

    def addable(self) -> Integers:
        """The values in a kind of array in which no sum of them overflows."""
        fits = largest(self.values) * max(len(self.values), 1) < 1 << 62
        return self.values if fits else self.values.astype(object)


@dataclass(frozen=True, eq=False)
class Memberships:
    """How many distinct users each cell of a table has, all cells, not yet private.

    Contract: adding one user changes every cell by 0 or by +1, removing one by 0 or by −1, in any
    number of cells: at most 1 in the norm max z⁺ + max z⁻. The code that makes one from records
    must count each user once in a cell, and other users' cells may not depend on her. Interval
    noise needs this, which a bound on a sum does not give: so it is added to this type alone.

    >>> Memberships.of(4, [1, 3], [5, 2]).values
    array([0, 5, 0, 2])
    """

    size: int
    values: NDArray[np.int64]
    """The users of every cell, in order, zeros included."""

    def __post_init__(self) -> None:
        _require_positive(self.size, "number of cells")
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
        """From the cells that have users, each once, and how many users each has."""
        values = np.zeros(size, dtype=np.int64)
        values[np.asarray(cells, dtype=np.int64)] = np.asarray(users, dtype=np.int64)
        return cls(size, values)


Sides = Literal["one", "two"]

_LARGEST_CUT = 1 << 62


@dataclass(frozen=True)
class Keeping:
    """A public rule: a cell of noisy count v is kept with a probability that v alone decides.

    Its weight w is |v| (two-sided, for the noisy table) or v (one-sided, for its positive part).
    It is dropped if w < κ; otherwise it is kept with probability min(w/τ, 1), or always if there is
    no τ. Where τ ≤ κ, nothing is sampled and the rule is the filter κ.

    >>> Keeping(5, Fraction(4)).samples, Keeping(5, Fraction(11, 2)).samples
    (False, True)
    """

    cut: int = 0
    """κ: smaller weights are dropped."""
    threshold: Fraction | None = None
    """τ: smaller weights are kept in proportion to them; None: all that pass the cut are kept."""
    sides: Sides = "two"
    """Whether large negative counts are kept too."""

    def __post_init__(self) -> None:
        if not is_whole(self.cut) or not 0 <= self.cut <= _LARGEST_CUT:
            raise UsageError(
                f"the cut must be a whole number of at least 0: received {self.cut!r}. Cells whose "
                "noisy count is smaller than it are dropped."
            )
        if self.threshold is not None and not isinstance(self.threshold, Fraction):
            raise UsageError(f"the threshold must be a Fraction: received {type(self.threshold)}.")
        if self.threshold is not None and self.threshold <= 0:
            raise UsageError(
                f"the threshold must be greater than 0: received {show(self.threshold)}. Cells "
                "whose noisy count is smaller than it are kept in proportion to their count."
            )
        if self.sides not in ("one", "two"):
            raise UsageError(f"sides must be 'one' or 'two': received {self.sides!r}.")

    @property
    def samples(self) -> bool:
        """Whether some weight that passes the cut is kept by chance."""
        return self.threshold is not None and self.threshold > self.cut

    @property
    def keeps_all(self) -> bool:
        """Whether every cell is kept, so that the table is dense."""
        return self.sides == "two" and self.cut == 0 and not self.samples

    @property
    def least(self) -> int:
        """The smallest weight that can be kept: a weight of 0 is never sampled."""
        return max(self.cut, 1) if self.samples else self.cut

    @property
    def doubtful_to(self) -> int:
        """T = ⌊τ⌋: up to here a weight w counts w/τ (which is 1 at w = τ)."""
        return floor(self.threshold) if self.samples and self.threshold else self.cut - 1


_LENGTHS = {"l1": "a sum of", "l2": "a norm of", "squares": "squares that sum to"}
NOISE_ONLY = "noise intervals cover the noise only, not what this leaves out"


@dataclass(frozen=True)
class Counted:
    """What one user counts in one table, in words.

    >>> print(Counted("records", 10).words())
    at most 10 records of each user are counted
    >>> print(Counted("records", 10, quantity=20).words())
    at most 10 records of each user are counted, each at most 20 times
    >>> print(Counted("users", 1, everywhere=True).words())
    each user is counted once in each of their cells, however many these are
    >>> print(Counted("users", 7, scaled=True).words())
    each user is counted at most once in a cell, and their row scaled down to a sum of at most 7
    >>> print(Counted("users", 7, scaled=True, norm="l2").words())
    each user is counted at most once in a cell, and their row scaled down to a norm of at most 7
    >>> print(Counted("users", 7, scaled=True, norm="squares").words()[49:])
    their row scaled down to squares that sum to at most 7
    """

    what: What
    bound: int | None
    """l or θ; None where each row is a person of its own."""
    scaled: bool = False
    cap: int = 1
    """r: how often a user counts in one cell, where rows are scaled."""
    scaling: Fraction = Fraction(1)
    """s: what scaled rows are multiplied by."""
    pairs: bool = False
    weight: str | None = None
    """The column that says how many persons a row stands for."""
    quantity: int | None = None
    """The most that one record counts, where records count by a quantity."""
    everywhere: bool = False
    """Whether each user counts in all of their cells, without a bound."""
    uncapped: bool = False
    """Whether rows are scaled without a cap on how often a user counts in one cell."""
    norm: str = "l1"
    """Whether rows are scaled to a sum or, with ``l2``, to a Euclidean norm; ``squares``: to one
    whose square is the bound."""
    stated: int | None = None
    """L, where rows have no id and the publisher states that nobody has more of them."""
    at_most: bool = False
    """Whether the bound is yet to be chosen, up to this one."""

    def words(self) -> str:
        if self.everywhere:
            return "each user is counted once in each of their cells, however many these are"
        if self.bound is None:
            return self._rows()
        words = self._scaled() if self.scaled else self._sampled()
        return f"{words} (or fewer: the bound is yet to be chosen)" if self.at_most else words

    def sentence(self) -> str:
        """The same, and what noise intervals of such counts do not cover."""
        words = self.words()
        if self.bound is None or self.everywhere:
            return f"{words[0].upper()}{words[1:]}; noise intervals cover the noise only."
        return f"{words[0].upper()}{words[1:]}; {NOISE_ONLY}."

    def _rows(self) -> str:
        if self.weight is not None:
            return f"each row is counted as many times as its column {self.weight!r} says"
        if self.stated is not None:
            return (
                "each row is counted once; that nobody has more than "
                f"{self.stated} of them is the publisher's statement, not checked"
            )
        return "each row is counted once, as a person of its own"

    def _scaled(self) -> str:
        length = _LENGTHS[self.norm]
        if self.uncapped:
            return (
                f"all records of each user are counted, and a user's row scaled down to {length} "
                f"at most {self.bound}"
            )
        often = "once" if self.cap == 1 else f"{self.cap} times"
        times = "" if self.scaling == 1 else f", then multiplied by {show(self.scaling)}"
        return (
            f"each user is counted at most {often} in a cell, and their row scaled down to "
            f"{length} at most {self.bound}{times}"
        )

    def _sampled(self) -> str:
        one = self.bound == 1
        if self.what == "users":
            cells = "1 cell" if one else f"{self.bound} cells"
            if self.pairs:
                return f"each user is counted at most once in a pair, of at most {self.bound} items"
            return f"each user is counted at most once in a cell, and in at most {cells}"
        kept = f"at most {self.bound} {'record' if one else 'records'} of each user"
        if self.pairs:
            return f"pairs of {kept} are counted"
        often = "" if self.quantity is None else f", each at most {self.quantity} times"
        return f"{kept} {'is' if one else 'are'} counted{often}"
