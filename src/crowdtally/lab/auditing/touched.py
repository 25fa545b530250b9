"""Of a large table, the cells that one user can have changed: all that an attacker looks at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from crowdtally.core.counts import Counts
from crowdtally.core.layout import Crossed, Pairs, Picked
from crowdtally.core.numbers import positions
from crowdtally.curator.converse import Released
from crowdtally.curator.request.request import Request
from crowdtally.curator.table import AnyTable
from crowdtally.format import NoisyTable
from crowdtally.lab.auditing.databases import Pair

_SMALL = 64
"""Tables up to this size are looked at as they are."""

Touched = Mapping[str, NDArray[np.int64]]


def touched_cells(request: Request, pair: Pair) -> Touched:
    """For each table that is not small: the numbers of what is published of her cells."""
    ranked = [request.popularity] if request.popularity is not None else []
    return {
        table.name: _published(request, table, pair)
        for table in (*ranked, *request.tables)
        if table.layout.size > _SMALL
    }


def _published(request: Request, table: AnyTable, pair: Pair) -> NDArray[np.int64]:
    assert request.domain is not None
    if isinstance(table.cells, Pairs):
        items = sorted({record.cell[0] for record in pair.hers})
        numbers = [j * (j - 1) // 2 + i for j in items for i in items if i < j]
    else:
        width = request.domain.size // table.cells.size
        numbers = [request.domain.cell(record.cell) // width for record in pair.hers]
    times = Counter(numbers)
    cells = np.array(sorted(times), dtype=np.int64)
    values = np.array([times[int(cell)] for cell in cells], dtype=np.int64)
    bound = max(int(values.sum()), 1)
    made = table.transform.apply(Counts(table.cells.size, cells, values, bound), table.cells)
    return np.sort(made.cells.astype(np.int64))


def seen_of(released: Released, touched: Touched) -> Released:
    """The release with large tables cut down to these cells, and chosen items by their names."""
    tables = [_named(table) for table in released.tables]
    return replace(released, tables=tuple(_cut(table, touched.get(table.name)) for table in tables))


def _named(table: NoisyTable) -> NoisyTable:
    """A table of chosen items as one of all items, of which some were published.

    Which items are chosen differs from run to run: a number must mean the same item in each.
    """
    layout = table.layout
    if isinstance(layout, Picked):
        return replace(table, layout=layout.of, cells=layout.places)
    if isinstance(layout, Crossed) and isinstance(layout.first, Picked):
        width = layout.second.size
        cells = layout.first.places[:, None] * width + np.arange(width)
        return replace(table, layout=Crossed(layout.first.of, layout.second), cells=cells.ravel())
    return table


def _cut(table: NoisyTable, cells: NDArray[np.int64] | None) -> NoisyTable:
    if cells is None:
        return table
    if table.cells is None:
        return replace(table, cells=cells, values=table.values[cells])
    place, found = positions(table.cells, cells)
    return replace(table, cells=cells[found], values=table.values[place[found]])
