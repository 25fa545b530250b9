"""Measure errors of subset and range sums, and how long publishing takes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import isqrt

import numpy as np
import pyarrow as pa

from crowdtally.core import hierarchy
from crowdtally.core.counts import Counts
from crowdtally.core.domain import Domain
from crowdtally.core.layout import Layout, Numbered
from crowdtally.curator.bounding.scaling import GRID
from crowdtally.curator.methods.auto import Design
from crowdtally.curator.pricing import noise_of
from crowdtally.curator.request.declare import declare
from crowdtally.curator.request.request import make_request
from crowdtally.curator.row_questions import Scaled
from crowdtally.curator.summaries.base import Publishing, Summary, dense
from crowdtally.curator.summaries.priority import prioritised
from crowdtally.curator.summaries.sparse import filter_cut, without_orphans
from crowdtally.curator.summaries.threshold import filter_summary
from crowdtally.curator.table import Table
from crowdtally.curator.transforms.trees import Dyadic, Haar, haar_counts
from crowdtally.format import NoisyTable
from crowdtally.lab.estimates import estimate, range_answers
from crowdtally.noise.draws import SystemDraws
from crowdtally_research.reproducing.figure import AUTO, Number, Place
from crowdtally_research.reproducing.papers.cormode.tables import (
    AXIS,
    EPSILON,
    FILTER,
    FILTER_PRIORITY,
    GEOMETRIC,
    NOISES,
    PRIORITY,
    THRESHOLD,
    WAVELET,
    Floats,
    Ranges,
    Sparse,
    Subsets,
    auto_estimates,
    filter_priority,
    filtering_to,
    geometric,
    ordered,
    priority,
    published,
    relative,
    sampling,
    table_of,
    uniform,
)

# Sums over random subsets of cells: how far off they are after each way to publish.

Ways = Mapping[str, Publishing]
Make = Callable[[int], Sparse]
"""From a seed: the table of one run."""


@dataclass(frozen=True, eq=False)
class Seen:
    errors: dict[int, list[float]]
    """By the size of the subsets, the relative error of each run, in percent."""
    published: list[int] = field(default_factory=list)
    """How many values each run published."""

    @classmethod
    def nothing(cls, sizes: Sequence[int]) -> Seen:
        return cls({size: [] for size in sizes})


def errors_of(ways: Ways, make: Make, sizes: Sequence[int], runs: int) -> dict[str, Seen]:
    """The errors of every way, each run with data and queries of its own."""
    seen = {name: Seen.nothing(sizes) for name in ways}
    for run in range(runs):
        sparse = make(run)
        asked = Asked(sparse, sizes, run)
        for name, publishing in ways.items():
            noisy = published(sparse, publishing)
            asked.add(seen[name], estimate(noisy))
            seen[name].published.append(len(noisy.values))
    return seen


def errors_of_auto(make: Make, sizes: Sequence[int], runs: int) -> dict[str, Seen]:
    """The same of ``auto``: five runs on the same persons, then others."""
    seen = Seen.nothing(sizes)
    for seed, number in batches(runs):
        sparse = make(seed)
        asked = Asked(sparse, sizes, seed)
        for found in auto_estimates(sparse, number):
            asked.add(seen, found)
    return {AUTO: seen}


def batches(runs: int) -> Iterator[tuple[int, int]]:
    """Seeds of data, and how many runs each has.

    >>> list(batches(12))
    [(0, 5), (1, 5), (2, 2)]
    """
    for seed, first in enumerate(range(0, runs, NOISES)):
        yield seed, min(NOISES, runs - first)


class Asked:
    """The queries of one run, with their true answers."""

    def __init__(self, sparse: Sparse, sizes: Sequence[int], seed: int) -> None:
        self._subsets = Subsets.drawn(sparse.size, sizes, seed)
        self._truth = self._subsets.sums(sparse.truth)

    def add(self, seen: Seen, found: Floats) -> None:
        """Note how far off the estimates are."""
        for size, error in relative(self._subsets.sums(found), self._truth).items():
            seen.errors[size].append(error)


def as_curves(
    panel: str, seen: Mapping[str, Seen], place: Callable[[int], Place] = int
) -> list[Number]:
    """Errors against the size of the subsets, a line for each method."""
    return [
        Number.over(panel, name, place(size), values)
        for name, one in seen.items()
        for size, values in one.errors.items()
    ]


def level(panel: str, line: str, values: Sequence[float], places: Sequence[Place]) -> list[Number]:
    """A line that is the same everywhere: what it shows does not depend on the axis."""
    return [Number.over(panel, line, place, values) for place in places]


# Sums over ranges of cells, from trees of counts, from wavelets and from the cells themselves.

D_GEOMETRIC = "d-geometric"
D_FILTER = "d-filter"
D_PRIORITY = "d-priority"
D_FILTER_PRIORITY = "d-filter-priority"
CHECKED = ", consistent"
"""Of a line: nodes below a dropped one are dropped."""


@dataclass(frozen=True, eq=False)
class Trees:
    """The public side of trees over so many cells."""

    cells: Layout
    size: int
    """S: how many nodes are published."""

    @property
    def nodes(self) -> Table:
        return table_of(self.cells, geometric(), Dyadic(AXIS))

    @property
    def sample(self) -> Table:
        """A priority sample of them."""
        return table_of(self.cells, priority(self.size), Dyadic(AXIS))

    @property
    def wavelet(self) -> Table:
        return table_of(self.cells, geometric(), Haar(AXIS))

    @property
    def tree(self) -> hierarchy.Dyadic:
        found = self.nodes.tree
        if found is None:
            raise TypeError("a dyadic transform has a tree")
        return found

    @classmethod
    def over(cls, cells: int, size: int) -> Trees:
        return cls(ordered(cells), size)

    def filtered(self, sparse: Sparse) -> Summary:
        """The nodes that pass the κ that S gives, with orphans: the product itself drops them."""
        made = self.nodes.transform.apply(sparse.counts, self.cells)
        law = noise_of(self.nodes, self.nodes.price)
        cut = filter_cut(made.size, self.size, law)
        return filter_summary(made, EPSILON, SystemDraws(), cut=cut)

    def noisy(self, summary: Summary) -> NoisyTable:
        """A summary of nodes as a reader has it."""
        found, table = summary.noisy(), self.nodes
        return NoisyTable("cells", table.layout, found.values, table.law, found.facts, found.cells)


def summaries(trees: Trees, sparse: Sparse) -> Mapping[str, NoisyTable]:
    """Filtered nodes and samples of them, with and without their orphans, from the same noise."""
    passed = trees.filtered(sparse)
    found: dict[str, Summary] = {}
    for name, one in (("", passed), (CHECKED, without_orphans(passed, trees.tree))):
        found[D_FILTER + name] = one
        found[D_FILTER_PRIORITY + name] = prioritised(one, trees.size, SystemDraws())
    return {name: trees.noisy(summary) for name, summary in found.items()}


def node_sums(table: NoisyTable, asked: Ranges) -> dict[int, Floats]:
    """Each range as the sum of the fewest nodes that make it up, as the paper answers it."""
    if (
        table.cells is None
    ):  # the reader would fit all nodes to each other, which the paper does not
        table = replace(table, cells=np.arange(table.layout.size))
    found: dict[int, Floats] = {}
    for size, low in asked.low.items():
        answers = range_answers(table, low, low + size)
        if answers is None:
            raise TypeError("nodes of a tree over one axis answer ranges")
        found[size] = answers
    return found


def answers_of(trees: Trees, sparse: Sparse, asked: Ranges) -> dict[str, dict[int, Floats]]:
    """What every method says of each range."""
    counts, draws = sparse.counts, SystemDraws()
    some = summaries(trees, sparse)
    found = {
        GEOMETRIC: asked.sums(estimate(published(sparse, geometric()))),
        D_GEOMETRIC: node_sums(trees.nodes.publish(counts, draws), asked),
        WAVELET: asked.sums(estimate(trees.wavelet.publish(counts, draws))),
        D_PRIORITY: node_sums(trees.sample.publish(counts, draws), asked),
    }
    return found | {name: node_sums(table, asked) for name, table in some.items()}


def range_errors(
    trees: Trees, sparse: Sparse, sizes: Sequence[int], number: int, seed: int
) -> dict[str, dict[int, float]]:
    """By method and size of the ranges, the relative error of one run in percent."""
    asked = Ranges.drawn(sparse.size, sizes, number, seed)
    truth = asked.sums(sparse.truth)
    found = answers_of(trees, sparse, asked)
    return {name: relative(answers, truth) for name, answers in found.items()}


# How long publishing takes, and how much is published: the product's own step, nothing beside it.
#
# Processor seconds of one process, from exact counts to the noisy cells, the choice of all
# parameters included. Where a table has more cells than the product publishes as a whole, there is
# no number.

Way = Callable[[Sparse], int]
"""Publishes a table; returns how many values that gives."""
MOST_CELLS = 150_000_000
"""Of dense methods: larger tables need more memory than a common computer has."""
_WARM = 10_000
AUTO_SHARE = Fraction(93, 100)
"""Of ε, for the cells; the rest is for how long users' rows are."""


@dataclass(frozen=True)
class Timed:
    seconds: float
    """Processor time."""
    values: int


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
        scaled = Counts(
            given.size, given.cells, given.values * GRID, table.bound, table.unit,
            squared=table.squared,
        )  # fmt: skip
        return len(replace(table).publish(scaled, SystemDraws()).values)

    return way


def auto_table(size: int) -> Table:
    """The table of ``auto`` where everybody has one record, over so many cells."""
    first = next(one for one in range(isqrt(size), 0, -1) if size % one == 0)
    domain = Domain(attributes={"first": range(first), "second": range(size // first)})
    people = pa.table({"user": [0], "first": [0], "second": [0]})
    records = declare(people, user="user", attributes=["first", "second"])
    design = Design.of(make_request(records, domain, epsilon=EPSILON.value))
    l1, squared, unit = Scaled(1).bound(design.rows, size)
    price = EPSILON * AUTO_SHARE
    return replace(design.items, price=price, bound=l1, unit=unit, squared=squared, settled=True)
