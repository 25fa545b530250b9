"""Records → numbers of cells: each value matched with its public list."""

from __future__ import annotations

from functools import reduce
from typing import Any

import ibis
import numpy as np
from numpy.typing import NDArray

from crowdtally.curator.engine.engine import Engine
from crowdtally.curator.engine.relations import Column, Rows, either
from crowdtally.values.domain import Axis, Domain

WIDEST = 2**62
"""Cells up to which a cell's number is computed by the engine."""


def with_cells(engine: Engine, rows: Rows, domain: Domain) -> Rows:
    """Rows with the values ``axis_0``, ``axis_1``, … → the same rows, and the ``cell`` of each.

    A row with a value outside its list has no cell: null.
    """
    codes = []
    for number, axis in enumerate(domain.axes):
        value, code = f"axis_{number}", f"code_{number}"
        place = _place(rows[value], axis) if is_range(axis) else engine.place_in(rows[value], axis)
        if place is not None:
            rows = rows.mutate(**{code: place})
        else:
            listed = engine.load_axis(value, axis)  # (value, code), each value once
            listed = listed.rename({f"value_{number}": "value", code: "code"})
            rows = rows.left_join(listed, rows[value] == listed[f"value_{number}"])
        codes.append(code)
    return rows.mutate(cell=_cell([rows[code] for code in codes], domain))


def is_range(axis: Axis) -> bool:
    """Whether the list is the whole numbers from its first to its last, ascending by ones."""
    if axis.kind != "integer":
        return False
    first, last = int(axis.values[0]), int(axis.values[-1])  # their difference may need 65 bits
    return last - first == len(axis) - 1 and bool((axis.values[1:] > axis.values[:-1]).all())


def _place(value: Column, axis: Axis) -> Column:
    """The place of a value in a range; it is compared first: a difference may not fit 64 bits."""
    first, last = (ibis.literal(int(axis.values[end]), "int64") for end in (0, -1))
    return either((value >= first) & (value <= last), value - first, ibis.null("int64"))


def _cell(codes: list[Column], domain: Domain) -> Column:
    """The cell's number; where 64 bits do not hold all of them, the codes as text."""
    if domain.size > WIDEST:
        # Joining texts passes over a null: what is left would be another cell, or none.
        text = ibis.literal(".").join([code.cast("string") for code in codes])
        known = reduce(lambda one, other: one & other, (code.notnull() for code in codes))
        return either(known, text, ibis.null("string"))
    cell = codes[0]
    for code, axis in zip(codes[1:], domain.axes[1:], strict=True):
        cell = cell * len(axis) + code
    return cell


def cell_numbers(cells: NDArray[Any], domain: Domain) -> NDArray[Any]:
    """The numbers of cells as they were fetched: 64-bit, or Python integers beyond that."""
    if domain.size <= WIDEST:
        return np.asarray(cells, dtype=np.int64)
    numbers = np.empty(len(cells), dtype=object)
    numbers[:] = [domain.cell([int(code) for code in text.split(".")]) for text in cells]
    return numbers
