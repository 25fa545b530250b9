"""Sums over the cells of a release: one cell, a range, or a condition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from math import prod

import numpy as np

from crowdtally.errors import UsageError
from crowdtally.format import Published
from crowdtally.format.load import what_counts
from crowdtally.format.manifest import TableFacts
from crowdtally.reader.answers.answer import AnswerTable, as_json
from crowdtally.reader.answers.columns import Column, Labels, columns_of
from crowdtally.reader.axes import Axes, AxisLookup, cells_of, column
from crowdtally.reader.conditions import (
    Among,
    Box,
    Labelled,
    Stated,
    all_of,
    boxes,
    mirrored,
    parse,
)
from crowdtally.reader.estimates.cell_sums import BOUNDED, Total
from crowdtally.reader.estimates.estimator import LEVEL, NOISE, ReleaseView, is_bounded
from crowdtally.reader.estimates.estimator import words as covering_words
from crowdtally.reader.questions.chosen import several
from crowdtally.reader.questions.noisy_sums import Answer, answer_from
from crowdtally.reader.questions.text import sum_lines


@dataclass(frozen=True)
class BelievedSum:
    total: Total
    covers: str

    def fields(self) -> tuple[float, float, float, float, str]:
        """As the first fields of ``Sum``."""
        total = self.total
        return total.mean, total.error, total.low, total.high, self.covers


def noise_only(answer: Answer) -> BelievedSum:
    value, error = answer.estimate.value, answer.estimate.standard_error
    if answer.reach is not None:
        return BelievedSum(Total(value, error, value - answer.reach, value + answer.reach), NOISE)
    reach = Total.normal(0.0, error, LEVEL).high
    return BelievedSum(Total(value, error, value - reach, value + reach), NOISE)


def believed_sum(
    view: ReleaseView, table: TableFacts, found: Sequence[Box], answer: Answer
) -> BelievedSum | None:
    """From the estimates of a table's cells; None where it has none.

    A tree is not asked cell by cell: its own nodes make a better sum.
    """
    of_items, lists = view.items, view.axes_of(table)
    if of_items is None or table.transform.kind != "none" or table.kind.is_pairs:
        return None
    cells = sum(prod(_sizes(box, lists)) for box in found)
    if table.law.per_cell and cells > 1 and answer.reach is not None:
        # Nobody was left out, and how the noise of cells goes together is known.
        value, reach = max(answer.estimate.value, 0.0), answer.reach
        low, high = answer.estimate.value - reach, answer.estimate.value + reach
        error = answer.estimate.standard_error
        return BelievedSum(Total(value, error, max(low, 0.0), max(high, 0.0)), of_items.covers)
    if view.base is not None and table.name == view.base.name:
        mask = reduce(np.logical_or, [cells_of(box, lists) for box in found])
        return BelievedSum(of_items.sum(mask), of_items.covers)
    return believed_in_contexts(view, lists[0], found)


def believed_in_contexts(
    view: ReleaseView, item: AxisLookup, found: Sequence[Box]
) -> BelievedSum | None:
    """The same over items in contexts, box by box: boxes have no cell in common."""
    of_items, totals = view.items, list[Total]()
    for box in found:
        total = view.total_in_contexts(view.context_mask(box), box.get(item.name))
        if total is None or of_items is None:
            return None
        totals.append(total)
    if of_items is None:
        return None
    if len(totals) == 1:
        return BelievedSum(totals[0], of_items.covers)
    # What boxes share, such as a calibration, may add up: errors are added, not their squares.
    mean, error = sum(one.mean for one in totals), sum(one.error for one in totals)
    return BelievedSum(Total.normal(mean, error, LEVEL), of_items.covers)


def _sizes(box: Box, lists: Sequence[AxisLookup]) -> list[int]:
    return [int(box[axis.name].sum()) if axis.name in box else len(axis) for axis in lists]


EACH_USERS = "users (of each cell, added up)"
"""What a sum of distinct users over several cells counts."""


@dataclass(frozen=True)
class Sum(AnswerTable):
    """The answer to ``sum``: as a table, one row."""

    estimate: float
    """What the sum is believed to be, from all that the release says of each cell; where cells have
    no estimates of their own, ``value``."""
    estimate_error: float
    """How far that typically is from what it is an estimate of."""
    estimate_low: float
    """The lower end of the 95% interval of the estimate."""
    estimate_high: float
    """Its upper end."""
    covers: str
    """What that interval covers: the true counts, the bounded counts, or the noise only."""
    value: float | None
    """The sum of the noisy counts; it can be negative, and is whole where every count is. None
    where items in contexts have no noisy counts, only estimates."""
    standard_error: float | None
    """How far it typically is from what it is unbiased for, by noise and by sampling."""
    low: float | None
    """``value`` less the half width of the 95% noise interval; None if more than noise is in it."""
    high: float | None
    """``value`` plus the same."""
    cells: int
    """r: how many cells of the public domain it sums over, published or not; where the release
    itself found its cells, how many of these."""
    table: str
    """The table it comes from."""
    counted: str
    """What the sum counts: records, users, or pairs of them. A user of several cells is in each of
    them: over more than one, users are those of each cell, added up."""
    unbiased_for: str
    """What ``value`` is right about on average, and what it leaves out."""
    what_counts: str
    """What is counted of one user, and what noise intervals do not cover, in a sentence."""
    estimate_words: str = ""
    """What ``estimate`` is an estimate of, in a sentence or two; empty of mere noise."""
    assumes: bool = False
    """Whether the estimate or its interval rests on an assumption that ``estimate_words`` states:
    the release could not measure what it needs."""

    @property
    def columns(self) -> tuple[Column, ...]:
        return columns_of(Sum)

    @property
    def _rows(self) -> Sequence[Sum]:
        return (self,)

    def to_json(self) -> str:
        """JSON text: one object; ``docs/answers.md`` has its schema."""
        (row,) = self.to_dicts()
        return as_json(row)

    def __str__(self) -> str:
        return "\n".join(sum_lines(self))


def stated_by(
    axes: Axes, where: str | None, equals: Mapping[str, object], labels: Labels | None = None
) -> Stated:
    """The condition that a text and wanted values state together, also about labels of items."""
    beside = None if labels is None else Labelled.of(labels, axes)
    lists = axes.by_name if beside is None else beside.lists
    parts: list[Stated] = []
    if where is not None:
        parts.append(parse(where, lists))
    for name, wanted in equals.items():
        axis = column(name, lists)
        mask = axis.among([axis.spelled(value) for value in several(wanted)])
        parts.append(Stated(Among(name, mask), frozenset([name])))
    return all_of(parts if beside is None else map(beside.on_items, parts))


def range_of(axes: Axes, name: str, low: object, high: object) -> Stated:
    """The values of a column from ``low`` to ``high``, both included; None has no end."""
    axis = column(name, axes.by_name)
    ends = [None if end is None else axis.spelled(end) for end in (low, high)]
    return Stated(Among(name, axis.between(ends[0], ends[1], False, False)), frozenset([name]))


def sum_over(view: ReleaseView, stated: Stated) -> Sum:
    """The sum over the cells for which a condition holds, from the table whose columns it names."""
    if view.find(stated.named) is None and view.alike is not None:
        return _only_estimated(view, stated)
    table = view.table(stated.named)
    if table.is_chosen:
        raise UsageError(
            "this release has its top items only, so that sums over a list cannot be known: ask "
            f"for the top items, or look at the table {table.name!r}."
        )
    lists, condition = view.axes_of(table), stated.condition
    if table.kind.is_pairs:
        condition = mirrored(condition, *(axis.name for axis in lists))
    found = boxes(condition, _decided_in_order(table, lists))
    cells = sum(prod(_sizes(box, lists)) for box in found)
    if table.kind.is_pairs:
        # Each unordered pair was counted in both orders, and a pair with itself is none.
        cells = (cells - sum(_with_itself(box, lists) for box in found)) // 2
    _refuse_none(cells)
    answer = answer_from(view, table, found, cells)
    value, reach, cells = answer.estimate.value, answer.reach, answer.cells or cells
    low, high = (None, None) if reach is None else (value - reach, value + reach)
    believed = believed_sum(view, table, found, answer) or noise_only(answer)
    return Sum(
        *believed.fields(),
        value,
        answer.estimate.standard_error,
        low,
        high,
        cells,
        table.name,
        _counted(view.published, table, cells),
        answer.estimate.unbiased_for,
        what_counts(view.published, table).sentence(),
        *_stated(view, table, believed.covers, stated),
    )


def _only_estimated(view: ReleaseView, stated: Stated) -> Sum:
    """The sum over items in contexts where there are estimates of them, and no noisy counts."""
    (base,) = (view.find([name]) for name in view.published.domain.names[:1])
    lists = tuple(view.by_name[name] for name in view.published.domain.names)
    found = boxes(stated.condition, [axis.name for axis in lists])
    cells = sum(prod(_sizes(box, lists)) for box in found)
    _refuse_none(cells)
    believed = believed_in_contexts(view, lists[0], found)
    if base is None or believed is None:
        return sum_over(view, replace(stated, named=frozenset()))
    return Sum(
        *believed.fields(), None, None, None, None, cells, base.name,
        _counted(view.published, base, cells), "nothing: there is no noisy sum",
        what_counts(view.published, base).sentence(),
        *_stated(view, base, believed.covers, stated),
    )  # fmt: skip


def _counted(published: Published, table: TableFacts, cells: int) -> str:
    """What a sum over so many cells counts: a user of two cells is in both, and counts twice."""
    counted = table.kind.counts(published.counted)
    several = counted == "users" and cells > 1 and is_bounded(published)
    return EACH_USERS if several else counted


def _stated(view: ReleaseView, table: TableFacts, covers: str, stated: Stated) -> tuple[str, bool]:
    """What the estimate is of, and whether that rests on what was not measured."""
    words, alike = covering_words(view.published, table, covers), view.alike
    rough = covers == BOUNDED and view.published.auto is not None
    if alike is None or covers == NOISE or not stated.named & set(view.contexts):
        return words, rough
    return f"{words} {alike.remark}", True


def _refuse_none(cells: int) -> None:
    if cells == 0:
        raise UsageError(
            "no cell of the public domain satisfies the condition: its sum is 0 whatever the "
            "records are. Ranges go by the order of the lists."
        )


def _decided_in_order(table: TableFacts, lists: Sequence[AxisLookup]) -> list[str]:
    """The axes, ordered ones last: then values that make up one range stay together."""
    ordered = table.transform.ordered
    return sorted((axis.name for axis in lists), key=lambda name: name in ordered)


def _with_itself(box: Box, lists: Sequence[AxisLookup]) -> int:
    whole = np.ones(len(lists[0]), dtype=np.bool_)
    first, second = (box.get(axis.name, whole) for axis in lists)
    return int((first & second).sum())
