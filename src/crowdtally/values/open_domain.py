"""A domain of which some columns have no public list: its cells are those that somebody has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from crowdtally.values.axis import Axis
from crowdtally.values.domain import Domain
from crowdtally.values.records import Records


@dataclass(frozen=True, eq=False)
class OpenDomain:
    """The columns that name a cell, in the order of the tables, and the lists of some of them."""

    columns: tuple[str, ...]
    """The item first, then the contexts; or the attributes."""
    has_items: bool
    """Whether the first column is the items."""
    lists: Mapping[str, Axis] = field(default_factory=dict)
    """The public list of each column that has one; the others are discovered."""

    @classmethod
    def of(cls, records: Records, lists: Domain | None = None) -> OpenDomain:
        """The columns that were declared; those without a list are discovered.

        >>> OpenDomain.of(Records("visits.csv", "user", "place", {"day": None})).discovered
        ('place', 'day')
        """
        axes = {axis.name: axis for axis in (() if lists is None else lists.axes)}
        columns = columns_of(records)
        return cls(
            columns,
            records.item is not None,
            {name: axes[name] for name in columns if name in axes},
        )

    @property
    def discovered(self) -> tuple[str, ...]:
        """The columns without a public list."""
        return tuple(name for name in self.columns if name not in self.lists)

    @property
    def listed(self) -> tuple[Axis, ...]:
        """The public lists, in the order of their columns."""
        return tuple(self.lists.values())

    def finds(self, columns: Iterable[str]) -> bool:
        """Whether a table of these columns has one that is discovered."""
        return any(name not in self.lists for name in columns)


def columns_of(records: Records) -> tuple[str, ...]:
    """The columns that name a cell, as declared: the item and the contexts, or the attributes."""
    return records.attributes if records.item is None else (records.item, *records.contexts)
