"""The words in which rules speak about records: rows, columns and a few row-wise functions.

This is Ibis, under names of our own, so that Ibis itself is imported inside the engine alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import ibis

Rows: TypeAlias = ibis.Table
"""Rows that an engine holds or can compute; none of them is in this process."""
Column: TypeAlias = ibis.Value
"""One value for each row."""

_LOW = 20
"""The bits of a weight that are added up apart."""
_HELD = 61
HELD_AT = 1 << _HELD
"""What sums of weights are held at."""


@dataclass(frozen=True)
class Kept:
    """What a rule keeps of the records, and how many rows it saw on the way."""

    rows: Rows
    """(user, cell) of each record that is kept."""
    census: Rows | None = None
    """One row that counts all rows, as ``census.census`` does; None where that is to be done by
    a look of its own at the rows."""
    shared: Rows | None = None
    """The part that both rest upon, to be computed once."""


def constant(number: int) -> Column:
    """The same whole number for each row."""
    return ibis.literal(number, type="int64")


def places(group: Column, value: Column) -> Column:
    """The place of each row in its group, from 0, in the order of a value; nulls come last."""
    order = value.asc(nulls_first=False)
    return ibis.row_number().over(group_by=group, order_by=order).cast("int64")


def sum_of(column: Column) -> Column:
    """The sum of whole numbers, in 64 bits."""
    return in_64_bits(column.sum())


def held_sum(column: Column) -> Column:
    """The sum of weights of 0 … 2^40, exact below 2^61 and held there; in 64 bits for any rows.

    For sums over users, whose number nobody knows before the charge: none of them can fail after
    it. The lower 20 bits and the rest are added up apart, and the sum of the rest is held at 2^41.
    Each part of a weight moves the result by that part or less, so no user moves it by more than
    she moves the sum. Weights up to 2^52 are added up as well where they are fewer than 2^30.
    """
    upper = smaller(sum_of(column >> _LOW), constant(1 << (_HELD - _LOW)))
    lower = sum_of(column & ((1 << _LOW) - 1))
    return (upper * (1 << _LOW) + lower).cast("int64")


def in_64_bits(column: Column) -> Column:
    """A whole number that fits, in 64 bits.

    DuckDB adds numbers up in 128 bits, in which every later division is slow; to Ibis a sum has 64
    bits already, so that a plain cast would be dropped.
    """
    return column.cast("decimal(19, 0)").cast("int64")


def smaller(first: Column, second: Any) -> Column:
    """The smaller of two values."""
    return ibis.least(first, second)


def either(condition: Column, then: Column, otherwise: Column) -> Column:
    """``then`` where the condition holds, else ``otherwise``."""
    return ibis.ifelse(condition, then, otherwise)


def standing_on(rows: Rows, part: Rows, held: Rows) -> Rows:
    """The same rows, computed from a part of them that is already held."""
    return rows if held is part else rows.op().replace({part.op(): held.op()}).to_expr()
