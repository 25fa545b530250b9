"""Questions to a release's Parquet files. Opens release files only."""

from __future__ import annotations

import glob
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from crowdtally.errors import InputError

Floats = NDArray[np.float64]
_FEW = 200


@dataclass(frozen=True, eq=False)
class Weights:
    """What the rows with certain values in certain columns count; other rows count nothing."""

    keys: Mapping[str, NDArray[Any]]
    """Equally long columns: combinations of values, each once."""
    weights: Floats | None = None
    """What each combination counts; None for 1."""


def rows(path: Path, query: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
    """Run ``query`` over the table ``release`` that the file holds."""
    return list(_run(path, query, parameters).fetchall())


def relation(path: Path) -> Any:
    """The whole table as a DuckDB relation, to be turned into a frame of any kind."""
    try:
        return _database(os.getpid()).cursor().sql(f"FROM read_parquet({_literal(path)})")
    except duckdb.Error as error:
        raise _damaged(path) from error


def column(path: Path, name: str) -> NDArray[Any]:
    """One column, in the order of the file."""
    query = f"SELECT {quoted(name)} AS found FROM release ORDER BY file_row_number"
    return np.asarray(_run(path, query, ()).fetchnumpy()["found"])


def weighed(
    path: Path, axes: Sequence[Weights], name: str | None = None
) -> tuple[NDArray[Any], Floats, NDArray[Any] | None]:
    """The counts of the rows that count, what each counts, and, if asked for, another column."""
    joins, weight, parameters = _joined(axes)
    named = "" if name is None else f", release.{quoted(name)} AS name"
    query = f"SELECT release.count, {weight} AS weight{named} FROM release {joins}"
    found = _run(path, query, parameters).fetchnumpy()
    names = None if name is None else np.asarray(found["name"])
    return np.asarray(found["count"]), np.asarray(found["weight"], dtype=np.float64), names


def largest(
    path: Path, axes: Sequence[Weights], name: str, least: float, k: int, *, once: bool = False
) -> list[tuple[Any, float, float]]:
    """The k values of a column with the largest sums: value, sum as it stands, sum that counts.

    A count nearer to 0 than ``least`` counts as that, with its sign. Equal sums are told apart by
    the sum as it stands, then by the order of the file. ``once`` says that each value has one row,
    and that all rows count.
    """
    joins, weight, parameters = _joined(axes)
    column, counted = f"release.{quoted(name)}", "release.count"
    if least:
        counted = f"sign(release.count) * greatest(abs(release.count), {float(least)!r})"
    times = "" if weight == "1.0" else f" * {weight}"
    query = (
        f"SELECT {column}, sum(release.count{times}) AS raw, sum({counted}{times}) AS counted "
        f"FROM release {joins} GROUP BY {column} "
        f"ORDER BY counted DESC, raw DESC, min(file_row_number) LIMIT {int(k)}"
    )
    if once:  # nothing to add up, which a list of millions feels
        query = (
            f"SELECT {column}, release.count AS raw, {counted} AS counted FROM release "
            f"ORDER BY counted DESC, raw DESC, file_row_number LIMIT {int(k)}"
        )
    return list(_run(path, query, parameters).fetchall())


def total(path: Path, axes: Sequence[Weights]) -> float:
    """The sum of the counts of the rows that count, each times what it counts."""
    joins, weight, parameters = _joined(axes)
    times = "" if weight == "1.0" else f" * {weight}"
    query = f"SELECT sum(release.count{times}) FROM release {joins}"
    ((found,),) = _run(path, query, parameters).fetchall()
    return found if found is not None else 0


def _joined(axes: Sequence[Weights]) -> tuple[str, str, list[object]]:
    """The joins and filters that pick the rows, the product of their weights, the parameters.

    A few values of one column are a filter, which the file's own statistics help with.
    """
    joins, filters, factors = [], [], []
    joined, filtered = list[object](), list[object]()
    for number, axis in enumerate(axes):
        (first, values), *more = axis.keys.items()
        if not more and axis.weights is None and len(values) <= _FEW:
            filters.append(f"release.{quoted(first)} IN ({', '.join('?' * len(values))})")
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


def _run(path: Path, query: str, parameters: Sequence[object]) -> Any:
    # file_row_number keeps the domain's order, which breaks ties between equal counts.
    source = f"WITH release AS (FROM read_parquet({_literal(path)}, file_row_number = true))"
    try:
        return _database(os.getpid()).cursor().execute(f"{source} {query}", list(parameters))
    except duckdb.Error as error:
        raise _damaged(path) from error


def _literal(path: Path) -> str:
    """The path in SQL, as a name: DuckDB would take its brackets for a pattern."""
    return "'" + glob.escape(str(path)).replace("'", "''") + "'"


def _damaged(path: Path) -> InputError:
    return InputError(f"{str(path)!r} is damaged: copy the release again.")


@cache
def _database(process: int) -> Any:
    """One database in memory for each process: opening one takes longer than most questions.

    A forked child opens its own. Files are read anew each time: another may have been put there.
    """
    return duckdb.connect(":memory:", config={"enable_external_file_cache": "false"})


def quoted(name: str) -> str:
    """The name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'
