"""Figure 8: ranges, from trees and wavelets."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

from crowdtally.curator.publishing.priority import prioritised
from crowdtally.lab.compared.pictures.axes import Axis
from crowdtally.noise.draws import SystemDraws
from crowdtally_research.reproducing.datasets import Data
from crowdtally_research.reproducing.figure import AUTO, Figure, Given, Panel, Part
from crowdtally_research.reproducing.numbers import Number
from crowdtally_research.reproducing.papers.cormode.accuracy import batches
from crowdtally_research.reproducing.papers.cormode.claims8 import (
    CHECKED_UNIFORM,
    CLAIMS,
    CONSISTENT,
    SKEWED,
    TIME,
    UNIFORM,
)
from crowdtally_research.reproducing.papers.cormode.noting import AUTO_NOTE, TIME_NOTE
from crowdtally_research.reproducing.papers.cormode.persons import auto_estimates
from crowdtally_research.reproducing.papers.cormode.queries import PERCENT, Ranges, relative
from crowdtally_research.reproducing.papers.cormode.ranges import (
    CHECKED,
    D_FILTER,
    D_FILTER_PRIORITY,
    D_GEOMETRIC,
    D_PRIORITY,
    Trees,
    range_errors,
)
from crowdtally_research.reproducing.papers.cormode.sparse import Sparse, clustered, uniform
from crowdtally_research.reproducing.papers.cormode.ways import WAVELET

SIZES = (100, 1_000, 10_000, 30_000, 100_000, 300_000)
_QUERIES = 200
_MAKERS = {UNIFORM: uniform, SKEWED: clustered}
_CONSISTENT = {UNIFORM: CHECKED_UNIFORM, SKEWED: CONSISTENT}
_BOTH = (D_FILTER, D_FILTER_PRIORITY)


def _sizes(cells: int) -> list[int]:
    return [max(size * cells // 1_000_000, 1) for size in SIZES]


def ranges(given: Given, *, panel: str, cells: int, runs: int) -> list[Number]:
    """One kind of data: its panel, and the one that shows what consistency does to it."""
    trees, sizes = Trees.over(cells, cells // 10), _sizes(cells)
    seen: dict[str, dict[int, list[float]]] = {}
    for run in range(runs):
        sparse = _MAKERS[panel](cells, cells // 10, 20, run)
        for line, errors in range_errors(trees, sparse, sizes, _QUERIES, run).items():
            for size, error in errors.items():
                seen.setdefault(line, {}).setdefault(size, []).append(error)
    found = [
        Number.over(panel, line, size, values)
        for line, by_size in seen.items()
        if not line.endswith(CHECKED)
        for size, values in by_size.items()
    ]
    return found + [
        Number.over(_CONSISTENT[panel], line, size, left(seen[line + CHECKED][size], values))
        for line in _BOTH
        for size, values in seen[line].items()
    ]


def left(checked: Sequence[float], plain: Sequence[float]) -> list[float]:
    """What consistency leaves of the error of each run, in percent.

    >>> left([3.0, 1.0], [4.0, 4.0])
    [75.0, 25.0]
    """
    return [PERCENT * one / other for one, other in zip(checked, plain, strict=True)]


def auto(given: Given, *, panel: str, cells: int, runs: int) -> list[Number]:
    """The same ranges, answered by ``auto``: sums of its estimates of cells."""
    seen: dict[int, list[float]] = {size: [] for size in _sizes(cells)}
    for seed, number in batches(runs):
        sparse = _MAKERS[panel](cells, cells // 10, 20, seed)
        asked = Ranges.drawn(cells, list(seen), _QUERIES, seed)
        truth = asked.sums(sparse.truth)
        for found in auto_estimates(sparse, number):
            for size, error in relative(asked.sums(found), truth).items():
                seen[size].append(error)
    return [Number.over(panel, AUTO, size, values) for size, values in seen.items()]


def seconds(given: Given, *, cells: int, power: int, runs: int) -> list[Number]:
    """How long the methods on trees take, where one of 10^power cells is occupied."""
    occupied = cells // 10**power
    sparse, trees = uniform(cells, occupied, 20, power), Trees.over(cells, occupied)
    seen: dict[str, list[float]] = {}
    for run in range(runs + 1):
        for line, way in _timed(trees, sparse).items():
            start = time.process_time()
            way()
            spent = time.process_time() - start
            if run:  # the first one also loads code
                seen.setdefault(line, []).append(spent)
    return [Number.over(TIME, line, 10.0**-power, values) for line, values in seen.items()]


def _timed(trees: Trees, sparse: Sparse) -> Mapping[str, Callable[[], object]]:
    counts, draws = sparse.counts, SystemDraws()
    return {
        D_GEOMETRIC: lambda: trees.nodes.publish(counts, draws),
        WAVELET: lambda: trees.wavelet.publish(counts, draws),
        D_PRIORITY: lambda: trees.sample.publish(counts, draws),
        D_FILTER: lambda: trees.filtered(sparse),
        D_FILTER_PRIORITY: lambda: prioritised(trees.filtered(sparse), trees.size, draws),
    }


def _parts(data: Data, quick: bool) -> Sequence[Part]:
    cells = 10_000 if quick else 1_000_000
    more, fewer, few = (2, 2, 2) if quick else (50, 20, 5)
    own = [
        Part(f"figure8-{panel}", ranges, {"panel": panel, "cells": cells, "runs": more})
        for panel in _MAKERS
    ]
    ours = [
        Part(f"figure8-{panel}-auto", auto, {"panel": panel, "cells": cells, "runs": fewer})
        for panel in _MAKERS
    ]
    times = [
        Part(
            f"figure8-time-{power}", seconds, {"cells": cells, "power": power, "runs": few},
            is_timed=True,
        )
        for power in (1, 2, 3)
    ]  # fmt: skip
    return [*own, *ours, *times]


_ERROR = Axis("error, % of the true sum", True)
_LEFT = Axis("error that is left, % of that without", False, (50.0, 110.0))
_RANGE = Axis("cells of a range", True)

FIGURE = Figure(
    "8",
    "Error of range sums, from trees and wavelets",
    "Paper and we: 1,000,000 cells of which 100,000 are occupied, counts N(100, 20), ε = 0.1, "
    "summaries of 100,000 nodes. Skewed: the occupied cells lie in clusters; ours are 100 clusters "
    "around random places, because the paper does not say how its own were made.",
    "Trees and wavelets have the same absolute error at every size, so their relative error falls "
    "tenfold with each tenfold range, and geometric's less. On skewed data filters win. In c, "
    "dropping nodes below dropped ones leaves less of the error on skewed data, and nearly all of "
    "it on uniform data.",
    (
        Panel(UNIFORM, "a: uniform data", _RANGE, _ERROR),
        Panel(SKEWED, "b: skewed data", _RANGE, _ERROR),
        Panel(CONSISTENT, "c: consistency, skewed data", _RANGE, _LEFT),
        Panel(CHECKED_UNIFORM, "c: consistency, uniform data", _RANGE, _LEFT),
        Panel(TIME, "time (section 5.3)", Axis("density", True), Axis("processor seconds", True)),
    ),
    CLAIMS,
    _parts,
    (
        "A tree of 2^20 leaves has 21 levels, so its noise is that of 21 counts; the paper's log m "
        "is one short. Wavelets are integer coefficients with the same noise.",
        "Ranges of d-geometric are sums of the fewest nodes, as in the paper. The product's reader "
        "would fit all nodes to each other, which is better. Its d-filter always drops orphans: in "
        "a and b, as in the paper, they are kept.",
        "The κ of d-filter and d-filter-priority is the one at which 100,000 empty nodes are "
        "expected to pass. Without their orphans fewer are left, so that nothing is sampled away "
        "and both are one. The paper does not say its κ: a smaller one lets more noise pass, of "
        "which the rule then takes more away. With 10 or 1,000 clusters instead of 100 the gain is "
        "alike.",
        "50 runs, 200 random ranges of each size in each; auto: 20 runs, five on each of four "
        "tables.",
        AUTO_NOTE,
        TIME_NOTE,
    ),
)
