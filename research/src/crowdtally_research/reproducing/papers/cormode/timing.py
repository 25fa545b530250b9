"""How long publishing takes, and how much is published: the product's own step, nothing beside it.

Processor seconds of one process, from exact counts to the noisy cells, the choice of all parameters
included. Where a table has more cells than the product publishes as a whole, there is no number.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from math import isqrt

import numpy as np
import pyarrow as pa

from crowdtally.curator.bounding.dpsense import GRID
from crowdtally.curator.counting.scaled_rows import UNIT
from crowdtally.curator.publishing.dense import dense
from crowdtally.curator.publishing.publishing import Publishing
from crowdtally.curator.request.declaring import declare
from crowdtally.curator.request.request import make_request
from crowdtally.curator.steps.auto.design import Design
from crowdtally.curator.steps.auto.questions import AllItems
from crowdtally.curator.table import Table
from crowdtally.curator.transforms.haar import haar_counts
from crowdtally.noise.draws import SystemDraws
from crowdtally.values.counts import Counts
from crowdtally.values.domain import Domain
from crowdtally.values.layout import Numbered
from crowdtally_research.reproducing.figure import AUTO
from crowdtally_research.reproducing.papers.cormode.sparse import Sparse, uniform
from crowdtally_research.reproducing.papers.cormode.ways import (
    AXIS,
    EPSILON,
    FILTER,
    FILTER_PRIORITY,
    GEOMETRIC,
    PRIORITY,
    THRESHOLD,
    WAVELET,
    filter_priority,
    filtering_to,
    geometric,
    priority,
    sampling,
    table_of,
)

Way = Callable[[Sparse], int]
"""Publishes a table; returns how many values that gives."""
MOST_CELLS = 150_000_000
"""Of dense methods: larger tables need more memory than a common computer has."""
_WARM = 10_000
AUTO_SHARE = Fraction(97, 100)
"""Of ε, for the cells; the rest is for how long users' rows are."""


@dataclass(frozen=True)
class Timed:
    """One publishing."""

    seconds: float
    """Processor time."""
    values: int
    """How many values were published."""


def ways_of(sparse: Sparse, size: int, *, wavelet: bool = True) -> Mapping[str, Way]:
    """All methods that can publish a table; summaries of ``size`` cells."""
    found: dict[str, Way] = {}
    if sparse.size <= MOST_CELLS:
        found[GEOMETRIC] = _by(geometric())
        found |= {WAVELET: _wavelet} if wavelet else {}
    found[FILTER] = _by(filtering_to(size))
    found[THRESHOLD] = _by(sampling(size, sparse.persons))
    found[PRIORITY] = _by(priority(size))
    found[FILTER_PRIORITY] = _by(filter_priority(size))
    found[AUTO] = _auto(sparse)
    return found


def timed(sparse: Sparse, ways: Mapping[str, Way], runs: int) -> dict[str, list[Timed]]:
    """Every method so many times, in turn, once all code was loaded by a small table."""
    small = uniform(_WARM, _WARM // 10, 20, seed=0)
    for way in ways_of(small, _WARM // 10).values():
        way(small)
    seen: dict[str, list[Timed]] = {name: [] for name in ways}
    for _ in range(runs):
        for name, way in ways.items():
            start = time.process_time()
            values = way(sparse)
            seen[name].append(Timed(time.process_time() - start, values))
    return seen


def _by(publishing: Publishing) -> Way:
    def way(sparse: Sparse) -> int:
        table = table_of(Numbered(AXIS, sparse.size), publishing)
        return len(table.publish(sparse.counts, SystemDraws()).values)

    return way


def _wavelet(sparse: Sparse) -> int:
    coefficients = haar_counts(sparse.counts, [sparse.size])
    return len(dense(coefficients, EPSILON, SystemDraws()).values)


def _auto(sparse: Sparse) -> Way:
    """The step that publishes the cells, as ``auto`` asks for it; persons are not counted here."""
    table = auto_table(sparse.size)

    def way(given: Sparse) -> int:
        scaled = Counts(given.size, given.cells, given.values * GRID, GRID, UNIT)
        return len(replace(table).publish(scaled, SystemDraws()).values)

    return way


def auto_table(size: int) -> Table:
    """The table of ``auto`` where everybody has one record, over so many cells."""
    first = next(one for one in range(isqrt(size), 0, -1) if size % one == 0)
    domain = Domain(attributes={"first": range(first), "second": range(size // first)})
    people = pa.table({"user": [0], "first": [0], "second": [0]})
    records = declare(people, user="user", attributes=["first", "second"])
    design = Design.of(make_request(records, domain, epsilon=EPSILON.value))
    asked = AllItems(design, design.table.name, 1, np.empty(0, dtype=np.int64))
    return asked.table(EPSILON * AUTO_SHARE)
