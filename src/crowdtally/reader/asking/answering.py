"""From a table's rows to an answer, by the estimator that its publishing needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdtally.core.deadline import go_on
from crowdtally.core.hierarchy import Sketching
from crowdtally.errors import UsageError
from crowdtally.format import Published
from crowdtally.format.manifest import TableFacts
from crowdtally.laws.base import Combination, as_counts
from crowdtally.reader import tables
from crowdtally.reader.asking.boxes import Summed, combined, summed
from crowdtally.reader.condition import Box
from crowdtally.reader.estimating.sampled import Estimate, Sampled, weighted_sum
from crowdtally.reader.estimating.sketch import sketch_sum
from crowdtally.reader.lookup import AxisLookup

MOST_SKETCHED = 5_000_000
"""Cells that a question to a sketch may have: it adds them up one by one."""
_DISCOVERED = (
    "the noisy numbers of users of the {cells} that were released; others are not in it, and "
    "those near the threshold are high, or they would not have passed it"
)
ALL_USERS = "the true numbers of users: nobody was left out"
"""What sums are right about where each user counts in every cell."""
_SCALED = "the counts once each user's row was scaled down; the estimate is of all of them"


@dataclass(frozen=True)
class Answer:
    """An answer as a count."""

    estimate: Estimate
    """Value, standard error, and what it is unbiased for."""
    reach: float | None = None
    """Half the width of the noise interval, where noise is all that stands between the answer and
    the truth."""
    table: TableFacts | None = None
    """The table that says all of it, where that is another than the one that was asked."""
    cells: int | None = None
    """How many cells it is the sum of, where the release itself found its cells."""


def answer_from(
    table: TableFacts,
    published: Published,
    lists: Sequence[AxisLookup],
    found: Sequence[Box],
    cells: int,
) -> Answer:
    """The sum over some boxes of a table, which hold so many cells of the domain."""
    path = published.path(table)
    if table.transform.kind == "sketch":
        return _from_sketch(table, path, lists, found, cells)
    questions = [summed(table, lists, box) for box in found]
    of = Combination.of_cells(cells) if table.kind.is_pairs else combined(questions)
    if table.summary is not None:
        return _from_summary(table, path, questions, of)
    if table.is_discovered:
        return _from_found(table, published, path, questions)
    value: float | None = _held_sum(table, path, lists, found)
    if value is None:
        value = sum(tables.total(path, question.rows) for question in questions)
    return _from_all(table, published, value, questions, of)


def _held_sum(
    table: TableFacts, path: Path, lists: Sequence[AxisLookup], found: Sequence[Box]
) -> int | None:
    """The sum from counts in memory, which is much faster than a query; None for other tables."""
    whole_grid = table.is_dense and table.transform.kind == "none" and not table.kind.is_pairs
    if not whole_grid or table.cells > tables.HELD_ROWS:
        return None
    counts = tables.held_counts(path, table.sha256)
    if counts is None or len(counts) != prod(len(axis) for axis in lists):
        return None
    grid = counts.reshape([len(axis) for axis in lists])
    return sum(_sum_within(grid, lists, box) for box in found)


def _sum_within(grid: NDArray[np.int64], lists: Sequence[AxisLookup], box: Box) -> int:
    for place, axis in reversed(list(enumerate(lists))):
        if axis.name in box:
            grid = np.compress(box[axis.name], grid, place)
    return int(grid.sum())


def _from_all(
    table: TableFacts,
    published: Published,
    value: float,
    questions: Sequence[Summed],
    of: Combination,
) -> Answer:
    """From a table of which every listed cell, node or coefficient was published."""
    law = table.law
    words = _dense_words(table, published)
    estimate = Estimate(value, law.std(of), words)
    if not all(question.unweighted for question in questions):
        return Answer(estimate)
    return Answer(estimate, as_counts(law.reach(table.interval_level, of), law.unit))


def _from_found(
    table: TableFacts, published: Published, path: Path, questions: Sequence[Summed]
) -> Answer:
    """From a table of the cells that the release found: others are not in the sum."""
    found = [tables.weighed(path, question.rows)[0] for question in questions]
    cells = sum(map(len, found))
    if not cells:
        raise UsageError(
            "no cell that was released satisfies the condition: each of them has a noisy number of "
            f"users below the threshold, {table.discovery_threshold}, or none at all."
        )
    law, of = table.law, Combination.of_cells(cells)
    value = sum(int(counts.sum(dtype=object)) for counts in found)
    estimate = Estimate(value, law.std(of), _dense_words(table, published))
    return Answer(estimate, as_counts(law.reach(table.interval_level, of), law.unit), cells=cells)


def _dense_words(table: TableFacts, published: Published) -> str:
    """What the sums of a dense table are unbiased for."""
    if table.is_discovered:
        return _DISCOVERED.format(cells="cells" if table.axes[1:] else "items")
    if table.law.per_cell:
        return ALL_USERS
    if published.auto is not None:
        return _SCALED
    return Sampled.of(table).unbiased_for()


def _from_summary(
    table: TableFacts, path: Path, questions: Sequence[Summed], of: Combination
) -> Answer:
    """From a table of which some cells were left out."""
    found = [tables.weighed(path, question.rows) for question in questions]
    counts = np.concatenate([counts for counts, _, _ in found])
    weights = np.concatenate([weights for _, weights, _ in found])
    return Answer(weighted_sum(in_units(table, counts), weights, of, Sampled.of(table)))


def in_units(table: TableFacts, counts: NDArray[Any]) -> NDArray[np.float64]:
    """Published counts in the table's units, which are whole."""
    return np.rint(counts / float(table.law.unit))


def _from_sketch(
    table: TableFacts, path: Path, lists: Sequence[AxisLookup], found: Sequence[Box], cells: int
) -> Answer:
    """From the buckets of a sketch, cell by cell."""
    if cells > MOST_SKETCHED:
        raise UsageError(
            f"a sketch adds up cells one by one, at most {MOST_SKETCHED}: the condition has "
            f"{cells}. Ask for fewer cells."
        )
    facts, size = table.transform, prod(len(axis) for axis in lists)
    sketching = Sketching(size, facts.buckets, facts.rows, facts.seed)
    numbers = np.concatenate([_numbers(box, lists, size) for box in found])
    buckets = in_units(table, tables.column(path, "count"))
    sum_, unit = sketch_sum(buckets, numbers, sketching), table.law.unit
    return Answer(
        Estimate(
            as_counts(sum_.value, unit), as_counts(sum_.standard_error, unit), sum_.unbiased_for
        )
    )


def _numbers(box: Box, lists: Sequence[AxisLookup], size: int) -> NDArray[Any]:
    """The numbers of a box's cells: mixed radix, the last axis fastest."""
    kind = np.int64 if size <= 1 << 63 else object
    numbers: NDArray[Any] = np.zeros(1, dtype=kind)
    for axis in lists:
        go_on()
        codes = np.arange(len(axis)) if axis.name not in box else np.flatnonzero(box[axis.name])
        numbers = np.add.outer(numbers * len(axis), codes.astype(kind)).ravel()
    return numbers


def shown(value: float) -> str:
    """For people: a tenth of a person is more than any answer knows.

    >>> shown(4231.02437), shown(-12.0), shown(2.0**40), shown(8.800000000000001), shown(-0.01)
    ('4231', '-12', '1099511627776', '8.8', '0')
    """
    tenths = f"{float(value):.1f}".removesuffix(".0")
    return "0" if tenths == "-0" else tenths
