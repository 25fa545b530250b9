"""What Figures 6 and 7 have in common: time, output and accuracy on a real table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from crowdtally.curator.publishing.publishing import Publishing
from crowdtally.lab.compared.pictures.axes import Axis
from crowdtally_research.reproducing.datasets import Data
from crowdtally_research.reproducing.figure import Given, Panel, Part
from crowdtally_research.reproducing.numbers import Number
from crowdtally_research.reproducing.papers.cormode.accuracy import (
    as_curves,
    errors_of,
    errors_of_auto,
)
from crowdtally_research.reproducing.papers.cormode.real import blocks, profiles, tracts
from crowdtally_research.reproducing.papers.cormode.sparse import Sparse
from crowdtally_research.reproducing.papers.cormode.timing import timed, ways_of
from crowdtally_research.reproducing.papers.cormode.ways import (
    FILTER,
    FILTER_PRIORITY,
    GEOMETRIC,
    PRIORITY,
    THRESHOLD,
    filter_priority,
    filtering_to,
    geometric,
    priority,
)

TIME, OUTPUT, ERROR, TABLE = "a", "b", "c", "data"
DOMAIN, OCCUPIED, PERSONS = "cells", "occupied", "persons"
DATA = "data"
PUBLISHED = "publishing"
SHARES = (0.1, 0.5, 1.0, 5.0, 10.0, 25.0)
"""Of all cells, in percent: how many a query sums."""
_TABLES: Mapping[str, Callable[[Data], Sparse]] = {
    "blocks": blocks, "tracts": tracts, "profiles": profiles
}  # fmt: skip


def cost(given: Given, *, table: str, runs: int) -> list[Number]:
    """Time and output of all methods, with summaries of as many cells as are occupied."""
    sparse = _TABLES[table](given.data)
    ways = dict(ways_of(sparse, len(sparse.cells), wavelet=False))
    del ways[THRESHOLD]
    found: list[Number] = []
    for name, seen in timed(sparse, ways, runs).items():
        found += [
            Number.over(TIME, name, PUBLISHED, [one.seconds for one in seen]),
            Number.over(OUTPUT, name, PUBLISHED, [float(one.values) for one in seen]),
        ]
    about = {DOMAIN: sparse.size, OCCUPIED: len(sparse.cells), PERSONS: sparse.persons}
    return found + [Number(TABLE, DATA, what, float(many)) for what, many in about.items()]


def accuracy(given: Given, *, table: str, size: int, cut: int | None, runs: int) -> list[Number]:
    """Subset sums, with summaries of ``size`` cells."""
    sparse = _TABLES[table](given.data)
    ways: dict[str, Publishing] = {
        GEOMETRIC: geometric(),
        FILTER: filtering_to(size),
        PRIORITY: priority(size),
        FILTER_PRIORITY: filter_priority(size, cut),
    }
    sizes = _sizes(sparse)
    seen = errors_of(ways, lambda _: sparse, list(sizes), runs)
    return as_curves(ERROR, seen, sizes.__getitem__)


def auto(given: Given, *, table: str, runs: int) -> list[Number]:
    """The same queries, answered by ``auto``."""
    sparse = _TABLES[table](given.data)
    sizes = _sizes(sparse)
    seen = errors_of_auto(lambda _: sparse, list(sizes), runs)
    return as_curves(ERROR, seen, sizes.__getitem__)


def _sizes(sparse: Sparse) -> dict[int, float]:
    """How many cells a query sums, and which share of all that is."""
    return {round(share / 100 * sparse.size): share for share in SHARES}


def parts_of(
    figure: str, dataset: str, timed_on: str, asked: Mapping[str, object], *, quick: bool
) -> Sequence[Part]:
    """The work of one of the two figures."""
    table = {"table": asked["table"]}
    runs, fewer, few = (2, 2, 2) if quick else (50, 20, 5)
    return [
        Part(f"{figure}-cost", cost, {"table": timed_on, "runs": few}, (dataset,), is_timed=True),
        Part(f"{figure}-accuracy", accuracy, {**asked, "runs": runs}, (dataset,)),
        Part(f"{figure}-auto", auto, {**table, "runs": fewer}, (dataset,)),
    ]


def panels_of(timed_on: str, summed: str) -> tuple[Panel, ...]:
    """The three panels of the paper, and what the table is like."""
    return (
        Panel(TIME, f"a: time, {timed_on}", Axis("step", False), Axis("processor seconds", True),
              is_bars=True),
        Panel(OUTPUT, f"b: output, {timed_on}", Axis("step", False), Axis("published values", True),
              is_bars=True),
        Panel(ERROR, f"c: error, {summed}", Axis("% of all cells that a query sums", True),
              Axis("error, % of the true sum", True)),
        Panel(TABLE, f"the data: {timed_on}", Axis("what", False), Axis("number", True),
              is_bars=True),
    )  # fmt: skip
