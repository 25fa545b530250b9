"""Sums over random cells or ranges of cells, and how far off they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from crowdtally_research.reproducing.papers.cormode.sparse import Floats, Ints

PERCENT = 100.0
_SHUFFLES = 5
_PER_SHUFFLE = 100


@dataclass(frozen=True, eq=False)
class Subsets:
    """Random subsets of cells of some sizes, the same for all methods of one run.

    Each of five shuffles of all cells is cut into disjoint subsets, at most 100 of each size: 500
    subsets of up to a hundredth of the cells, and fewer of larger ones.
    """

    size: int
    """How many cells there are."""
    sizes: tuple[int, ...]
    """How many cells a query sums."""
    shuffled: tuple[Ints, ...]
    """The shuffles."""

    @classmethod
    def drawn(cls, size: int, sizes: Sequence[int], seed: int) -> Subsets:
        """Those of one run."""
        rng = np.random.default_rng([seed, 1])
        shuffles = (rng.permutation(size) for _ in range(_SHUFFLES))
        return cls(size, tuple(sizes), tuple(shuffles))

    def sums(self, values: Floats | Ints) -> dict[int, Floats]:
        """The sum of the values in each subset, by the subsets' size."""
        found: dict[int, list[Floats]] = {size: [] for size in self.sizes}
        for shuffle in self.shuffled:
            before = np.concatenate(([0.0], np.cumsum(values[shuffle], dtype=np.float64)))
            for size in self.sizes:
                ends = np.arange(min(_PER_SHUFFLE, self.size // size) + 1) * size
                found[size].append(np.diff(before[ends]))
        return {size: np.concatenate(sums) for size, sums in found.items()}


@dataclass(frozen=True, eq=False)
class Ranges:
    """Random ranges of neighbouring cells, the same for all methods of one run."""

    low: dict[int, Ints]
    """By the ranges' size, where each begins."""

    @classmethod
    def drawn(cls, size: int, sizes: Sequence[int], number: int, seed: int) -> Ranges:
        """So many of each size."""
        rng = np.random.default_rng([seed, 2])
        return cls({one: rng.integers(0, size - one + 1, number) for one in sizes})

    def sums(self, values: Floats | Ints) -> dict[int, Floats]:
        """The sum of the values in each range, by the ranges' size."""
        upto = np.concatenate(([0.0], np.cumsum(values, dtype=np.float64)))
        return {size: upto[low + size] - upto[low] for size, low in self.low.items()}


def relative(answers: dict[int, Floats], truth: dict[int, Floats]) -> dict[int, float]:
    """Σ|error| / Σ true over all queries of a size, in percent.

    >>> relative({2: np.array([1.0, 5.0])}, {2: np.array([2.0, 2.0])})
    {2: 100.0}
    """
    return {
        size: PERCENT * float(np.abs(answers[size] - true).sum()) / max(float(true.sum()), 1.0)
        for size, true in truth.items()
    }
