"""Adding up the counts that fall on one number."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crowdtally.curator.publishing.cells import Integers, SparseCounts


@dataclass(frozen=True, eq=False)
class Grouped:
    """Equal numbers brought together."""

    numbers: Integers
    """The distinct numbers, ascending."""
    order: NDArray[np.int64]
    """Positions of the given numbers, by number."""
    starts: NDArray[np.int64]
    """Where in ``order`` each distinct number begins."""

    def sums(self, values: Integers) -> Integers:
        """The sum of the values of each number."""
        if not len(self.starts):
            return values[:0]
        return np.asarray(np.add.reduceat(values[self.order], self.starts))

    def firsts(self, values: Integers) -> Integers:
        """One of the values of each number, where they are equal."""
        return values[self.order[self.starts]]


def grouped(numbers: Integers) -> Grouped:
    """Bring equal numbers together."""
    order = np.argsort(numbers, kind="stable")
    ordered = numbers[order]
    new = np.ones(len(ordered), dtype=np.bool_)
    new[1:] = ordered[1:] != ordered[:-1]
    starts = np.flatnonzero(new)
    return Grouped(ordered[starts], order, starts)


def addable(counts: SparseCounts) -> Integers:
    """The counts in a kind of array in which no sum of them wraps round."""
    if counts.values.dtype == object:
        return counts.values
    largest = max(-int(counts.values.min(initial=0)), int(counts.values.max(initial=0)))
    fits = largest * max(len(counts.values), 1) < 1 << 62
    return counts.values if fits else counts.values.astype(object)
