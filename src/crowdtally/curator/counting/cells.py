"""Cells and their counts as arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdtally.core.domain import Domain
from crowdtally.core.numbers import group_equal
from crowdtally.records.engine import Engine, Rows
from crowdtally.records.matching import cell_numbers

Cells = tuple[NDArray[Any], NDArray[np.int64]]
"""Cell numbers, ascending, and their counts."""


def tally(engine: Engine, rows: Rows, domain: Domain, most: int = 1) -> Cells:
    """How many rows each cell has.

    With ``most``, cells are numbered by cell and quantity, and each row counts as often as it says.
    """
    times = rows.count()
    if most > 1:
        rows = rows.select(cell=(rows.cell // most).cast("int64"), quantity=rows.cell % most + 1)
        times = rows.quantity.sum().cast("int64")
    return cells_of(engine.columns(rows.group_by("cell").agg(times=times)), "times", domain)


def cells_of(columns: Mapping[str, NDArray[Any]], value: str, domain: Domain) -> Cells:
    """The fetched columns as ascending cells and their values, zeros left out."""
    numbers = cell_numbers(columns["cell"], domain)
    cells, values = fold((numbers, np.asarray(columns[value], dtype=np.int64)), 1)
    return cells[values != 0], values[values != 0]


def total(parts: Sequence[Cells]) -> Cells:
    """The sum of tables."""
    if len(parts) == 1:
        return parts[0]
    cells = np.concatenate([cells for cells, _ in parts])
    values = np.concatenate([values for _, values in parts])
    return fold((cells, values), 1)


def fold(cells: Cells, width: int) -> Cells:
    """Add up the cells that fall together when numbers are divided by ``width``."""
    together = group_equal(cells[0] // width)
    return together.numbers, together.sums(cells[1])
