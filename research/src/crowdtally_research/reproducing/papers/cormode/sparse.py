"""Tables of counts of which most cells are empty, made as the paper makes them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crowdtally.values.counts import Counts

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

MEAN = 100
"""Of the counts of occupied cells."""
_CLUSTERED = 1000
"""Occupied cells of one cluster, on average; a cluster is about four times as wide."""


@dataclass(frozen=True, eq=False)
class Sparse:
    """The occupied cells of a table; each unit of a count is one person, who has one record."""

    size: int
    """m: how many cells there are."""
    cells: Ints
    """The occupied ones, ascending."""
    values: Ints
    """Their counts."""

    @property
    def counts(self) -> Counts:
        """As they are published: one person changes one count by one."""
        return Counts(self.size, self.cells, self.values, l1_bound=1)

    @property
    def truth(self) -> Ints:
        """The count of every cell."""
        return self.counts.dense()

    @property
    def persons(self) -> int:
        """How many there are."""
        return int(self.values.sum())


def uniform(size: int, occupied: int, deviation: float, seed: int) -> Sparse:
    """Occupied cells anywhere, with counts N(100, deviation), rounded, at least 1."""
    rng = np.random.default_rng(seed)
    found = _distinct(rng.integers(0, size, occupied), size, occupied, rng)
    return Sparse(size, found, _normal(rng, occupied, deviation))


def clustered(size: int, occupied: int, deviation: float, seed: int) -> Sparse:
    """The same counts, with occupied cells in clusters of about 1,000 around random places."""
    rng = np.random.default_rng(seed)
    number = max(occupied // _CLUSTERED, 3)
    centres, width = rng.integers(0, size, number), occupied / number
    cells: Ints = np.empty(0, dtype=np.int64)
    while len(cells) < occupied:
        drawn = rng.choice(centres, 2 * occupied) + rng.normal(0, width, 2 * occupied)
        cells = np.unique(np.concatenate([cells, np.rint(drawn).astype(np.int64) % size]))
    chosen = np.sort(rng.permutation(cells)[:occupied])
    return Sparse(size, chosen, _normal(rng, occupied, deviation))


def _distinct(cells: Ints, size: int, occupied: int, rng: np.random.Generator) -> Ints:
    """So many distinct cells, each set of them as likely as any other."""
    cells = np.unique(cells)
    while len(cells) < occupied:  # time and memory do not depend on the domain
        cells = np.unique(np.concatenate([cells, rng.integers(0, size, occupied)]))
    return np.sort(rng.permutation(cells)[:occupied])


def _normal(rng: np.random.Generator, number: int, deviation: float) -> Ints:
    return np.maximum(1, np.rint(rng.normal(MEAN, deviation, number))).astype(np.int64)
