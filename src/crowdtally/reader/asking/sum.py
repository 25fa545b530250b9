"""Sums over the cells of a release: one cell, a range, or whatever a condition says."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from math import prod
from typing import Any

import numpy as np

from crowdtally.errors import UsageError
from crowdtally.published import number
from crowdtally.reader import predicate
from crowdtally.reader.asking.answering import from_sketch, from_table, shown
from crowdtally.reader.asking.boxes import summed, transform_of
from crowdtally.reader.axes import Axes, Listed
from crowdtally.reader.condition import (
    Among,
    Box,
    Condition,
    Every,
    Some,
    boxes,
    every,
    pieces,
    some,
)


@dataclass(frozen=True)
class Sum:
    """The answer to ``sum``."""

    value: float
    """The estimate; it can be negative, and is whole where every count is."""
    standard_error: float
    """How far it typically is from what it is unbiased for, by noise and by sampling."""
    low: float | None
    """``value`` less the half width of the 95% noise interval; None if more than noise is in it."""
    high: float | None
    """``value`` plus the same."""
    cells: int
    """r: how many cells of the public domain it sums over, published or not."""
    table: str
    """The table it comes from."""
    counted: str
    """What a count counts: records or users."""
    unbiased_for: str
    """What it is right about on average, and what it leaves out."""

    def to_json(self) -> str:
        """JSON text."""
        return json.dumps(asdict(self), ensure_ascii=False)

    def __str__(self) -> str:
        interval = ""
        if self.low is not None and self.high is not None:
            interval = f"\n95% of the noise within {shown(self.low)} … {shown(self.high)}"
        cells = "1 cell" if self.cells == 1 else f"{self.cells} cells"
        return (
            f"{shown(self.value)} {self.counted}, standard error {shown(self.standard_error)}"
            f"{interval}\nover {cells} of the table {self.table!r}\n"
            f"unbiased for {self.unbiased_for}"
        )


def condition_of(axes: Axes, where: str | None, equals: Mapping[str, object]) -> Condition:
    """The condition that a text and wanted values state together."""
    lists = axes.by_name
    parts: list[Condition] = [] if where is None else [predicate.parse(where, lists)]
    for name, wanted in equals.items():
        axis = predicate.column(name, lists)
        parts.append(Among(name, axis.among([axis.spelt(value) for value in _several(wanted)])))
    return every(parts)


def _several(wanted: object) -> Iterable[object]:
    """The values of a column that are wanted: one, or a list, array or Series of them."""
    if isinstance(wanted, list | tuple | set | frozenset | range):
        return wanted
    plain = wanted.tolist() if hasattr(wanted, "tolist") else wanted
    return plain if isinstance(plain, list) else [wanted]


def range_of(axes: Axes, name: str, low: object, high: object) -> Condition:
    """The values of a column from ``low`` to ``high``, both included; None has no end."""
    axis = predicate.column(name, axes.by_name)
    ends = [None if end is None else axis.spelt(end) for end in (low, high)]
    return Among(name, axis.between(ends[0], ends[1], False, False))


def sum_over(axes: Axes, condition: Condition) -> Sum:
    """The sum over the cells for which the condition holds."""
    table = axes.table({test.axis for test in pieces(condition)})
    lists = axes.of(table["name"])
    if table["name"] == "pairs":
        condition = _mirrored(condition, lists)
    found = boxes(condition, _decided_in_order(table, lists))
    cells = sum(prod(_sizes(box, lists)) for box in found)
    if table["name"] == "pairs":
        # Each unordered pair was counted in both orders, and a pair with itself is none.
        cells = (cells - sum(_with_itself(box, lists) for box in found)) // 2
    if cells == 0:
        raise UsageError(
            "no cell of the public domain satisfies the condition: its sum is 0 whatever the "
            "records are. Ranges go by the order of the lists."
        )
    path, unit = axes.published.path(table["name"]), number(table["noise"]["unit"], "the unit")
    if transform_of(table)["kind"] == "sketch":
        answer = from_sketch(table, path, lists, found, cells)
    else:
        answer = from_table(table, path, [summed(table, lists, box) for box in found], cells)
    value = _count(answer.estimate.value, unit)
    width = None if answer.half_width is None else _count(answer.half_width, unit)
    return Sum(
        value,
        answer.estimate.standard_error * float(unit),
        None if width is None else value - width,
        None if width is None else value + width,
        cells,
        table["name"],
        axes.published.metadata["counted"],
        answer.estimate.unbiased_for,
    )


def _count(units: float, unit: Fraction) -> float:
    return units if unit == 1 else units * float(unit)


def _decided_in_order(table: Mapping[str, Any], lists: Sequence[Listed]) -> list[str]:
    """The axes, ordered ones last: then values that make up one range stay together."""
    ordered = transform_of(table)["ordered"]
    return sorted((axis.name for axis in lists), key=lambda name: name in ordered)


def _sizes(box: Box, lists: Sequence[Listed]) -> list[int]:
    return [int(box[axis.name].sum()) if axis.name in box else len(axis) for axis in lists]


def _mirrored(condition: Condition, lists: Sequence[Listed]) -> Condition:
    """The condition on a pair in one order or in the other: pairs are unordered."""
    first, second = (axis.name for axis in lists)
    other = {first: second, second: first}

    def swapped(part: Condition) -> Condition:
        match part:
            case Among(axis, mask):
                return Among(other[axis], mask)
            case Every(parts):
                return every(map(swapped, parts))
            case Some(parts):
                return some(map(swapped, parts))
        return part

    return some([condition, swapped(condition)])


def _with_itself(box: Box, lists: Sequence[Listed]) -> int:
    whole = np.ones(len(lists[0]), dtype=np.bool_)
    first, second = (box.get(axis.name, whole) for axis in lists)
    return int((first & second).sum())
