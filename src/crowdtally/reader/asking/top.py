"""The most popular items of a release, overall or in a context."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from crowdtally.errors import UsageError, did_you_mean
from crowdtally.laws.law import Combination, as_counts
from crowdtally.published.table import TableFacts
from crowdtally.published.what_counts import what_counts
from crowdtally.reader import tables
from crowdtally.reader.asking.answering import in_units
from crowdtally.reader.asking.boxes import Summed, leaves, summed
from crowdtally.reader.asking.floor import floor_of, floor_words
from crowdtally.reader.asking.notebook import top_line, top_table
from crowdtally.reader.asking.printing import printed
from crowdtally.reader.axes import Axes
from crowdtally.reader.estimating.sampled import Sampled, weighted_sum
from crowdtally.reader.lookup import AxisLookup, Mask
from crowdtally.reader.tables import Weights

_MOST = 2**62
"""More lines than any release has: what SQL takes as a limit."""
_Found = tuple[Any, float, float]
"""An item, its count as it stands, and what it counts for."""


@dataclass(frozen=True)
class TopItem:
    """One line of a top list."""

    rank: int
    """1 for the largest estimate; equal ones keep the order of the item list."""
    item: str | int
    """The item."""
    count: float
    """Its noisy count, as released: it can be negative. Whole, unless rows were scaled."""
    noise_std: float
    """Standard deviation of the noise in ``count``."""
    low: float | None
    """``count`` less the half width of the noise interval; None where counts enter by weights."""
    high: float | None
    """``count`` plus the same."""
    estimate: float
    """What ``count`` stands for: the same, but where cells were sampled at least the threshold."""
    standard_error: float
    """How far ``estimate`` typically is from what it is unbiased for, by noise and by sampling."""
    floor: float
    """The noise floor of the list: where nobody is counted, the largest count of all items exceeds
    it with a probability of at most 5%."""
    above_floor: bool
    """Whether ``count`` is above it; else the item is not told apart from noise."""


@dataclass(frozen=True)
class TopList:
    """The answer to ``top``: a sequence of :class:`TopItem`."""

    rows: tuple[TopItem, ...]
    """The items, largest estimate first; fewer than asked for where fewer were published."""
    counted: str
    """What a count counts: records or users."""
    floor: float
    """The noise floor, the same for all items."""
    ranked: int
    """How many items there are to rank, published or not: the floor follows from it."""
    floor_words: str
    """What the floor is, in a sentence."""
    what_counts: str
    """What is counted of one user, and what noise intervals do not cover, in a sentence."""

    def __iter__(self) -> Any:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> TopItem:
        return self.rows[index]

    def to_dicts(self) -> list[dict[str, Any]]:
        """Plain dictionaries, for a DataFrame or for JSON."""
        return [asdict(row) for row in self.rows]

    def to_json(self) -> str:
        """JSON text."""
        return json.dumps(self.to_dicts(), ensure_ascii=False)

    def __repr__(self) -> str:
        return top_line(self.rows, self.counted)

    def _repr_html_(self) -> str:
        return top_table(self.rows, self.counted, [self.floor_words, self.what_counts])

    def __str__(self) -> str:
        lines = printed(self.rows, self.floor)
        return "\n".join([*lines, self.floor_words, self.what_counts])


def top(axes: Axes, k: int, context: Mapping[str, object]) -> TopList:
    """The k items with the largest estimates, overall or where the context has these values.

    A context that is not named is summed over, and the noise of the sum is what is reported.
    """
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise UsageError(f"k must be a whole number of at least 1: received {k!r}.")
    box = {name: _chosen(axes, name, value) for name, value in context.items()}
    if not axes.published.domain.has_items:
        raise UsageError("this release is a table of attributes: it has no items. Ask for sums.")
    item = next(iter(axes.by_name.values()))
    table = axes.table([item.name, *box])
    lists = axes.of(table)
    question = summed(table, lists, box).at_each(0)
    column, rows = _item_rows(table, item, question)
    asked = _Asked(table, Sampled.of(table), question, floor_of(table, len(item), question))
    path, least = axes.published.path(table), asked.sampled.threshold * float(table.law.unit)
    once = len(lists) == 1 and not rows
    found = tables.largest(path, rows, column, least, min(int(k), _MOST), once=once)
    lines = asked.lines(found, path, rows, column)
    return TopList(
        tuple(lines),
        table.kind.counts(axes.published.counted),
        asked.floor,
        len(item),
        floor_words(table, len(item), asked.floor),
        what_counts(axes.published, table).sentence(),
    )


@dataclass(frozen=True, eq=False)
class _Asked:
    """A question to a table that is asked for each item."""

    table: TableFacts
    """The table."""
    sampled: Sampled
    """How its cells were chosen."""
    question: Summed
    """What is summed for an item."""
    floor: float
    """What its largest count rarely exceeds by noise alone."""

    def lines(
        self, found: Sequence[_Found], path: Path, rows: list[Weights], column: str
    ) -> list[TopItem]:
        """The lines for the items that were found."""
        noise = cache(self._noise)  # many lines have the same
        if self.table.summary is None:
            of = self.question.combination
            errors = [(noise(of)[0], of)] * len(found)
        else:
            errors = self._sampling_errors(path, rows, column, [name for name, _, _ in found])
        lines = []
        for rank, (one, (error, of)) in enumerate(zip(found, errors, strict=True), start=1):
            (name, count, estimate), (std, reach) = one, noise(of)
            low, high = (None, None) if reach is None else (count - reach, count + reach)
            above = count > self.floor
            lines.append(
                TopItem(rank, name, count, std, low, high, estimate, error, self.floor, above)
            )
        return lines

    def _noise(self, of: Combination) -> tuple[float, float | None]:
        """The standard deviation of the noise in such a sum, and half its interval's width."""
        law, level = self.table.law, self.table.interval_level
        if not self.question.unweighted:
            return law.std(of), None
        return law.std(of), as_counts(law.reach(level, of), law.unit)

    def _sampling_errors(
        self, path: Path, rows: list[Weights], column: str, names: list[Any]
    ) -> list[tuple[float, Combination]]:
        """For each item: the standard error of its estimate, and its published cells' weights."""
        if not names:
            return []
        chosen = Weights({column: np.array(names, dtype=object)})
        counts, weights, owners = tables.weighed(path, [*rows, chosen], column)
        values, errors = in_units(self.table, counts), []
        for name in names:
            own = np.flatnonzero(owners == name)
            sum_ = weighted_sum(values[own], weights[own], self.question.combination, self.sampled)
            squares, total = float((weights[own] ** 2).sum()), float(weights[own].sum())
            errors.append((sum_.standard_error, Combination(squares, total)))
        return errors


def _chosen(axes: Axes, name: str, value: object) -> Mask:
    """Where a context has the value that is asked for."""
    contexts = axes.contexts
    if name == "k" and name not in contexts:
        raise UsageError(f"how many comes first, without a name: top({value!r}, …).")
    if not contexts:
        raise UsageError("this release has no contexts: ask for the top items overall.")
    if name not in contexts:
        raise UsageError(f"this release has no context {name!r}. {did_you_mean(name, contexts)}")
    return contexts[name].among([contexts[name].spelled(value)])


def _item_rows(table: TableFacts, item: AxisLookup, question: Summed) -> tuple[str, list[Weights]]:
    """The column that names items, and the rows that are about single ones."""
    transform = table.transform
    if transform.kind == "sketch" or (transform.kind == "haar" and item.name in transform.ordered):
        raise UsageError(
            f"this release holds its items as a {transform.kind} transform, which has no list "
            "to rank: ask for the sum of each item."
        )
    if item.name in transform.ordered:
        return f"{item.name}_first", [*question.rows, leaves(item)]
    return item.name, question.rows
