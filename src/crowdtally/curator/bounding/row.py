"""Rows without an id: nothing is cut, and how many of them are one person's is a public statement.

``--user-per-row``: one. ``--bounded-to L``: at most L. The proof note is ``row.md``.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from crowdtally.core.counts import What
from crowdtally.core.domain import columns_of
from crowdtally.core.records import Records


@dataclass(frozen=True)
class EveryRow:
    """Contract: one person is one row, or one of those that a row's weight counts: L1 = 1."""

    takes: ClassVar[frozenset[str]] = frozenset()
    choices: ClassVar[tuple[str, ...]] = ()
    keeps_records: ClassVar[bool] = False

    limit: int = 1
    """L: the most rows that are one person's."""

    @classmethod
    def of(cls, records: Records) -> EveryRow:
        """What the declaration says about rows without an id."""
        if records.bounded_to is None:
            return cls()
        return Stated(records.bounded_to, records.cells_once, columns_of(records))

    @property
    def name(self) -> str:
        """What the release calls it; no option of a person's."""
        return "row"

    @property
    def l1_bound(self) -> int:
        """Each row changes one cell of each table, by 1."""
        return self.limit

    def l2_squared(self, what: What) -> int:
        """All of them may be in one cell."""
        return self.limit**2

    def squared_in(self, columns: Collection[str]) -> int:
        """The L2 bound of a table with these columns, squared."""
        return self.limit**2

    @property
    def unit(self) -> Fraction:
        """Rows are counted."""
        return Fraction(1)

    def facts(self) -> dict[str, Any]:
        """It has no parameters beside its bound."""
        return {}


@dataclass(frozen=True)
class Stated(EveryRow):
    """Contract: no person has more than L rows. Whoever publishes says so; nothing checks it."""

    once: bool = False
    """Whether no two rows of a person agree in all of :attr:`columns`: this too is stated."""
    columns: tuple[str, ...] = ()
    """The columns that name a cell."""

    @property
    def name(self) -> str:
        """What the release calls it."""
        return "stated"

    def squared_in(self, columns: Collection[str]) -> int:
        """L where each of L rows is in a cell of its own; else L².

        What is stated is about whole cells. Rows of one item in several contexts are in one cell of
        the items' table.
        """
        return self.limit if self.once and set(columns) >= set(self.columns) else self.limit**2
