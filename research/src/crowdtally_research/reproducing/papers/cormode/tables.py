"""Sparse tables, made up or real; ways to publish them, and queries to ask."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from crowdtally.core.counts import Counts, Sides
from crowdtally.core.domain import Axis, Domain
from crowdtally.core.layout import Layout, Numbered, grid
from crowdtally.core.privacy import Epsilon
from crowdtally.curator.request.declare import declare
from crowdtally.curator.request.request import Request, make_request
from crowdtally.curator.summaries.base import Dense, Publishing
from crowdtally.curator.summaries.priority import FilterPriority, Priority
from crowdtally.curator.summaries.threshold import Filter, Threshold
from crowdtally.curator.table import Table
from crowdtally.curator.transforms.base import Transform, Untransformed
from crowdtally.format import NoisyTable
from crowdtally.lab.estimates import estimate_auto
from crowdtally.lab.rehearse import Rehearsal
from crowdtally.noise.draws import SystemDraws
from crowdtally.records.duckdb import DuckDBEngine
from crowdtally_research.reproducing.figure import Data

# Tables of counts of which most cells are empty, made as the paper makes them.

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

    @property
    def counts(self) -> Counts:
        """As they are published: one person changes one count by one."""
        return Counts(self.size, self.cells, self.values, l1_bound=1)

    @property
    def truth(self) -> Ints:
        return self.counts.dense()

    @property
    def persons(self) -> int:
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


# The two real tables; where a file is missing, made-up ones of the same size and skewness.

LODES, ADULT = "lodes", "adult"
_SEED = 7
_BLOCKS = (8_358, 17_127)
_COMMUTES = 372_191
_TRACTS = 241
_TRACT_PAIRS = 41_649
_ATTRIBUTES = (
    "workclass", "education", "marital-status", "occupation", "relationship", "race", "gender"
)  # fmt: skip
_PROFILES = 907_200
_OCCUPIED_PROFILES = 8_619
_TRACT_UNIT = 10_000
"""What a census block's number is divided by for the number of its tract: its last four digits."""


def blocks(data: Data) -> Sparse:
    """LODES: persons by the census blocks where they work and live."""
    if not data.is_real(LODES):
        return _made_up(prod(_BLOCKS), _COMMUTES, 3.5)
    return _grouped(data.files(LODES)[0], ("w_geocode", "h_geocode"), "sum(S000)")


def tracts(data: Data) -> Sparse:
    """LODES: persons by the census tracts where they work and live."""
    if not data.is_real(LODES):
        return _made_up(_TRACTS**2, _TRACT_PAIRS, 1.2)
    named = [f"{name} // {_TRACT_UNIT}" for name in ("w_geocode", "h_geocode")]
    return _grouped(data.files(LODES)[0], named, "sum(S000)")


def profiles(data: Data) -> Sparse:
    """Adult: persons by seven attributes."""
    if not data.is_real(ADULT):
        return _made_up(_PROFILES, _OCCUPIED_PROFILES, 1.1)
    return _grouped(data.files(ADULT)[0], [f'"{name}"' for name in _ATTRIBUTES], "count(*)")


def _grouped(path: Path, columns: Sequence[str], weight: str) -> Sparse:
    """The occupied cells of all combinations of the values that occur.

    That the lists come from the records is an experiment's licence, not a release's.
    """
    named = ", ".join(f"{column} AS c{place}" for place, column in enumerate(columns))
    query = f"SELECT {named}, {weight} AS n FROM read_parquet(?) GROUP BY ALL"
    with duckdb.connect() as connection:
        found = connection.execute(query, [str(path)]).fetchnumpy()
    size, cells = 1, np.zeros(len(found["n"]), dtype=np.int64)
    for place in range(len(columns)):
        values, codes = np.unique(found[f"c{place}"], return_inverse=True)
        size, cells = size * len(values), cells * len(values) + codes
    order = np.argsort(cells)
    return Sparse(size, cells[order], np.asarray(found["n"], dtype=np.int64)[order])


def _made_up(size: int, occupied: int, tail: float) -> Sparse:
    """Cells anywhere, with counts of a Pareto law: most are 1, few are large."""
    rng = np.random.default_rng(_SEED)
    cells: Ints = np.sort(rng.choice(size, occupied, replace=False))
    return Sparse(size, cells, np.ceil(rng.pareto(tail, occupied)).clip(1, 2_000).astype(np.int64))


# Sums over random cells or ranges of cells, and how far off they are.

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
    sizes: tuple[int, ...]
    shuffled: tuple[Ints, ...]

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


# The ways to publish a sparse table, by their names in the paper's figures.

EPSILON = Epsilon.of("0.1")
"""The paper's default."""
GEOMETRIC = "geometric"
WAVELET = "wavelet"
FILTER = "filter"
THRESHOLD = "threshold"
PRIORITY = "priority"
FILTER_PRIORITY = "filter-priority"
AXIS = "cell"
"""What the one axis of a made-up table is called."""


def filtering(cut: int, sides: Sides = "two") -> Filter:
    """FILTER with a given κ, which the paper calls θ."""
    return Filter(cut, sides=sides)


def filtering_to(size: int) -> Filter:
    """FILTER with the κ at which ``size`` empty cells are expected to pass."""
    return Filter(size=size)


def sampling(size: int, total: int) -> Threshold:
    """THRESHOLD with the τ of about ``size`` cells; the paper takes the total as known."""
    return Threshold(size=size, guess_total=total)


def priority(size: int) -> Priority:
    return Priority(size)


def filter_priority(size: int, cut: int | None = None) -> FilterPriority:
    """FILTER-PRIORITY of so many cells, with a given κ or the one that follows from them."""
    return FilterPriority(size, cut)


def geometric() -> Dense:
    return Dense()


def ordered(size: int) -> Layout:
    return grid([Axis(AXIS, np.arange(size))])


def table_of(
    cells: Layout,
    publishing: Publishing,
    transform: Transform | None = None,
    epsilon: Epsilon = EPSILON,
) -> Table:
    """A table that is published so, where one person changes one count by one."""
    return Table(
        "cells", "cells", cells, epsilon, 1,
        transform=transform or Untransformed(), publishing=publishing,
    )  # fmt: skip


def published(sparse: Sparse, publishing: Publishing) -> NoisyTable:
    """A table with its noise on, by the product's own code."""
    table = table_of(Numbered(AXIS, sparse.size), publishing)
    return table.publish(sparse.counts, SystemDraws())


# ``auto`` on the persons of a table: each unit of a count has one record and is one user.
#
# With one record each, ``auto`` finds no reason to bound anybody: it spends 3% of ε on how long
# rows are, and the rest on all cells (twice on the largest ones, where persons are few per cell). A
# sum is what a reader is told: that of the estimates of the cells.

NOISES = 5
"""Runs of ``auto`` on the same persons: counting them takes much longer than drawing noise."""


def auto_estimates(sparse: Sparse, runs: int) -> Iterator[Floats]:
    """What a reader is told of every cell, after each of some whole runs."""
    request = _request(sparse)
    with DuckDBEngine() as engine:
        rehearsal = Rehearsal(request, engine)
        for _ in range(runs):
            yield estimate_auto(request, rehearsal.run(0, SystemDraws())).mean


def _request(sparse: Sparse) -> Request:
    cells = np.repeat(sparse.cells, sparse.values)
    people = pa.table({"user": np.arange(len(cells)), AXIS: cells})
    records = declare(people, user="user", attributes=[AXIS])
    domain = Domain(attributes={AXIS: range(sparse.size)})
    return make_request(records, domain, epsilon=EPSILON.value)
