"""Questions about users' whole rows: how long they are, and what they add up to once scaled.

A user's row is all that she has in the lists. Each measure states here what one user can change,
for every database; ``counting/rows.py`` counts it, and ``methods/auto.md`` proves it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import Literal, NamedTuple

from crowdtally.core.layout import Layout
from crowdtally.core.privacy import Price
from crowdtally.curator.bounding.scaling import GRID
from crowdtally.curator.questions import TableQuestion
from crowdtally.curator.summaries.base import Dense, Publishing
from crowdtally.curator.table import AnyTable, Table, members_table
from crowdtally.laws.interval import phantoms_for
from crowdtally.ledger import Part

Over = Literal["items", "cells", "contexts"]
"""What records are added up by: items, items in contexts, or contexts alone."""


class Bound(NamedTuple):
    """What one user can change in a table."""

    l1: int
    """In L1, in units."""
    squared: int
    """The square of it in L2."""
    unit: Fraction
    """What a unit means as a count."""


@dataclass(frozen=True)
class UserRows:
    """Which records a row has."""

    per_user: bool
    """Whether all of a user's records are in one context, one of those that she has."""
    repeats: bool
    """Whether all her records at an item count; else one of them does, in its own context."""

    def scaled(self, bound: int, over: Over) -> Bound:
        """Of a row that is scaled to a sum of at most ``bound`` records.

        In L1 that is g·bound. R ones weigh ⌊g·bound/R⌋ each, or g where they fit: together no
        more than g²·bound in squares. Several records at one item, or in one context, may add up
        to the whole g·bound in one cell.
        """
        ones = not self.repeats and over != "contexts"
        return Bound(GRID * bound, GRID**2 * bound ** (1 if ones else 2), Fraction(1, GRID))

    def normed(self, bound: int, cells: int) -> Bound:
        """Of a row of ones, each in a cell of its own, whose squares are scaled to ``bound``.

        R ones weigh ⌊√⌊g²·bound/R⌋⌋ each, or g where they fit: together no more than g²·bound in
        squares, and so no more than its root times that of the number of cells in L1.
        """
        if self.repeats:
            raise TypeError("rows with repeats are scaled to a sum")
        squared = GRID**2 * bound
        return Bound(isqrt(squared * cells), squared, Fraction(1, GRID))


@dataclass(frozen=True)
class Lengths:
    """How many users have a row of each length, in bins: a user is in one."""

    def bound(self, rows: UserRows, cells: int) -> Bound:
        return Bound(1, 1, Fraction(1))


@dataclass(frozen=True)
class Whole:
    """How many records there are, at most ``most`` of each user."""

    most: int

    def bound(self, rows: UserRows, cells: int) -> Bound:
        return Bound(self.most, self.most**2, Fraction(1))


@dataclass(frozen=True)
class Scaled:
    """Rows scaled to a bound, each by its own length, added up.

    With ``above``, rows that are no longer are left out; with ``only_to``, those that are longer.
    The class of a user is a function of her own row alone, so she is in one of two such tables.
    """

    to: int
    """θ, in records; a class of short rows is scaled to its longest, which scales nothing."""
    over: Over = "items"
    above: int = 0
    only_to: int | None = None
    by_norm: bool = False
    """Whether the squares of a row are scaled to θ instead: for rows of ones and Gaussian noise.
    Sums of such weights are bounded by nothing: contexts are scaled to a sum."""

    def __post_init__(self) -> None:
        if self.by_norm and self.over == "contexts":
            raise TypeError("a context adds several records of a user up: scale it to a sum")

    def bound(self, rows: UserRows, cells: int) -> Bound:
        if self.by_norm:
            return rows.normed(self.to, cells)
        return rows.scaled(self.to, self.over)


@dataclass(frozen=True)
class Inside:
    """Rows cut to some items and scaled to a bound, each by the length of what was cut out."""

    places: tuple[int, ...]
    """The items, ascending."""
    to: int

    def bound(self, rows: UserRows, cells: int) -> Bound:
        return rows.scaled(self.to, "items")


@dataclass(frozen=True)
class UsersInside:
    """The distinct users of some items: nobody is bounded."""

    places: tuple[int, ...]


Measure = Lengths | Whole | Scaled | Inside | UsersInside
_WHOLE = Dense()


@dataclass(frozen=True)
class RowQuestion(TableQuestion):
    """Several measures of the same rows, each with its own table, noise and price."""

    rows: UserRows
    measures: tuple[Measure, ...]

    def parts(self) -> tuple[Part, ...]:
        """A table of short rows costs nothing beside that of the others: a user is in one."""
        asked = list(zip(self.measures, self.tables, strict=True))
        others: Counter[tuple[int | None, Price]] = Counter(
            (one.above, table.price) for one, table in asked if isinstance(one, Scaled)
        )
        paid = []
        for one, table in asked:
            beside = (one.only_to, table.price) if isinstance(one, Scaled) else None
            if beside is not None and others[beside]:  # each of the others has one beside it
                others[beside] -= 1
            else:
                paid.append(table.charge())
        return tuple(paid)


def row_table(
    name: str, cells: Layout, price: Price, measure: Measure, rows: UserRows, *,
    publishing: Publishing = _WHOLE, ranked: bool = False,
) -> AnyTable:  # fmt: skip
    """The table of a measure, with the bound that the measure states.

    Distinct users have a few empty cells drawn beside them, except where only ranks matter.
    """
    if isinstance(measure, UsersInside):
        phantoms = 0 if ranked else phantoms_for(cells.size)
        return members_table(name, name, cells, price, phantoms)
    l1, squared, unit = measure.bound(rows, cells.size)
    return Table(name, name, cells, price, l1, unit, publishing=publishing, squared=squared)
