"""The most popular items of a release, overall or in a context."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from crowdtally.errors import UsageError, did_you_mean
from crowdtally.laws.laplace import DiscreteLaplace
from crowdtally.laws.law import Combination
from crowdtally.published import number
from crowdtally.reader import tables
from crowdtally.reader.asking.answering import is_whole, shown
from crowdtally.reader.asking.boxes import Summed, leaves, summed, transform_of
from crowdtally.reader.axes import Axes, Listed, Mask
from crowdtally.reader.estimating.sampled import Sampled, weighted_sum
from crowdtally.reader.tables import Weights

_MOST = 2**62
"""More lines than any release has: what SQL takes as a limit."""


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


@dataclass(frozen=True)
class TopList:
    """The answer to ``top``: a sequence of :class:`TopItem`."""

    rows: tuple[TopItem, ...]
    """The items, largest estimate first; fewer than asked for where fewer were published."""
    counted: str
    """What a count counts: records or users."""

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

    def __str__(self) -> str:
        sampled = any(row.estimate != row.count for row in self.rows)
        more = f"  {'stands for':>14}  {'standard error':>14}" if sampled else ""
        lines = [f"{'rank':>4}  {'count':>10}  {'noise interval':>21}{more}  item"]
        for row in self.rows:
            interval = ""
            if row.low is not None and row.high is not None:
                interval = f"{shown(row.low)} … {shown(row.high)}"
            if sampled:
                more = f"  {shown(row.estimate):>14}  {shown(row.standard_error):>14}"
            lines.append(f"{row.rank:>4}  {shown(row.count):>10}  {interval:>21}{more}  {row.item}")
        return "\n".join(lines)


def top(axes: Axes, k: int, context: Mapping[str, object]) -> TopList:
    """The k items with the largest estimates, overall or where the context has these values.

    A context that is not named is summed over, and the noise of the sum is what is reported.
    """
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise UsageError(f"k must be a whole number of at least 1: received {k!r}.")
    box = {name: _chosen(axes, name, value) for name, value in context.items()}
    table = axes.published.table("edges" if box else "items")
    if table is None:
        raise UsageError("this release is a table of attributes: it has no items. Ask for sums.")
    lists = axes.of(table["name"])
    question = summed(table, lists, box).at_each(0)
    column, rows = _item_rows(table, lists[0], question)
    path, law = axes.published.path(table["name"]), _Law.of(table)
    once = len(lists) == 1 and not rows
    found = tables.largest(path, rows, column, law.least, min(int(k), _MOST), once=once)
    if is_whole(table):
        errors = [(law.std(question.squares), question.squares)] * len(found)
    else:
        errors = _sampling_errors(path, rows, column, [name for name, _, _ in found], law, question)
    lines = [
        law.line(rank, one, error, squares, question.plain)
        for rank, (one, (error, squares)) in enumerate(zip(found, errors, strict=True), start=1)
    ]
    return TopList(tuple(lines), axes.published.metadata["counted"])


@dataclass(frozen=True)
class _Law:
    """The noise on a table's cells, and how they were sampled."""

    sampled: Sampled
    level: Fraction

    @classmethod
    def of(cls, table: Mapping[str, Any]) -> _Law:
        noise = table["noise"]
        sampled = Sampled.of(table, number(noise["scale"], "the scale"))
        return cls(sampled, number(noise["interval_level"], "the level"))

    @property
    def unit(self) -> float:
        return float(self.sampled.unit)

    @property
    def least(self) -> float:
        """What a published count stands for, at least."""
        return self.sampled.threshold * self.unit

    def std(self, squares: float) -> float:
        return DiscreteLaplace(self.sampled.scale, self.sampled.unit).std(
            Combination(squares, squares)
        )

    def line(
        self, rank: int, found: tuple[Any, float, float], error: float, squares: float, plain: bool
    ) -> TopItem:
        name, raw, estimate = found
        low: float | None = None
        high: float | None = None
        if plain:
            width = DiscreteLaplace(self.sampled.scale).half_width(self.level, int(squares))
            reach = width if self.sampled.unit == 1 else width * self.unit
            low, high = raw - reach, raw + reach
        return TopItem(rank, name, raw, self.std(squares), low, high, estimate, error)


def _sampling_errors(
    path: Path, rows: list[Weights], column: str, names: list[Any], law: _Law, question: Summed
) -> list[tuple[float, float]]:
    """For each item: the standard error of its estimate, and Σ weight² of its published cells."""
    if not names:
        return []
    chosen = Weights({column: np.array(names, dtype=object)})
    counts, weights, owners = tables.weighed(path, [*rows, chosen], column)
    values = np.rint(counts / law.unit)
    errors = []
    for name in names:
        own = np.flatnonzero(owners == name)
        estimate = weighted_sum(values[own], weights[own], question.squares, law.sampled)
        squares = float((weights[own] ** 2).sum())
        errors.append((estimate.standard_error * law.unit, squares))
    return errors


def _chosen(axes: Axes, name: str, value: object) -> Mask:
    """Where a context has the value that is asked for."""
    contexts = {known: axis for known, axis in axes.by_name.items() if axes.is_context(known)}
    if name == "k" and name not in contexts:
        raise UsageError(f"how many comes first, without a name: top({value!r}, …).")
    if not contexts:
        raise UsageError("this release has no contexts: ask for the top items overall.")
    if name not in contexts:
        raise UsageError(f"this release has no context {name!r}. {did_you_mean(name, contexts)}")
    return contexts[name].among([contexts[name].spelt(value)])


def _item_rows(
    table: Mapping[str, Any], item: Listed, question: Summed
) -> tuple[str, list[Weights]]:
    """The column that names items, and the rows that are about single ones."""
    transform = transform_of(table)
    if transform["kind"] == "sketch" or (
        transform["kind"] == "haar" and item.name in transform["ordered"]
    ):
        raise UsageError(
            f"this release holds its items as a {transform['kind']} transform, which has no list "
            "to rank: ask for the sum of each item."
        )
    if item.name in transform["ordered"]:
        return f"{item.name}_first", [*question.rows, leaves(item)]
    return item.name, question.rows
