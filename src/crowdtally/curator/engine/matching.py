"""Records → numbers of cells: each value matched with its public list."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import Any

import ibis
import numpy as np
from numpy.typing import NDArray

from crowdtally.core.domain import Axis, Domain, OpenDomain
from crowdtally.curator.engine.engine import Engine
from crowdtally.curator.engine.relations import Column, Rows, either

WIDEST = 2**62
"""Cells up to which a cell's number is computed by the engine."""


def with_cells(engine: Engine, rows: Rows, domain: Domain) -> Rows:
    """Rows with the values ``axis_0``, ``axis_1``, … → the same rows, and the ``cell`` of each.

    A row with a value outside its list has no cell: null.
    """
    rows = with_codes(engine, rows, dict(enumerate(domain.axes)))
    codes = [rows[f"code_{number}"] for number in range(len(domain.axes))]
    return rows.mutate(cell=_cell(codes, domain))


def with_codes(engine: Engine, rows: Rows, axes: Mapping[int, Axis]) -> Rows:
    """Rows with values ``axis_N`` → the same rows, and ``code_N``, each value's place in its list.

    A value outside its list has none: null.
    """
    for number, axis in axes.items():
        value, code = f"axis_{number}", f"code_{number}"
        place = _place(rows[value], axis) if is_range(axis) else engine.place_in(rows[value], axis)
        if place is not None:
            rows = rows.mutate(**{code: place})
        else:
            listed = engine.load_axis(value, axis)  # (value, code), each value once
            listed = listed.rename({f"value_{number}": "value", code: "code"})
            rows = rows.left_join(listed, rows[value] == listed[f"value_{number}"])
    return rows


def with_values(engine: Engine, rows: Rows, domain: OpenDomain) -> Rows:
    """Rows with the values ``axis_0``, … → the same rows, and ``cell``, ``cell_1``, … of each.

    They are the values themselves, and of a column with a public list the place in it. A row
    without a value, or with one outside its list, has no ``cell``: null.
    """
    numbered = enumerate(domain.columns)
    listed = {number: domain.lists[name] for number, name in numbered if name in domain.lists}
    rows = with_codes(engine, rows, listed)
    parts = [
        rows[f"code_{number}" if number in listed else f"axis_{number}"]
        for number in range(len(domain.columns))
    ]
    known = reduce(lambda one, other: one & other, (part.notnull() for part in parts))
    first = either(known, parts[0], ibis.null(parts[0].type())) if parts[1:] else parts[0]
    more = {f"cell_{number}": part for number, part in enumerate(parts) if number}
    return rows.mutate(cell=first, **more)


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
