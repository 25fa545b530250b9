"""Sums over boxes of cells, from published cells, nodes, coefficients or buckets.

The weight of a published cell is the product of its weights on each axis. So a sum over a box is
one question to the table. The error needs Σ weight² and Σ weight over all cells, published or
dropped: these are products too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import hypot, prod, sqrt
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdtally.core.deadline import go_on
from crowdtally.core.hierarchy import DyadicAxis, Sketching, consistent, range_weights
from crowdtally.errors import UsageError
from crowdtally.format import Published
from crowdtally.format.manifest import TableFacts
from crowdtally.laws.base import Combination, as_counts
from crowdtally.reader import tables
from crowdtally.reader.axes import Axes, AxisLookup, Mask
from crowdtally.reader.conditions import Box
from crowdtally.reader.estimates.cell_sums import Estimate, Sampled, sketch_sum, weighted_sum
from crowdtally.reader.estimates.facts import short_rows
from crowdtally.reader.tables import FEW, Weights

_LARGEST = 1e150


@dataclass(frozen=True, eq=False)
class Parts:
    """The part of one axis in a sum."""

    rows: Weights | None
    """Which values, nodes or coefficients count, and what; None where all values count 1."""
    squares: float
    """Σ weight² over them, published or not."""
    total: float
    """Σ weight over the same."""

    @classmethod
    def of(cls, rows: Weights, count: int) -> Parts:
        """Of so many, each with the weight that ``rows`` says."""
        if rows.weights is None:
            return cls(rows, count, count)
        return cls(rows, float((rows.weights**2).sum()), float(rows.weights.sum()))

    @property
    def unweighted(self) -> bool:
        return self.rows is None or self.rows.weights is None


@dataclass(frozen=True, eq=False)
class Summed:
    """A box, as a question to a table."""

    parts: tuple[Parts, ...]
    items: int = 1
    """How many of them, the first ones, are no contexts: 1, or 0 in a question about one item."""

    @property
    def rows(self) -> list[Weights]:
        return [part.rows for part in self.parts if part.rows is not None]

    @property
    def combination(self) -> Combination:
        """The weights of all published or dropped cells."""
        squares = [float(part.squares) for part in self.parts]
        totals = [float(part.total) for part in self.parts]
        # Of one block, which is a combination of contexts, all cells have the contexts' weight.
        of_items = prod(totals[: self.items])
        within = of_items * of_items * prod(squares[self.items :])
        return Combination(prod(squares), prod(totals), within)  # infinite beyond 1e308

    def at_each(self, axis: int) -> Summed:
        """The same without one axis: a question for each of its values."""
        return Summed(self.parts[:axis] + self.parts[axis + 1 :], self.items - (axis < self.items))

    @property
    def unweighted(self) -> bool:
        return all(part.unweighted for part in self.parts)


def combined(questions: Iterable[Summed]) -> Combination:
    """The weights of several boxes that have no cell in common, held where their square is finite.

    >>> combined([])
    Combination(squares=0.0, total=0.0, within=0.0)
    """
    found = [question.combination for question in questions]
    # Boxes may share contexts: at most their roots add up (Cauchy and Schwarz).
    roots = sum(sqrt(one.within or 0.0) for one in found) + 0.0
    return Combination(
        min(sum(one.squares for one in found) + 0.0, _LARGEST**2),
        max(min(sum(one.total for one in found) + 0.0, _LARGEST), -_LARGEST),
        min(roots, _LARGEST) ** 2,
    )


def summed(table: TableFacts, axes: Sequence[AxisLookup], box: Box) -> Summed:
    """The question that the sum over a box is, to a table that is not a sketch."""
    ordered = [axis.name for axis in axes if axis.name in table.transform.ordered]
    parts = []
    for axis in axes:
        mask = box.get(axis.name)
        if axis.name not in ordered:
            parts.append(_values(axis, mask))
        elif table.transform.kind == "haar":
            parts.append(_along(axis, mask, _coefficients, table.is_dense))
        elif table.is_dense and len(ordered) == 1:
            # All nodes of one tree, of one variance each: least squares, at no cost.
            parts.append(_along(axis, mask, _fitted, table.is_dense))
        else:
            parts.append(_along(axis, mask, _nodes, table.is_dense))
    return Summed(tuple(parts))


def leaves(axis: AxisLookup) -> Weights:
    """The rows of a tree that are single values of an ordered axis."""
    return Weights(_names(axis, np.arange(len(axis)) + DyadicAxis(len(axis)).leaves - 1))


def _values(axis: AxisLookup, mask: Mask | None) -> Parts:
    if mask is None:
        return Parts(None, len(axis), len(axis))
    count = int(mask.sum())
    left_out = len(axis) - count
    if 0 < left_out <= FEW < count:  # shorter said by what is not in it
        rows = Weights({axis.name: axis.axis.values[~mask]}, others=True)
    else:
        rows = Weights({axis.name: axis.axis.values[mask]})
    return Parts.of(rows, count)


Runs = Sequence[tuple[int, int]]
"""Half-open runs of positions on a padded axis."""


def _along(
    axis: AxisLookup, mask: Mask | None, how: Callable[[AxisLookup, Runs], Parts], dense: bool
) -> Parts:
    """The part of an ordered axis.

    A run to the end of the list may go on to the end of the padding, where nobody is. Then fewer
    nodes or coefficients make it up, so fewer can have been dropped. In a dense table both ways are
    right: take that of the smaller error.
    """
    tree = DyadicAxis(len(axis))
    runs = _runs(np.ones(len(axis), dtype=np.bool_) if mask is None else mask)
    parts = how(axis, [(low, tree.leaves if high == len(axis) else high) for low, high in runs])
    return min(parts, how(axis, runs), key=lambda one: one.squares) if dense else parts


def _runs(mask: Mask) -> list[tuple[int, int]]:
    steps = np.diff(np.concatenate(([0], mask.astype(np.int8), [0])))
    starts, ends = np.flatnonzero(steps == 1).tolist(), np.flatnonzero(steps == -1).tolist()
    return list(zip(starts, ends, strict=True))


def _cover(axis: AxisLookup, runs: Runs) -> NDArray[np.int64]:
    """The fewest nodes whose leaves, padding included, are these runs."""
    tree = DyadicAxis(DyadicAxis(len(axis)).leaves)
    return np.array([node for low, high in runs for node in tree.cover(low, high)], dtype=np.int64)


def _nodes(axis: AxisLookup, runs: Runs) -> Parts:
    nodes = _cover(axis, runs)
    return Parts.of(Weights(_names(axis, nodes)), len(nodes))


def _fitted(axis: AxisLookup, runs: Runs) -> Parts:
    """All nodes, with the weights of the least-squares sum.

    Least squares projects the nodes onto the trees whose nodes are the sums of their children. A
    projection is symmetric, so the weights of a fitted sum are the fit of the nodes' indicator.
    """
    indicator = np.zeros(DyadicAxis(len(axis)).nodes)
    indicator[_cover(axis, runs)] = 1
    weights = consistent(indicator)
    needed = np.flatnonzero(weights)
    return Parts.of(Weights(_names(axis, needed), weights[needed]), len(needed))


def _names(axis: AxisLookup, nodes: NDArray[np.int64]) -> dict[str, NDArray[np.int64]]:
    """The columns that name nodes, from their numbers in a heap whose root is 0."""
    levels = np.array([int(node + 1).bit_length() - 1 for node in nodes.tolist()], dtype=np.int64)
    return {f"{axis.name}_level": levels, f"{axis.name}_place": nodes + 1 - (1 << levels)}


def _coefficients(axis: AxisLookup, runs: Runs) -> Parts:
    levels = DyadicAxis(len(axis)).levels
    added: Counter[int] = Counter()
    for low, high in runs:
        added.update(range_weights(levels, low, high))
    needed = {place: weight for place, weight in added.items() if weight}
    weights = np.array(list(needed.values()), dtype=np.float64)
    keys = {f"{axis.name}_coefficient": np.array(list(needed), dtype=np.int64)}
    return Parts.of(Weights(keys, weights), len(weights))


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
    estimate: Estimate
    """Value, standard error, and what it is unbiased for."""
    reach: float | None = None
    """Half the width of the noise interval, where noise is all that stands between the answer and
    the truth."""
    cells: int | None = None
    """How many cells it is the sum of, where the release itself found its cells."""


def answer_from(axes: Axes, table: TableFacts, found: Sequence[Box], cells: int) -> Answer:
    """The sum over some boxes of a table, which hold so many cells of the domain."""
    own = _of_one_table(axes, table, found, cells)
    short = short_rows(axes.published, table)
    if short is None:
        return own
    other = _of_one_table(axes, short, found, cells)
    value = own.estimate.value + other.estimate.value
    error = hypot(own.estimate.standard_error, other.estimate.standard_error)
    both = replace(own.estimate, value=value, standard_error=error)
    if own.reach is None or other.reach is None:
        return Answer(both)
    # Reaches add up as errors do: exactly so of normal noise, and of Laplace noise at 95% the sum
    # of two stays within it a little more often.
    return Answer(both, hypot(own.reach, other.reach))


def _of_one_table(axes: Axes, table: TableFacts, found: Sequence[Box], cells: int) -> Answer:
    published, lists = axes.published, axes.axes_of(table)
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
    if all(question.unweighted for question in questions):
        return _with_noise(table, published, value, of)
    return Answer(Estimate(value, table.law.std(of), _dense_words(table, published)))


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


def _with_noise(table: TableFacts, published: Published, value: float, of: Combination) -> Answer:
    """A sum of published counts, of which nothing is unknown but their noise."""
    law = table.law
    estimate = Estimate(value, law.std(of), _dense_words(table, published))
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
    value = sum(int(counts.sum(dtype=object)) for counts in found)
    return replace(_with_noise(table, published, value, Combination.of_cells(cells)), cells=cells)


def _dense_words(table: TableFacts, published: Published) -> str:
    if table.is_discovered:
        return _DISCOVERED.format(cells="cells" if table.axes[1:] else "items")
    if table.law.per_cell:
        return ALL_USERS
    return _SCALED if published.auto is not None else Sampled.of(table).unbiased_for()


def _from_summary(
    table: TableFacts, path: Path, questions: Sequence[Summed], of: Combination
) -> Answer:
    found = [tables.weighed(path, question.rows)[:2] for question in questions]
    counts, weights = map(np.concatenate, zip(*found, strict=True))
    return Answer(weighted_sum(in_units(table, counts), weights, of, Sampled.of(table)))


def in_units(table: TableFacts, counts: NDArray[Any]) -> NDArray[np.float64]:
    """Published counts in the table's units, which are whole."""
    return np.rint(counts / float(table.law.unit))


def _from_sketch(
    table: TableFacts, path: Path, lists: Sequence[AxisLookup], found: Sequence[Box], cells: int
) -> Answer:
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
    value, error = as_counts(sum_.value, unit), as_counts(sum_.standard_error, unit)
    return Answer(Estimate(value, error, sum_.unbiased_for))


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
