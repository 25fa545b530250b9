"""What the release says: its largest items, its contexts, and items in contexts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product
from math import isfinite
from typing import Any

import numpy as np

from crowdtally.core.registry import quoted
from crowdtally.errors import UsageError
from crowdtally.format import tables
from crowdtally.reader.axes import AxisLookup, Value
from crowdtally.reader.estimates.estimator import ReleaseView
from crowdtally.reader.questions.sum import Sum, stated_by, sum_over
from crowdtally.reader.questions.top import top
from crowdtally.reader.questions.top_list import TopList, floor_of_cells

TOP = 20
SHORT, MOST_LISTS = 10, 12
"""Items of a list in one context, and how many such lists are shown."""
MOST_VALUES = 40
MOST_CONTEXTS = 4
ROWS, COLUMNS = 15, 24
PAIRS = 10
Labels = Mapping[Any, str | None]


@dataclass(frozen=True)
class Counted:
    """One number: what is believed, and what was released."""

    value: Value
    """What it is the number of."""
    estimate: float
    """What it is believed to be."""
    low: float | None
    """The lower end of its 95% interval."""
    high: float | None
    """Its upper end."""
    noisy: float | None
    """The noisy number, as released; None where there is none."""


@dataclass(frozen=True)
class Distribution:
    """How counts are spread over the values of one context, or of one attribute."""

    name: str
    values: tuple[Counted, ...]
    left_out: int


@dataclass(frozen=True)
class HeatMap:
    """Estimates of the largest items in each value of a context; or of two attributes."""

    rows: str
    columns: str
    row_values: tuple[Value, ...]
    column_values: tuple[Value, ...]
    cells: tuple[tuple[Counted, ...], ...]
    """Row by row; ``value`` is that of the column."""
    rows_left_out: int
    columns_left_out: int


@dataclass(frozen=True)
class InContext:
    context: Mapping[str, Value]
    top: TopList


@dataclass(frozen=True)
class Pair:
    """Two items that the same users have."""

    item: Value
    other: Value
    count: float
    low: float | None
    """Of its noise interval."""
    high: float | None
    above_floor: bool
    """Whether it is above what noise alone would rarely reach."""


@dataclass(frozen=True)
class Pairs:
    rows: tuple[Pair, ...]
    floor: float
    cells: int


@dataclass(frozen=True, eq=False)
class Asking:
    view: ReleaseView

    @property
    def is_empty(self) -> bool:
        return any(not one.length for one in self.view.published.domain.lists)

    def whole(self) -> Sum | None:
        """The sum over everything; None where it cannot be given."""
        return None if self.is_empty else self._sum({})

    def top(self) -> TopList | None:
        """The largest items; None in a release of attributes, or without a list to rank."""
        if self.is_empty or not self.view.published.domain.has_items:
            return None
        return self._top(TOP, {})

    def _top(self, k: int, context: Mapping[str, object]) -> TopList | None:
        try:
            return top(self.view, k, context)
        except UsageError:  # items that are held as a transform, or in contexts alone
            return None

    def tops(self) -> tuple[InContext, ...]:
        """The largest items in each combination of contexts, where there is no other list."""
        if self.is_empty or not self.view.contexts:
            return ()
        values = [_first(axis, MOST_LISTS) for axis in self.view.contexts.values()]
        combinations = islice(product(*values), MOST_LISTS)
        named = [dict(zip(self.view.contexts, one, strict=True)) for one in combinations]
        found = ((context, self._top(SHORT, context)) for context in named)
        return tuple(InContext(context, one) for context, one in found if one is not None)

    def distributions(self) -> tuple[Distribution, ...]:
        return () if self.is_empty else tuple(self._distributions())

    def _distributions(self) -> Iterator[Distribution]:
        for axis in self._spread()[:MOST_CONTEXTS]:
            found = [(value, self._sum({axis.name: value})) for value in _first(axis, MOST_VALUES)]
            told = tuple(_counted(value, one) for value, one in found if one is not None)
            if len(told) == len(found):
                yield Distribution(axis.name, told, len(axis) - len(told))

    def _spread(self) -> list[AxisLookup]:
        if self.view.published.domain.has_items:
            return list(self.view.contexts.values())
        return list(self.view.by_name.values())

    def heat_maps(self, largest: TopList | None) -> tuple[HeatMap, ...]:
        """The largest items by each context; of attributes, the first by the second."""
        if self.is_empty:
            return ()
        rows, *others = self.view.by_name.values()
        items, columns = _first(rows, ROWS), others[:1]
        if self.view.published.domain.has_items:
            columns = self._spread()[:MOST_CONTEXTS]
        if largest is not None:
            items = [row.item for row in largest][:ROWS]
        made = (self.heat_map(rows, items, axis) for axis in columns)
        return tuple(one for one in made if one is not None)

    def heat_map(
        self, rows: AxisLookup, values: Sequence[Value], columns: AxisLookup, *, most: int = COLUMNS
    ) -> HeatMap | None:
        """Some values of a column by the first ones of another; None if that is not released."""
        across = _first(columns, most)
        by_column = [self._column(rows, values, columns, one) for one in across]
        told = [one for one in by_column if one is not None]
        if not values or len(told) < len(across):
            return None
        cells = tuple(zip(*told, strict=True))
        return HeatMap(
            rows.name, columns.name, tuple(values), tuple(across), cells,
            len(rows) - len(values), len(columns) - len(across),
        )  # fmt: skip

    def _column(
        self, rows: AxisLookup, values: Sequence[Value], columns: AxisLookup, value: Value
    ) -> list[Counted] | None:
        """One column of a heat map: from estimates of all items where there are, else by sums."""
        if columns.name in self.view.contexts:
            mask = self.view.context_mask({columns.name: columns.among([value])})
            found = self.view.in_contexts(mask)
            if found is not None:
                places = rows.places_of(list(values))
                picked = zip(*(part[places].tolist() for part in found.parts()[:4]), strict=True)
                return [Counted(value, mean, low, high, None) for mean, _, low, high in picked]
        sums = [self._sum({rows.name: one, columns.name: value}) for one in values]
        told = [_counted(value, one) for one in sums if one is not None]
        return told if len(told) == len(sums) else None

    def _sum(self, equals: Mapping[str, object]) -> Sum | None:
        try:
            return sum_over(self.view, stated_by(self.view, None, equals))
        except UsageError:  # no table has these columns: the report does without
            return None

    def pairs(self) -> Pairs | None:
        """The largest pairs; None where the release has none."""
        table = self.view.published.table("pairs")
        if table is None:
            return None
        first, other = map(quoted, table.columns)
        query = (
            f"SELECT {first}, {other}, count, low, high FROM release "
            f"ORDER BY count DESC, file_row_number LIMIT {PAIRS}"
        )
        rows = tables.ask(self.view.published.path(table), query).fetchall()
        floor = floor_of_cells(table, table.cells)
        made = (
            Pair(item, beside, count, low, high, count > floor)
            for item, beside, count, low, high in rows
        )
        return Pairs(tuple(made), floor, table.cells)


def _first(axis: AxisLookup, most: int) -> list[Value]:
    found: list[Value] = axis.axis.values[:most].tolist()
    return found


def _counted(value: Value, found: Sum) -> Counted:
    low, high = (_finite(end) for end in (found.estimate_low, found.estimate_high))
    return Counted(value, found.estimate, low, high, found.value)


def _finite(number: float | None) -> float | None:
    return number if number is not None and isfinite(float(np.float64(number))) else None
