"""Integers of any size in arrays: exact sums and products, and groups of equal ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdtally.errors import UsageError

Integers = NDArray[Any]  # int64 where all values fit, else Python integers in an object array

_HALF = 1 << 62
_SIGNED_64 = 1 << 63


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
    if largest(first) < _HALF and largest(second) < _HALF:
        return np.asarray(first + second)
    return integers(first.astype(object) + second)


def exact_product(values: Integers, factor: int) -> Integers:
    """``values·factor`` without wrapping round."""
    # The factor itself must fit: numpy refuses a longer one even beside zeros or an empty array,
    # and the records would decide whether there is a release.
    if abs(factor) < _SIGNED_64 and largest(values) * abs(factor) < _SIGNED_64:
        return np.asarray(values * factor)
    return np.asarray(values.astype(object) * factor)


def repeated(number: int, size: int) -> Integers:
    """``size`` times ``number``, in the kind of array that holds it, even if ``size`` is 0."""
    return np.full(size, number, dtype=np.int64 if abs(number) < _SIGNED_64 else object)


def largest(values: Integers | int) -> int:
    """The largest absolute value, or 0."""
    if isinstance(values, int):
        return abs(values)
    if values.dtype == object:
        return max((abs(int(v)) for v in values), default=0)
    return max(-int(values.min(initial=0)), int(values.max(initial=0)))


def positions(numbers: Integers, wanted: Integers) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The place of each of ``wanted`` in the ascending ``numbers``, and whether it is there."""
    places = np.searchsorted(numbers, wanted)
    inside = np.minimum(places, max(len(numbers) - 1, 0))
    there = numbers[inside] == wanted if len(numbers) else np.zeros(len(wanted), dtype=np.bool_)
    return inside, np.asarray(there, dtype=np.bool_)


def within_64_bits(values: Integers) -> NDArray[np.int64]:
    """The values, clipped to 64 bits.

    Noisy values may be beyond. Clipping them is post-processing, which costs nothing; clipping the
    noise itself, before it is added, would change its law.
    """
    if values.dtype == np.int64:
        return values
    ends = np.iinfo(np.int64)
    return np.array([min(max(int(v), ends.min), ends.max) for v in values], dtype=np.int64)


def saturating_sum(values: NDArray[np.int64], shift: int) -> NDArray[np.int64]:
    """``values + shift``, clipped to 64 bits."""
    ends = np.iinfo(np.int64)
    within = np.clip(values, ends.min - min(shift, 0), ends.max - max(shift, 0))
    return np.asarray(within + shift, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Grouped:
    numbers: Integers
    """The distinct numbers, ascending."""
    order: NDArray[np.int64]
    """Positions of the given numbers, sorted by number."""
    starts: NDArray[np.int64]
    """Where in ``order`` each distinct number begins."""

    def sums(self, values: Integers) -> Integers:
        if not len(self.starts):
            return values[:0]
        return np.asarray(np.add.reduceat(values[self.order], self.starts))

    def firsts(self, values: Integers) -> Integers:
        """One of the values of each number, where they are equal."""
        return values[self.order[self.starts]]


def group_equal(numbers: Integers) -> Grouped:
    order = np.argsort(numbers, kind="stable")
    ordered = numbers[order]
    new = np.ones(len(ordered), dtype=np.bool_)
    new[1:] = ordered[1:] != ordered[:-1]
    starts = np.flatnonzero(new)
    return Grouped(ordered[starts], order, starts)
