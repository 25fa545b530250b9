"""What will stand out of the noise of a planned table, from public numbers and guesses alone."""

from __future__ import annotations

from collections.abc import Mapping
from math import floor, sqrt
from typing import Any

from crowdtally.core.layout import KINDS
from crowdtally.curator.measured import AnyTable
from crowdtally.curator.request.request import Request
from crowdtally.laws.base import Terms, as_counts

NOTHING: Mapping[str, Any] = {
    "noise_floor": None,
    "noise_floor_over": None,
    "cells_counted": None,
    "stands_out_from_total": None,
    "guessed_per_cell": None,
    "will_be_noise": None,
}
"""Of a table that no list is taken from, or whose cells are not known."""


def standing(request: Request, table: AnyTable, guessed: int | None) -> dict[str, Any]:
    """The noise floor of a list from a table, and whether the guessed counts are above it.

    Args:
        request: what the table is of.
        table: the table.
        guessed: how many records, or users, it will count in all; None without a guess.
    """
    if not KINDS[table.name].answers:
        return dict(NOTHING)
    lines = _lines(request, table)
    dense = not table.publishing.leaves_out
    squares = table.transform.squares(table.cells, 1, dense=dense)
    if squares == int(squares):
        units = table.law.floor(lines, Terms.of_cells(int(squares)))
    else:  # weighted noises of a transform: about as one noise of the same variance
        units = table.law.floor(lines) * sqrt(squares)
    noise_floor, cells = as_counts(units, table.law.unit), table.cells.size
    each = None if guessed is None else guessed / cells
    return {
        "noise_floor": noise_floor,
        "noise_floor_over": lines,
        "cells_counted": cells,
        "stands_out_from_total": (floor(noise_floor) + 1) * cells,
        "guessed_per_cell": each,
        "will_be_noise": None if each is None else each <= noise_floor,
    }


def _lines(request: Request, table: AnyTable) -> int:
    """How many lines a list has: every item, in one context; or every pair or cell."""
    domain = request.domain
    if domain is not None and domain.has_items and not KINDS[table.name].is_pairs:
        return len(domain.items)
    return table.cells.size


def guessed_total(request: Request, users: int | None, records: int | None) -> int | None:
    """The public guess of what will be counted: the total, or the records that bounding keeps."""
    if request.guess_total:
        return request.guess_total
    if records is None or request.records.quantity is not None:
        return None  # how often records count is not known by how many there are
    if users is None or request.records.user is None:
        return records
    if request.measured:
        return records  # nobody is bounded: each record adds a user at most
    return min(records, users * request.method.rule.limit)
