"""Top lists: their lines, the noisy counts in them, and the noise floor."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import hypot
from pathlib import Path
from typing import Any

import numpy as np

from crowdtally.errors import UsageError
from crowdtally.format.manifest import TableFacts
from crowdtally.laws.base import Combination, Terms, as_counts
from crowdtally.reader import tables
from crowdtally.reader.answers.answer import AnswerList, AnswerRow
from crowdtally.reader.axes import Axes, AxisLookup, Mask
from crowdtally.reader.estimates.cell_sums import Sampled, weighted_sum
from crowdtally.reader.estimates.facts import short_rows
from crowdtally.reader.questions.noisy_sums import Parts, Summed, in_units, leaves, shown, summed
from crowdtally.reader.questions.text import printed, top_line, top_table
from crowdtally.reader.tables import Weights


@dataclass(frozen=True)
class TopItem(AnswerRow):
    """One line of a top list."""

    rank: int
    """1 for the largest estimate; equal ones keep the order of their noisy counts, then of the item
    list."""
    item: str | int
    """The item."""
    estimate: float
    """What its count is believed to be, from all that the release says; with ``raw``, or where
    cells have no estimates of their own, what ``count`` alone stands for: the same, but where cells
    were sampled at least the threshold."""
    estimate_low: float | None
    """The lower end of the 95% interval of the estimate; None where counts enter by weights."""
    estimate_high: float | None
    """Its upper end."""
    covers: str
    """What that interval covers: the true counts, the bounded counts, or the noise only."""
    median: float | None
    """As likely too large as too small: for small counts nearer than ``estimate``, which is the
    mean. None with ``raw``."""
    chance_in_top: float | None
    """How likely the item is one of the k largest, k being how many were asked for; None with
    ``raw``, and where only selected items were measured: others are not known."""
    count: float | None
    """Its noisy count, as released: it can be negative. Whole, unless rows were scaled. None where
    items in contexts have no noisy counts, only estimates."""
    noise_std: float | None
    """Standard deviation of the noise in ``count``."""
    low: float | None
    """``count`` less the half width of the noise interval; None where counts enter by weights."""
    high: float | None
    """``count`` plus the same."""
    standard_error: float
    """How far ``estimate`` typically is from what it is an estimate of."""
    floor: float | None
    """The noise floor of the list: where nobody is counted, the largest count of all items exceeds
    it with a probability of at most 5%."""
    above_floor: bool
    """Whether ``count`` is above it, or what else was measured shows that somebody is counted; else
    the item is not told apart from noise."""


@dataclass(frozen=True)
class TopList(AnswerList[TopItem]):
    """The answer to ``top``: a sequence of :class:`TopItem`."""

    rows: tuple[TopItem, ...]
    """The items, largest estimate first; fewer than asked for where fewer were published."""
    counted: str
    """What a count counts: records or users."""
    floor: float | None
    """The noise floor, the same for all items; None where there are no noisy counts."""
    ranked: int
    """How many items there are to rank, published or not: the floor follows from it."""
    floor_words: str
    """What the floor is, in a sentence."""
    what_counts: str
    """What is counted of one user, and what noise intervals do not cover, in a sentence."""
    estimate_words: str
    """What the estimates are estimates of, in a sentence or two."""
    k: int | None = None
    """How many were asked for, at most as many as there are items: ``chance_in_top`` refers to it.
    None: as many as there are lines."""

    @classmethod
    def row_type(cls) -> type[TopItem]:
        return TopItem

    @property
    def notes(self) -> list[str]:
        shows_noise = not self.rows or any(row.count is not None for row in self.rows)
        told = (self.estimate_words, self.floor_words, self.what_counts if shows_noise else "")
        return [one for one in told if one]

    def __repr__(self) -> str:
        return top_line(self.rows, self.counted)

    def _repr_html_(self) -> str:
        return top_table(self.rows, self.counted, self.notes, self.labelled)

    def __str__(self) -> str:
        return "\n".join([*printed(self.rows, self.floor, self.k, self.labelled), *self.notes])


# The noise floor: the count that pure noise rarely exceeds, from public numbers alone.


def floor_of(table: TableFacts, items: int, question: Summed) -> float:
    """The count that the largest of a list exceeds with at most 5% where nobody is counted.

    Each of ``items`` public items is a line, published or not, and sums the cells of ``question``.
    No two lines share a cell, so they are independent.
    """
    law = table.law
    floor = law.floor(items, _terms(table, question))
    if table.discovery_threshold is not None:
        # No cell there is pure noise, and none is below the threshold.
        floor = max(floor, table.discovery_threshold - 1)
    return float(as_counts(floor, law.unit)) if law.unit != 1 else floor


def floor_of_cells(table: TableFacts, cells: int) -> float:
    """The same for so many cells of a table, each a line by itself."""
    return float(as_counts(table.law.floor(cells), table.law.unit))


def floor_words(table: TableFacts, items: int, floor: float) -> str:
    if table.discovery_threshold is not None:
        cell = "item in context" if table.axes[1:] else "item"
        return (
            f"Noise floor {shown(floor)}: each {cell} here has a user, and was released "
            f"because its noisy number of users is at least {table.discovery_threshold}; the "
            f"largest noise on {items} items exceeds the floor with a probability of at most 5%."
        )
    largest = "that count" if items == 1 else f"the largest of {items} such counts"
    return (
        f"Noise floor {shown(floor)}: where nobody is counted, {largest} exceeds it with a "
        "probability of at most 5%."
    )


def _terms(table: TableFacts, question: Summed) -> Terms:
    summary = table.summary
    if summary is None:
        return Terms(_weights(question.parts))
    # Which cells a priority sample keeps, and below which nodes a tree goes on, others decide too.
    others_decide = summary.size is not None or summary.drops_orphans
    return Terms(_weights(question.parts), summary.keeping, by_itself=not others_decide)


def _weights(parts: Sequence[Parts]) -> tuple[tuple[float, int], ...]:
    """The products of the axes' weights, and how many cells have each."""
    found: Counter[float] = Counter({1.0: 1})
    for part in parts:
        if part.rows is None or part.rows.weights is None:
            own = {1.0: int(part.squares)}
        else:
            own = dict(Counter(part.rows.weights.tolist()))
        together: Counter[float] = Counter()
        for weight, times in found.items():
            for other, more in own.items():
                together[weight * other] += times * more
        found = together
    return tuple(found.items())


# Noisy counts of items as released, and the noise in them.

MOST = 2**62
"""More lines than any release has: what SQL takes as a limit."""
Found = tuple[Any, float, float]
"""An item, its published count, and what that counts for."""


@dataclass(frozen=True)
class NoisyLine:
    item: str | int
    count: float
    noise_std: float
    low: float | None
    high: float | None
    """The noise interval; None where counts enter by weights."""
    stands_for: float
    """What the count counts for: the same, but where cells were sampled at least the threshold."""
    standard_error: float
    """How far that typically is from what it is unbiased for."""


@dataclass(frozen=True, eq=False)
class NoisyLines:
    """A question to a table that is asked for each item."""

    table: TableFacts
    path: Path
    sampled: Sampled
    question: Summed
    column: str
    rows: list[Weights]
    once: bool
    """Whether each item has one row, and all rows count."""
    floor: float
    """What the largest count rarely exceeds by noise alone."""
    short: NoisyLines | None = None
    """The same question to the table of users of short rows, where this one has the others."""

    @classmethod
    def of(
        cls, axes: Axes, table: TableFacts, item: AxisLookup, box: Mapping[str, Mask]
    ) -> NoisyLines:
        """The question that a top list asks of a table, for these values of contexts."""
        lists = axes.axes_of(table)
        question = summed(table, lists, box).at_each(0)
        column, rows = _item_rows(table, item, question)
        beside, floor = short_rows(axes.published, table), floor_of(table, len(item), question)
        short = None if beside is None else cls.of(axes, beside, item, box)
        return cls(
            table, axes.published.path(table), Sampled.of(table), question, column, rows,
            len(lists) == 1 and not rows, floor if short is None else hypot(floor, short.floor),
            short,
        )  # fmt: skip

    def largest(self, k: int) -> list[Found]:
        if self.short is not None:
            names = tables.column(self.path, self.column).tolist()
            return sorted(self.named(names), key=lambda one: -one[1])[:k]
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
        rows = [*self.rows, chosen]
        found = tables.largest(self.path, rows, self.column, least, len(names), once=False)
        by_name = {one[0]: one for one in found}
        if self.short is not None:
            for name, *more in self.short.named(names):
                _, count, stands_for = by_name[name]
                by_name[name] = (name, count + more[0], stands_for + more[1])
        return [by_name[name] for name in names if name in by_name]

    def lines(self, found: Sequence[Found]) -> list[NoisyLine]:
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
        std, reach = law.std(of), None
        if self.question.unweighted:
            reach = as_counts(law.reach(level, of), law.unit)
        if self.short is None:
            return std, reach
        beside, beyond = self.short._noise(of)
        both = None if reach is None or beyond is None else hypot(reach, beyond)
        return hypot(std, beside), both

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
