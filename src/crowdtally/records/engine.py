"""The protocol of an engine, the words in which rules speak about rows, and dropped rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from types import MappingProxyType
from typing import Any, Protocol, Self, TypeAlias

import ibis
import numpy as np
from numpy.typing import NDArray

from crowdtally.core.domain import Axis
from crowdtally.errors import CrowdtallyError
from crowdtally.records.columns import SourceColumn
from crowdtally.records.locate import Located

# Ibis under names of our own, so that rules need not import it.

Rows: TypeAlias = ibis.Table
"""Rows that an engine holds or can compute; none of them is in this process."""
Column: TypeAlias = ibis.Value  # one value for each row
Types: TypeAlias = Mapping[str, str]
"""The type that the curator declares for each of some columns, by its name in ``types.TYPES``."""
NO_TYPES: Types = MappingProxyType({})

_LOW = 20  # the low bits of a weight, which are added up separately
_HELD = 61
HELD_AT = 1 << _HELD  # the largest result of a sum of weights


@dataclass(frozen=True)
class Kept:
    """What a rule keeps of the records, and how many rows it saw on the way."""

    rows: Rows
    """(user, cell) of each record that is kept."""
    census: Rows | None = None
    """The one row of :func:`census`; None where the rows must be read once more to count them."""
    shared: Rows | None = None
    """The part that both depend on, to be computed once."""


def constant(number: int) -> Column:
    return ibis.literal(number, type="int64")


def places(group: Column, value: Column) -> Column:
    """The place of each row in its group, from 0, in the order of a value; nulls come last."""
    order = value.asc(nulls_first=False)
    return ibis.row_number().over(group_by=group, order_by=order).cast("int64")


def sum_of(column: Column) -> Column:
    """The sum of whole numbers, in 64 bits."""
    return in_64_bits(column.sum())


def held_sum(column: Column) -> Column:
    """The sum of weights of 0 … 2^40, exact below 2^61 and at most 2^61; in 64 bits for any rows.

    The number of users is unknown before the charge, and no sum over them may overflow after it.
    The lower 20 bits and the rest are added up separately, and the sum of the rest is cut at 2^41.
    Each part of a weight moves the result by that part or less, so no user moves it by more than
    she moves the sum. Weights up to 2^52 are added up as well where they are fewer than 2^30.
    """
    upper = smaller(sum_of(column >> _LOW), constant(1 << (_HELD - _LOW)))
    lower = sum_of(column & ((1 << _LOW) - 1))
    return (upper * (1 << _LOW) + lower).cast("int64")


def in_64_bits(column: Column) -> Column:
    """A whole number that fits, in 64 bits.

    DuckDB adds up in 128 bits, in which every later division is slow. Ibis takes a sum for one of
    64 bits and would drop a plain cast.
    """
    return column.cast("decimal(19, 0)").cast("int64")


def smaller(first: Column, second: Any) -> Column:
    return ibis.least(first, second)


def either(condition: Column, then: Column, otherwise: Column) -> Column:
    """``then`` where the condition is true; ``otherwise`` where it is false or null."""
    return ibis.ifelse(condition, then, otherwise)


def standing_on(rows: Rows, part: Rows, held: Rows) -> Rows:
    """The same rows, computed from a part of them that is materialised already."""
    return rows if held is part else rows.op().replace({part.op(): held.op()}).to_expr()


class MemoryFullError(CrowdtallyError):
    """The work does not fit the memory; in smaller parts it may."""


class Engine(Protocol):
    """Runs Ibis expressions over records, on one machine or on many.

    Contract: recomputing any part of an expression gives the same result, because nothing here is
    random; only what :meth:`arrays` and :meth:`columns` return leaves the engine.
    """

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...

    def open(
        self, located: Located, name: str, keys: Iterable[str] = (), types: Types = NO_TYPES
    ) -> dict[str, SourceColumn]:
        """Define the view ``name`` over a source; return its columns.

        A column whose type was inferred is its canonical text, unless ``types`` declares its type.
        Beside each of ``keys`` stands its text.
        """

    def in_zone(self, zone: str) -> None:
        """Turn times into days and hours in this zone from now on.

        A zone decides what expressions make of a time, never whose record it is: the instants and
        texts of sources stay the same.
        """

    def define(self, name: str, query: str, of: str = "the records") -> None:
        """Define a view by a query in DuckDB's SQL; messages call its rows ``of``."""

    def schema(self, name: str) -> dict[str, str]:
        """Columns of a table or view, and DuckDB's names of their types."""

    def table(self, name: str) -> ibis.Table: ...

    def load_axis(self, name: str, axis: Axis) -> ibis.Table:
        """A table (value, code) of a public list."""

    def place_in(self, value: ibis.Value, axis: Axis) -> ibis.Value | None:
        """The place of a value in a public list, or null; None where a join is as quick."""

    def load(self, name: str, columns: Mapping[str, NDArray[Any]]) -> ibis.Table:
        """A table of public or already released columns."""

    def check_row_wise(self, sql: str, what: str, clause: str) -> None:
        """Refuse an expression that this engine would not compute for each row by itself.

        ``clause`` is what follows FROM: it decides the types of the columns.
        """

    def hash(self, key: int, columns: Sequence[ibis.Value]) -> ibis.Value:
        """A hash of (key, columns) in 0 … 2^63 − 1; nulls are values like any other."""

    def least(self, table: ibis.Table, limit: int) -> Kept:
        """Each user's ``limit`` smallest priorities, as :func:`least` defines them."""

    def arrays(self, expression: ibis.Table) -> dict[str, NDArray[np.int64]]: ...

    def columns(self, expression: ibis.Table) -> dict[str, NDArray[Any]]:
        """The result's columns, text as object arrays."""

    def materialise(self, expression: ibis.Table, name: str) -> ibis.Table:
        """Compute once into a temporary table."""

    def parts(self) -> int:
        """Into how many parts, by user, the records are cut so that the work fits the memory.

        From the sizes in footers and catalogues, or a file's bytes; no record is read. It may be
        too few: then the work raises :class:`MemoryFullError`.
        """


# Dropped rows are counted in the same pass as kept ones.
#
# Prepared rows are *all* rows of the source for which its condition holds. Their cell is null
# outside the domain, and their user may be null; such a row is never kept or counted. An aggregate
# carries two numbers along: ``rows``, and ``inside`` (those that have a cell).

CARRIED = ("rows", "inexact")  # the numbers that stay with rows after equal ones were grouped


@dataclass(frozen=True)
class Dropped:
    """How many rows will not be counted. For the curator's eyes, never in a release."""

    rows: int
    """All rows of the source; with a condition, those for which it holds."""
    without_user: int
    outside: int
    """Rows with a user but an item or context outside the lists, or no partner in a join."""
    inexact: int = 0
    """Rows of both kinds with a value that may be inexact, in a column of inferred type."""

    @classmethod
    def of(cls, counted: Mapping[str, NDArray[np.int64]]) -> Dropped:
        """From the one row of a :func:`census`."""
        total = {name: int(column[0]) for name, column in counted.items()}
        rows, users = total["rows"], total["users"]
        return cls(rows, rows - users, users - total["inside"], total.get("inexact", 0))

    @classmethod
    def total(cls, parts: Iterable[Dropped]) -> Dropped:
        return cls(*map(sum, zip(*map(astuple, parts), strict=True)))


def carried(table: Rows, cell: Column) -> dict[str, Column]:
    """The numbers that an aggregate carries along; ``cell`` is null outside the domain."""
    inexact = {"inexact": _sum(table.inexact)} if "inexact" in table.columns else {}
    if "rows" in table.columns:
        return {"rows": _sum(table.rows), "inside": _sum(_where(cell, table.rows))} | inexact
    return {"rows": table.count(), "inside": cell.count()} | inexact


def cell_parts(rows: Rows) -> list[str]:
    """The columns that name a cell: its number, or where columns are discovered its values."""
    return [name for name in rows.columns if name == "cell" or name.startswith("cell_")]


def grouped(rows: Rows) -> Rows:
    """Group (user, cell), nulls as well; a user's quantities in a cell are added up."""
    numbers = carried(rows, rows.cell)
    del numbers["inside"]  # all of a cell's rows are inside, and none of those without a cell
    if "quantity" in rows.columns:
        numbers["quantity"] = _sum(rows.quantity)
    return rows.group_by("user", *cell_parts(rows)).agg(**numbers)


def countable(same: Rows) -> Rows:
    """Rows that have a user and a cell."""
    return same.filter(same.user.notnull(), same.cell.notnull())


def census(table: Rows) -> Rows:
    """One row that counts all rows, or adds up the numbers that an aggregate carries along."""
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


def least(table: ibis.Table, limit: int) -> ibis.Table:
    """The ``limit`` rows of each user that come first by priority, then by cell.

    Rows without a user, a priority or a cell are not kept. Rows that are equal in both are
    interchangeable: ``row_number`` picks the same multiset however the engine orders them, and
    ``rank`` would keep all of them.
    """
    names = [name for name in ("user", "priority") if name in table.columns]
    names += cell_parts(table)
    known = table.filter(*(table[name].notnull() for name in names))
    order = [known[name] for name in names[1:]]
    kept = known.mutate(position=ibis.row_number().over(group_by=known.user, order_by=order))
    return kept.filter(kept.position < limit).select(*names)
