"""The noisy part of a top list: each item's count as released, and the noise it carries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from crowdtally.errors import UsageError
from crowdtally.format.manifest import TableFacts
from crowdtally.laws.base import Combination, as_counts
from crowdtally.reader import tables
from crowdtally.reader.asking.answering import in_units
from crowdtally.reader.asking.boxes import Summed, leaves, summed
from crowdtally.reader.asking.floor import floor_of
from crowdtally.reader.axes import Axes
from crowdtally.reader.estimating.sampled import Sampled, weighted_sum
from crowdtally.reader.lookup import AxisLookup, Mask
from crowdtally.reader.tables import Weights

MOST = 2**62
"""More lines than any release has: what SQL takes as a limit."""
Found = tuple[Any, float, float]
"""An item, its count as it stands, and what it counts for."""


@dataclass(frozen=True)
class NoisyLine:
    """What was released about one item."""

    item: str | int
    """The item."""
    count: float
    """Its noisy count."""
    noise_std: float
    """Standard deviation of the noise in it."""
    low: float | None
    high: float | None
    """The noise interval; None where counts enter by weights."""
    stands_for: float
    """What the count stands for: the same, but where cells were sampled at least the threshold."""
    standard_error: float
    """How far that typically is from what it is unbiased for."""


@dataclass(frozen=True, eq=False)
class NoisyLines:
    """A question to a table that is asked for each item."""

    table: TableFacts
    """The table."""
    path: Path
    """Its file."""
    sampled: Sampled
    """How its cells were chosen."""
    question: Summed
    """What is summed for an item."""
    column: str
    """The column that names items."""
    rows: list[Weights]
    """The rows that count."""
    once: bool
    """Whether each item has one row, and all rows count."""
    floor: float
    """What the largest count rarely exceeds by noise alone."""

    @classmethod
    def of(
        cls, axes: Axes, table: TableFacts, item: AxisLookup, box: Mapping[str, Mask]
    ) -> NoisyLines:
        """The question that a top list asks of a table, for these values of contexts."""
        lists = axes.of(table)
        question = summed(table, lists, box).at_each(0)
        column, rows = _item_rows(table, item, question)
        return cls(
            table, axes.published.path(table), Sampled.of(table), question, column, rows,
            len(lists) == 1 and not rows, floor_of(table, len(item), question),
        )  # fmt: skip

    def largest(self, k: int) -> list[Found]:
        """The k items of the largest counts."""
        least = self.sampled.threshold * float(self.table.law.unit)
        once = self.once or (self._has_all_axes and all(one.is_one_value for one in self.rows))
        return tables.largest(self.path, self.rows, self.column, least, min(k, MOST), once=once)

    @property
    def _has_all_axes(self) -> bool:
        """Whether each axis beside the items' is picked from, so that one row of an item can be."""
        return self.table.transform.kind == "none" and len(self.rows) == len(self.question.parts)

    def named(self, names: Sequence[Any]) -> list[Found]:
        """These items, in this order, as far as they were published."""
        if not names:
            return []
        least = self.sampled.threshold * float(self.table.law.unit)
        chosen = Weights({self.column: np.array(names, dtype=object)})
        found = tables.largest(
            self.path, [*self.rows, chosen], self.column, least, len(names), once=False
        )
        by_name = {one[0]: one for one in found}
        return [by_name[name] for name in names if name in by_name]

    def lines(self, found: Sequence[Found]) -> list[NoisyLine]:
        """The lines for the items that were found."""
        noise = cache(self._noise)  # many lines have the same
        if self.table.is_discovered and not self.once:
            errors = [(noise(of)[0], of) for of in self._found_cells([one[0] for one in found])]
        elif self.table.summary is None:
            of = self.question.combination
            errors = [(noise(of)[0], of)] * len(found)
        else:
            errors = self._sampling_errors([name for name, _, _ in found])
        lines = []
        for (name, count, stands_for), (error, of) in zip(found, errors, strict=True):
            std, reach = noise(of)
            low, high = (None, None) if reach is None else (count - reach, count + reach)
            lines.append(NoisyLine(name, count, std, low, high, stands_for, error))
        return lines

    def _noise(self, of: Combination) -> tuple[float, float | None]:
        """The standard deviation of the noise in such a sum, and half its interval's width."""
        law, level = self.table.law, self.table.interval_level
        if not self.question.unweighted:
            return law.std(of), None
        return law.std(of), as_counts(law.reach(level, of), law.unit)

    def _found_cells(self, names: list[Any]) -> list[Combination]:
        """For each item, of how many cells that the release found its count is the sum."""
        if not names:
            return []
        chosen = Weights({self.column: np.array(names, dtype=object)})
        _, _, owners = tables.weighed(self.path, [*self.rows, chosen], self.column)
        cells = Counter([] if owners is None else owners.tolist())
        return [Combination.of_cells(cells[name]) for name in names]

    def _sampling_errors(self, names: list[Any]) -> list[tuple[float, Combination]]:
        """For each item: the standard error of its estimate, and its published cells' weights."""
        if not names:
            return []
        chosen = Weights({self.column: np.array(names, dtype=object)})
        counts, weights, owners = tables.weighed(self.path, [*self.rows, chosen], self.column)
        values, errors = in_units(self.table, counts), []
        for name in names:
            own = np.flatnonzero(owners == name)
            sum_ = weighted_sum(values[own], weights[own], self.question.combination, self.sampled)
            squares, total = float((weights[own] ** 2).sum()), float(weights[own].sum())
            errors.append((sum_.standard_error, Combination(squares, total)))
        return errors


def _item_rows(table: TableFacts, item: AxisLookup, question: Summed) -> tuple[str, list[Weights]]:
    """The column that names items, and the rows that are about single ones."""
    transform = table.transform
    if transform.kind == "sketch" or (transform.kind == "haar" and item.name in transform.ordered):
        raise UsageError(
            f"this release holds its items as a {transform.kind} transform, which has no list "
            "to rank: ask for the sum of each item, with `crowdtally sum RELEASE --where "
            "CONDITION`."
        )
    if item.name in transform.ordered:
        return f"{item.name}_first", [*question.rows, leaves(item)]
    return item.name, question.rows
