"""Cells without a public list: which there are, and how many users keep each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdtally.curator.counting.reading import Read, dropped_in
from crowdtally.records import engine as window
from crowdtally.records.engine import Engine, Rows, cell_parts, countable, grouped
from crowdtally.records.prepare import Prepared


@dataclass(frozen=True, eq=False)
class Kept:
    """Cells that users keep, each once, in the order of their values. Exact and private."""

    values: tuple[NDArray[Any], ...]
    """For each column the value of every cell; of a column with a public list, its place there."""
    users: NDArray[np.int64]
    """How many users keep each."""


def kept_cells(
    engine: Engine, prepared: Prepared, limit: int, widths: Sequence[int], *, key: int
) -> Read[list[Kept]]:
    """Each user's cells, each once and at most ``limit`` of them, and how many users keep each.

    The cells' own values order and hash them. A number for each cell, as where all lists are
    public, would depend on what other users have.

    Args:
        engine: what runs it.
        prepared: all records.
        limit: l.
        widths: the tables to make, all of the same kept cells: of how many of the first columns
            each is. A user counts once in a cell of each table.
        key: of the hash.
    """
    same = engine.materialise(grouped(prepared.rows), "same")  # (user, cell), each once
    parts = cell_parts(same)
    distinct = countable(same).select("user", *parts)
    order = engine.hash(key, [distinct.user, *(distinct[name] for name in parts)])
    kept = window.least(distinct.mutate(priority=order), limit)
    if len(widths) > 1:
        kept = engine.materialise(kept, "kept")
    tables = [_users_by_cell(engine, kept, parts[:width]) for width in widths]
    return Read(tables, dropped_in(engine, same))


def _users_by_cell(engine: Engine, kept: Rows, parts: Sequence[str]) -> Kept:
    """How many users have each cell of a table of these columns."""
    if len(parts) < len(cell_parts(kept)):
        kept = kept.select("user", *parts).distinct()
    found = engine.columns(kept.group_by(*parts).agg(users=kept.count()))
    columns = [found[name] for name in parts]
    by_value = _order(columns)  # never the order of discovery
    values = tuple(column[by_value] for column in columns)
    return Kept(values, found["users"][by_value].astype(np.int64))


def _order(columns: Sequence[NDArray[Any]]) -> NDArray[np.int64]:
    """The order of rows by their values, the first column slowest."""
    ranks = [np.unique(column, return_inverse=True)[1] for column in columns]
    return np.asarray(np.lexsort(ranks[::-1]), dtype=np.int64)
