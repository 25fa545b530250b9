"""Questions to a release's Parquet files. Opens release files only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdtally.core.registry import quoted
from crowdtally.format.contents import digest_of
from crowdtally.format.manifest import damaged
from crowdtally.format.tables import ask

Floats = NDArray[np.float64]
FEW = 200
"""Values of a column that are looked for one by one."""
HELD_ROWS = 4_000_000
"""Rows of a table whose counts are kept in memory."""


@dataclass(frozen=True, eq=False)
class Weights:
    """What the rows with certain values in certain columns count; other rows count nothing."""

    keys: Mapping[str, NDArray[Any]]
    """Equally long columns: combinations of values, each once."""
    weights: Floats | None = None
    """What each combination counts; None for 1."""
    others: bool = False
    """Whether all rows count but these: few values of one column, without weights."""

    @property
    def is_one_value(self) -> bool:
        """Whether the rows that count have one value of one column, and count 1."""
        sizes = [len(values) for values in self.keys.values()]
        return self.weights is None and not self.others and sizes == [1]


def column(path: Path, name: str) -> NDArray[Any]:
    query = f"SELECT {quoted(name)} AS found FROM release ORDER BY file_row_number"
    return np.asarray(ask(path, query, ()).fetchnumpy()["found"])


@lru_cache(2)
def held_counts(path: Path, sha256: str) -> NDArray[np.int64] | None:
    """The counts of a file in its order, kept in memory for later sums.

    None where they are not whole, or where a sum of them could exceed 64 bits. By its hash, another
    file at the same path is read again.
    """
    counts = column(path, "count")
    if digest_of(path) != sha256:  # replaced while it was read: do not keep that
        raise damaged(path, "it is not the file that was released (its SHA-256 is another)")
    if counts.dtype.kind != "i" or not len(counts):
        return None
    largest = max(abs(int(counts.min())), abs(int(counts.max())))
    return counts if largest * len(counts) < 1 << 63 else None


def weighed(
    path: Path, axes: Sequence[Weights], name: str | None = None
) -> tuple[NDArray[Any], Floats, NDArray[Any] | None]:
    """The counts of the rows that count, what each counts, and, if asked for, another column."""
    joins, weight, parameters = _joined(axes)
    named = "" if name is None else f", release.{quoted(name)} AS name"
    query = f"SELECT release.count, {weight} AS weight{named} FROM release {joins}"
    found = ask(path, query, parameters).fetchnumpy()
    names = None if name is None else np.asarray(found["name"])
    return np.asarray(found["count"]), np.asarray(found["weight"], dtype=np.float64), names


def largest(
    path: Path, axes: Sequence[Weights], name: str, least: float, k: int, *, once: bool = False
) -> list[tuple[Any, float, float]]:
    """The k values of a column with the largest sums: value, published sum, sum that counts.

    A count nearer to 0 than ``least`` counts as that, with its sign. Ties follow the published sum,
    then the order of the file. ``once``: each value has one row among those that count, of weight
    1.
    """
    joins, weight, parameters = _joined(axes)
    column, counted = f"release.{quoted(name)}", "release.count"
    if least:
        # DuckDB takes 26.5 for a decimal, and sums of decimals are no floats in Python.
        counted = f"sign(release.count) * greatest(abs(release.count), {float(least)!r}::DOUBLE)"
    times = "" if weight == "1.0" else f" * {weight}"
    query = (
        f"SELECT {column}, sum(release.count{times}) AS raw, sum({counted}{times}) AS counted "
        f"FROM release {joins} GROUP BY {column} "
        f"ORDER BY counted DESC, raw DESC, min(file_row_number) LIMIT {int(k)}"
    )
    if once:  # nothing to add up, which a list of millions feels
        query = (
            f"SELECT {column}, release.count AS raw, {counted} AS counted FROM release {joins} "
            f"ORDER BY counted DESC, raw DESC, file_row_number LIMIT {int(k)}"
        )
    return list(ask(path, query, parameters).fetchall())


def total(path: Path, axes: Sequence[Weights]) -> float:
    """The sum of the counts of the rows that count, each times what it counts."""
    joins, weight, parameters = _joined(axes)
    times = "" if weight == "1.0" else f" * {weight}"
    query = f"SELECT sum(release.count{times}) FROM release {joins}"
    ((found,),) = ask(path, query, parameters).fetchall()
    return found if found is not None else 0


def _joined(axes: Sequence[Weights]) -> tuple[str, str, list[object]]:
    """The joins and filters that pick the rows, the product of their weights, the parameters.

    A few values of one column are a filter, for which the file's statistics help.
    """
    joins, filters, factors = [], [], []
    joined, filtered = list[object](), list[object]()
    for number, axis in enumerate(axes):
        (first, values), *more = axis.keys.items()
        if not more and axis.weights is None and len(values) <= FEW:
            among = "NOT IN" if axis.others else "IN"
            filters.append(f"release.{quoted(first)} {among} ({', '.join('?' * len(values))})")
            filtered += values.tolist()
            continue
        columns = [f"unnest(?) AS key_{place}" for place in range(len(axis.keys))]
        joined += [column.tolist() for column in axis.keys.values()]
        if axis.weights is not None:
            columns.append("unnest(?) AS weight")
            joined.append(axis.weights.tolist())
            factors.append(f"axis_{number}.weight")
        equal = " AND ".join(
            f"release.{quoted(name)} = axis_{number}.key_{place}"
            for place, name in enumerate(axis.keys)
        )
        joins.append(f"JOIN (SELECT {', '.join(columns)}) AS axis_{number} ON {equal}")
    where = f"WHERE {' AND '.join(filters)}" if filters else ""
    return f"{' '.join(joins)} {where}", " * ".join(factors) or "1.0", [*joined, *filtered]


def partners(
    path: Path, columns: Sequence[str], value: object
) -> tuple[NDArray[Any], NDArray[Any]]:
    """The items that make a pair with one, and the pairs' counts; a pair stands in one order."""
    one, two = map(quoted, columns)
    query = (
        f"SELECT {two} AS partner, count FROM release WHERE {one} = ? "
        f"UNION ALL SELECT {one} AS partner, count FROM release WHERE {two} = ?"
    )
    found = ask(path, query, [value, value]).fetchnumpy()
    return np.asarray(found["partner"]), np.asarray(found["count"])


def leaf_counts(path: Path, name: str, level: int) -> NDArray[Any]:
    """The counts of the nodes of one level of a tree over one axis, from the first value on."""
    query = (
        f"SELECT count AS found FROM release WHERE {quoted(f'{name}_level')} = ? "
        f"ORDER BY {quoted(f'{name}_place')}"
    )
    return np.asarray(ask(path, query, [level]).fetchnumpy()["found"])


def row_numbers(path: Path, name: str, values: Sequence[Any]) -> list[int]:
    """The rows of the file in which a column has these values, each in one row."""
    marks = ", ".join("?" * len(values))
    column = f"release.{quoted(name)}"
    query = f"SELECT {column}, file_row_number FROM release WHERE {column} IN ({marks})"
    found = dict(ask(path, query, list(values)).fetchall()) if values else {}
    return [int(found[value]) for value in values]
