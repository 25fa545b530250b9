"""Counts of which only the non-zero cells are listed, over a public domain of any size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdtally.errors import UsageError

Integers = NDArray[Any]
"""int64 where all values fit, else Python integers in an object array."""

_HALF = 1 << 62
_SIGNED_64 = 1 << 63


@dataclass(frozen=True, eq=False)
class SparseCounts:
    """The non-zero cells of a table, not yet private.

    Contract: adding or removing one user changes the whole table, zeros included, by at most
    ``l1_bound`` in L1. A listed cell may hold 0: listing it changes no law.

    >>> SparseCounts(10**30, [5, 10**29], [1, 2], l1_bound=1).cells.dtype
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
    signed: bool = False
    """Whether a count may be negative although nobody was removed (a difference of counts)."""

    def __post_init__(self) -> None:
        for name in ("size", "l1_bound"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                words = "number of cells" if name == "size" else "L1 bound"
                raise UsageError(
                    f"the {words} must be a whole number of at least 1: received {value!r}."
                )
        object.__setattr__(self, "cells", as_kind(integers(self.cells), self.size))
        object.__setattr__(self, "values", integers(self.values))
        if self.cells.shape != self.values.shape or self.cells.ndim != 1:
            raise UsageError("each listed cell needs one count, in two flat arrays.")
        if len(self.cells) and not (self.cells[0] >= 0 and self.cells[-1] < self.size):
            raise UsageError(f"a cell lies outside the domain of {self.size} cells.")
        if not (self.cells[1:] > self.cells[:-1]).all():
            raise UsageError("the cells must be listed in ascending order, each once.")


def integers(values: object) -> Integers:
    """An array of integers: int64 where all fit, else Python integers; floats are refused."""
    # numpy turns a list that holds both 2^63 and a smaller integer into floats.
    array = values if isinstance(values, np.ndarray) else np.array(values, dtype=object)
    if array.size == 0:
        return np.empty(array.shape, dtype=np.int64)
    if array.dtype == np.int64:
        return array
    if array.dtype.kind not in "iuO":
        raise UsageError(f"cells and counts must be integers: received {array.dtype}.")
    exact = array.tolist()
    if not all(isinstance(value, int | np.integer) for value in exact):
        raise UsageError("cells and counts must be integers: received other objects.")
    kind = np.int64 if all(-_SIGNED_64 <= v < _SIGNED_64 for v in exact) else object
    return np.array(exact, dtype=kind)


def as_kind(numbers: Integers, size: int) -> Integers:
    """Numbers of cells in the kind of array that all of 0..size−1 fit."""
    return numbers.astype(np.int64 if size <= _SIGNED_64 else object, copy=False)


def exact_sum(first: Integers, second: Integers | int) -> Integers:
    """``first + second`` without wrapping round."""
    if _largest(first) < _HALF and _largest(second) < _HALF:
        return np.asarray(first + second)
    return integers(first.astype(object) + second)


def exact_product(values: Integers, factor: int) -> Integers:
    """``values·factor`` without wrapping round."""
    # The factor itself must fit: numpy refuses a longer one even beside zeros or an empty array,
    # and then the records would decide whether there is a release.
    if abs(factor) < _SIGNED_64 and _largest(values) * abs(factor) < _SIGNED_64:
        return np.asarray(values * factor)
    return np.asarray(values.astype(object) * factor)


def repeated(number: int, size: int) -> Integers:
    """``size`` times ``number``, in the kind of array that holds it, also where ``size`` is 0."""
    return np.full(size, number, dtype=np.int64 if abs(number) < _SIGNED_64 else object)


def _largest(values: Integers | int) -> int:
    if isinstance(values, int):
        return abs(values)
    if values.dtype == object:
        return max((abs(int(v)) for v in values), default=0)
    return max(-int(values.min(initial=0)), int(values.max(initial=0)))


def positions(numbers: Integers, wanted: Integers) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Where each of ``wanted`` would stand in the ascending ``numbers``, and whether it does."""
    places = np.searchsorted(numbers, wanted)
    inside = np.minimum(places, max(len(numbers) - 1, 0))
    found = numbers[inside] == wanted if len(numbers) else np.zeros(len(wanted), dtype=np.bool_)
    return inside, np.asarray(found, dtype=np.bool_)
