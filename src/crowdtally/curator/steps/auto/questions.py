"""What steps count: rows that are scaled, or distinct users."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdtally.core.counts import Counts, Memberships
from crowdtally.core.layout import Crossed, Layout, Numbered, Picked, grid
from crowdtally.core.privacy import Price
from crowdtally.curator.bounding.scaling import GRID
from crowdtally.curator.counting.rows import (
    UNIT,
    Visits,
    all_members,
    all_members_by_context,
    bounds_of,
    members,
    scaled_groups,
    scaled_inside,
    scaled_totals,
)
from crowdtally.curator.request.method import AUTO_PART
from crowdtally.curator.steps.auto.design import Design
from crowdtally.curator.table import Measured, MembersTable, Table, members_table
from crowdtally.inference.rows import Norm
from crowdtally.laws.interval import phantoms_for

Ints = NDArray[np.int64]


def _scaled(
    name: str, layout: Layout, price: Price, bound: int, squared: int | None = None
) -> Table:
    return Table(name, AUTO_PART, layout, price, bound, UNIT, squared=squared)


@dataclass(frozen=True, eq=False)
class AllItems:
    """Rows without some items, scaled to a bound. L1 = the bound, in counts; or L2 is."""

    design: Design
    """What is public."""
    name: str
    """Of the table."""
    bound: int
    """What rows are scaled to."""
    without: Ints
    """The items that leave every row: the crowd."""
    norm: Norm = "l1"
    """Whether the sum of a row is bounded, or its Euclidean norm."""

    def count(self, visits: Visits) -> Counts:
        """Totals of all items; 0 for those without."""
        size = self.design.items
        return scaled_totals(visits, self.bound, size, without=self.without, norm=self.norm)

    def table(self, price: Price) -> Table:
        """Every item; the items' own table as it is published, all of it or the most of it."""
        ones = not self.design.repeats
        l1, squared = bounds_of(self.bound, self.design.items, self.norm, ones=ones)
        if self.name != self.design.table.name:
            return _scaled(self.name, self.design.cells, price, l1, squared)
        own = self.design.table
        return replace(own, price=price, bound=l1, unit=UNIT, squared=squared, settled=True)

    def extra(self) -> Mapping[str, Any]:
        """Nothing more."""
        return {}


@dataclass(frozen=True, eq=False)
class ChosenItems:
    """Rows inside chosen items, scaled to a bound of their own. L1 = that bound; or L2 is."""

    design: Design
    """What is public."""
    name: str
    """Of the table."""
    bound: int
    """What rows are scaled to, inside."""
    chosen: Ints
    """The items, ascending."""
    norm: Norm = "l1"
    """Whether the sum of a row is bounded, or its Euclidean norm."""

    def count(self, visits: Visits) -> Counts:
        """Totals of the chosen items."""
        return scaled_inside(visits, self.bound, self.chosen, norm=self.norm)

    def table(self, price: Price) -> Table:
        """Every chosen item."""
        ones = not self.design.repeats
        bounds = bounds_of(self.bound, len(self.chosen), self.norm, ones=ones)
        return _scaled(self.name, Picked(self.design.cells, self.chosen), price, *bounds)

    def extra(self) -> Mapping[str, Any]:
        """Nothing more: that items were chosen, its kind says."""
        return {}


@dataclass(frozen=True, eq=False)
class Groups:
    """Totals of groups of items, rows without some items scaled to a bound. L1 = the bound."""

    name: str
    """Of the table."""
    bound: int
    """C."""
    groups: Ints
    """The group of each item; −1: in none."""
    number: int
    """How many groups there are."""

    def count(self, visits: Visits) -> Counts:
        """Totals of the groups."""
        without = np.flatnonzero(self.groups < 0)
        return scaled_groups(visits, self.bound, self.groups, self.number, without=without)

    def table(self, price: Price) -> Table:
        """Every group; a row may lie in one of them, so L2 is no less than L1."""
        return _scaled(self.name, Numbered("bin", self.number), price, GRID * self.bound)

    def extra(self) -> Mapping[str, Any]:
        """Which item is in which group: one character each."""
        return {"groups": shown_groups(self.groups)}


def shown_groups(groups: Ints) -> str:
    """One character per item: its group, or - for none.

    >>> shown_groups(np.array([0, 3, -1, 1]))
    '03-1'
    """
    return (np.where(groups < 0, ord("-"), groups + ord("0")).astype(np.uint8)).tobytes().decode()


def read_groups(shown: str) -> Ints:
    """The same back.

    >>> read_groups("03-1").tolist()
    [0, 3, -1, 1]
    """
    found = np.frombuffer(shown.encode(), dtype=np.uint8).astype(np.int64)
    return np.where(found == ord("-"), -1, found - ord("0"))


def phantoms_of(design: Design, cells: int) -> int:
    """D: empty cells that show the common shift, where counts matter; none where ranks do."""
    return 0 if design.aim == "top" else phantoms_for(cells)


@dataclass(frozen=True, eq=False)
class ChosenMembers:
    """Distinct users of chosen items: nothing is bounded."""

    design: Design
    """What is public."""
    name: str
    """Of the table."""
    chosen: Ints
    """The items, ascending."""

    def count(self, visits: Visits) -> Memberships:
        """Users of each chosen item."""
        return members(visits, self.chosen)

    def table(self, price: Price) -> Measured | MembersTable:
        """Every chosen item."""
        layout = Picked(self.design.cells, self.chosen)
        phantoms = phantoms_of(self.design, layout.size)
        return members_table(self.name, AUTO_PART, layout, price, phantoms)

    def extra(self) -> Mapping[str, Any]:
        """Nothing more: that items were chosen, its kind says."""
        return {}


@dataclass(frozen=True, eq=False)
class AllMembers:
    """Distinct users of every item: the whole of a small domain, nothing is bounded."""

    design: Design
    """What is public."""

    @property
    def name(self) -> str:
        """The items' own table."""
        return self.design.table.name

    def count(self, visits: Visits) -> Memberships:
        """Users of each item."""
        return all_members(visits, self.design.items)

    def table(self, price: Price) -> Measured | MembersTable:
        """Every item."""
        phantoms = phantoms_of(self.design, self.design.items)
        return members_table(self.name, AUTO_PART, self.design.cells, price, phantoms)

    def extra(self) -> Mapping[str, Any]:
        """Nothing more."""
        return {}


@dataclass(frozen=True, eq=False)
class AllMembersByContext:
    """The same in each context, of which a user has one: a draw for each, at the same ε."""

    design: Design
    """What is public; its contexts are a property of the user."""
    name: str
    """Of the table."""

    def count(self, visits: Visits) -> Memberships:
        """Users of each item in each context."""
        return all_members_by_context(visits, self.design.items, self.design.contexts)

    def table(self, price: Price) -> Measured | MembersTable:
        """Every item in every context; a block for each context."""
        layout = Crossed(self.design.cells, grid(self.design.context_axes))
        phantoms, blocks = phantoms_of(self.design, self.design.items), self.design.contexts
        return members_table(self.name, AUTO_PART, layout, price, phantoms, blocks)

    def extra(self) -> Mapping[str, Any]:
        """Nothing more."""
        return {}
