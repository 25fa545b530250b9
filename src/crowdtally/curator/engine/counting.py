"""Bounded records → exact counts of items and of items in context, from one and the same sample."""

from __future__ import annotations

from typing import Protocol

import ibis
import numpy as np
from numpy.typing import NDArray

from crowdtally.curator.engine.duckdb import DuckDBEngine
from crowdtally.curator.engine.prepare import Prepared
from crowdtally.values.counts import Counts, What

Cells = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Cell numbers, ascending, and their counts."""


class Bounding(Protocol):
    """A rule that bounds what one user contributes."""

    @property
    def l1_bound(self) -> int:
        """The L1 bound of each table counted from the kept rows."""

    def keep(
        self, engine: DuckDBEngine, rows: ibis.Table, *, cells: int, key: int, what: What
    ) -> ibis.Table:
        """(user, cell[, id]) → (user, cell), bounded; a function of each user's own records."""


def count(
    engine: DuckDBEngine, prepared: Prepared, rule: Bounding, *, rows: int, key: int, what: What
) -> tuple[Counts, Counts]:
    """Item counts and item×context counts; equal tables where there are no contexts.

    ``rows`` only sizes the work: the result does not depend on it.
    """
    domain, width = prepared.domain, prepared.domain.contexts_size
    edges: list[Cells] = []
    items: list[Cells] = []
    parts = engine.parts(rows)
    for part in range(parts):
        table = prepared.table
        if parts > 1:
            table = table.filter(engine.hash(0, [table.user]) % parts == part)
        kept = rule.keep(engine, table, cells=domain.size, key=key, what=what)
        if what == "users":
            kept = engine.materialise(kept, "kept")
        edges.append(_tally(engine, kept, "cell"))
        if what == "users":
            # A user who met one item in two contexts is one user of that item.
            met = kept.select("user", cell=(kept.cell // width).cast("int64")).distinct()
            items.append(_tally(engine, met, "cell"))
    edge_cells = _sum(edges)
    item_cells = _sum(items) if what == "users" else _fold(edge_cells, width)
    bound = rule.l1_bound
    return (
        Counts((domain.items,), *item_cells, what=what, l1_bound=bound),
        Counts(domain.axes, *edge_cells, what=what, l1_bound=bound),
    )


def _tally(engine: DuckDBEngine, table: ibis.Table, column: str) -> Cells:
    counted = engine.arrays(table.group_by(column).agg(times=table.count()))
    return counted[column], counted["times"]


def _sum(parts: list[Cells]) -> Cells:
    cells = np.concatenate([cells for cells, _ in parts])
    values = np.concatenate([values for _, values in parts])
    return _fold((cells, values), 1)


def _fold(cells: Cells, width: int) -> Cells:
    """Add up the cells that fall together when numbers are divided by ``width``."""
    order = np.argsort(cells[0], kind="stable")
    numbers, values = cells[0][order] // width, cells[1][order]
    if len(numbers) == 0:
        return numbers, values
    starts = np.flatnonzero(np.concatenate(([True], numbers[1:] != numbers[:-1])))
    return numbers[starts], np.add.reduceat(values, starts)
