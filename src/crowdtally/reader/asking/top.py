"""The most popular items of a release, overall or in a context."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from math import prod
from typing import Any

from crowdtally.errors import UsageError, did_you_mean
from crowdtally.published import Published
from crowdtally.reader import tables
from crowdtally.reader.estimating.sums import sum_interval, sum_std
from crowdtally.values.rational import exact


@dataclass(frozen=True)
class TopItem:
    """One line of a top list."""

    rank: int
    """1 for the largest noisy count; equal counts keep the order of the item list."""
    item: str | int
    """The item."""
    count: float
    """Its noisy count, as released: it can be negative. Whole, unless rows were scaled."""
    noise_std: float
    """Standard deviation of the noise in ``count``."""
    low: float
    """``count`` less the half width of the noise interval."""
    high: float
    """``count`` plus the half width of the noise interval."""


@dataclass(frozen=True)
class TopList:
    """The answer to ``top``: a sequence of :class:`TopItem`."""

    rows: tuple[TopItem, ...]
    """The items, largest noisy count first."""
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
        lines = [f"{'rank':>4}  {'count':>10}  {'noise interval':>21}  item"]
        for row in self.rows:
            interval = f"{row.low:.12g} … {row.high:.12g}"
            lines.append(f"{row.rank:>4}  {row.count:>10.12g}  {interval:>21}  {row.item}")
        return "\n".join(lines)


def top(published: Published, k: int, context: Mapping[str, object]) -> TopList:
    """The k items with the largest noisy counts, overall or where the context has these values.

    A context that is not named is summed over, and the noise of the sum is what is reported.
    """
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise UsageError(f"k must be a whole number of at least 1: received {k!r}.")
    axes = {axis["name"]: axis for axis in published.metadata["domain"]["contexts"]}
    chosen = {name: _value(name, value, axes) for name, value in context.items()}
    table = published.table("edges" if chosen else "items")
    assert table is not None  # every release has items, and edges where it has contexts
    summed = prod(axis["size"] for name, axis in axes.items() if name not in chosen)
    terms = summed if chosen else 1
    law = {k: exact(table["noise"][k], k) for k in ("scale", "unit", "interval_level")}
    unit = law["unit"]
    width = _count(sum_interval(law["scale"], terms, law["interval_level"]), unit)
    std = sum_std(law["scale"], terms) * float(unit)
    found = _largest(published, table, chosen, k)
    rows = tuple(
        TopItem(rank, item, count, std, count - width, count + width)
        for rank, (item, count) in enumerate(found, start=1)
    )
    return TopList(rows, published.metadata["counted"])


def _count(units: int, unit: Fraction) -> float:
    return units if unit == 1 else units * float(unit)


def _largest(
    published: Published, table: Mapping[str, Any], chosen: Mapping[str, Any], k: int
) -> list[tuple[Any, ...]]:
    item = tables.quoted(table["columns"][0])
    where = " AND ".join(f"{tables.quoted(name)} = ?" for name in chosen) or "TRUE"
    query = (
        f"SELECT {item}, sum(count) AS total FROM release WHERE {where} "
        f"GROUP BY {item} ORDER BY total DESC, min(file_row_number) LIMIT {int(k)}"
    )
    return tables.rows(published.path(table["name"]), query, list(chosen.values()))


def _value(name: str, value: object, axes: Mapping[str, Mapping[str, Any]]) -> object:
    if name not in axes:
        if not axes:
            raise UsageError("this release has no contexts: ask for the top items overall.")
        raise UsageError(f"this release has no context {name!r}. {did_you_mean(name, axes)}")
    axis = axes[name]
    values = axis["values"]
    if value in values and not isinstance(value, bool):
        return value
    # On the command line every value is text.
    spelt = {str(known): known for known in values}
    if str(value) in spelt:
        return spelt[str(value)]
    raise UsageError(f"context {name!r} has no value {value!r}. {did_you_mean(str(value), spelt)}")
