"""How many rows fall out, counted in the same pass as what is kept.

Prepared rows are *all* rows of the source for which its condition holds: one outside the domain has
no cell (null), one of nobody has no user. An aggregate that groups them carries two numbers along,
``rows`` and ``inside`` (those that have a cell), so that one result says both what is counted and
what is not.

Nothing without a user or without a cell is ever kept or counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass

import ibis
import numpy as np
from numpy.typing import NDArray

from crowdtally.curator.engine.relations import Column, Rows, constant, either

CARRIED = ("rows", "inexact")
"""The numbers that rows carry along after equal ones were put together."""


@dataclass(frozen=True)
class Dropped:
    """How many rows will not be counted. For the curator's eyes, never in a release."""

    rows: int
    """All rows of the source; with a condition, those for which it holds."""
    without_user: int
    """Rows whose user is null."""
    outside: int
    """Rows with a user but an item or context outside the lists, or no partner in a join."""
    inexact: int = 0
    """Rows of both kinds that hold a value which a column without a schema cannot vouch for."""

    @classmethod
    def of(cls, counted: Mapping[str, NDArray[np.int64]]) -> Dropped:
        """From the one row of a :func:`census`."""
        total = {name: int(column[0]) for name, column in counted.items()}
        rows, users = total["rows"], total["users"]
        return cls(rows, rows - users, users - total["inside"], total.get("inexact", 0))

    @classmethod
    def total(cls, parts: Iterable[Dropped]) -> Dropped:
        """Of all parts together."""
        return cls(*map(sum, zip(*map(astuple, parts), strict=True)))


def carried(table: Rows, cell: Column) -> dict[str, Column]:
    """What an aggregate carries along; ``cell`` is null for each row outside the domain."""
    inexact = {"inexact": _sum(table.inexact)} if "inexact" in table.columns else {}
    if "rows" in table.columns:
        return {"rows": _sum(table.rows), "inside": _sum(_where(cell, table.rows))} | inexact
    return {"rows": table.count(), "inside": cell.count()} | inexact


def cell_parts(rows: Rows) -> list[str]:
    """The columns that name a cell: its number, or where columns are discovered its values."""
    return [name for name in rows.columns if name == "cell" or name.startswith("cell_")]


def grouped(rows: Rows) -> Rows:
    """(user, cell) → (user, cell, rows[, inexact]): equal ones once, nulls as well.

    With a quantity, ``quantity`` is that of all rows of a user in a cell together.
    """
    numbers = carried(rows, rows.cell)
    del numbers["inside"]  # all of a cell's rows are inside, and none of those without a cell
    if "quantity" in rows.columns:
        numbers["quantity"] = _sum(rows.quantity)
    return rows.group_by("user", *cell_parts(rows)).agg(**numbers)


def countable(same: Rows) -> Rows:
    """Those that have a user and a cell."""
    return same.filter(same.user.notnull(), same.cell.notnull())


def census(table: Rows) -> Rows:
    """All rows, or an aggregate that carries their numbers along → one row that adds them up."""
    if "rows" not in table.columns:
        table = table.mutate(rows=constant(1))
    rows = table.rows
    inside = table.inside if "inside" in table.columns else _where(table.cell, rows)
    users = rows
    if "user" in table.columns:
        users, inside = _where(table.user, users), _where(table.user, inside)
    numbers = {"rows": rows, "users": users, "inside": inside}
    if "inexact" in table.columns:
        numbers["inexact"] = table.inexact
    return table.aggregate(**{name: _sum(column) for name, column in numbers.items()})


def _where(known: Column, number: Column) -> Column:
    return either(known.notnull(), number, constant(0))


def _sum(column: Column) -> Column:
    return ibis.coalesce(column.sum(), 0).cast("int64")
