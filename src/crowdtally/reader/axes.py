"""The axes of a release, by the names that a reader uses, and the tables that have them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from crowdtally.core.domain import Axis
from crowdtally.core.layout import KINDS
from crowdtally.errors import UsageError
from crowdtally.format.load import Published
from crowdtally.format.manifest import PublicList, TableFacts
from crowdtally.reader import tables
from crowdtally.reader.lookup import AxisLookup


@dataclass(frozen=True, eq=False)
class Axes:
    """All axes of a release, and which of them each table has."""

    published: Published
    """The release."""

    @cached_property
    def by_name(self) -> Mapping[str, AxisLookup]:
        """Every column that a condition may name, in the order of the tables."""
        found = {one.name: self._lookup(one) for one in self.published.domain.lists}
        for table in self._answering:
            if table.kind.is_pairs:
                first, other = table.axes
                items = found[first]
                found[other] = AxisLookup(other, len(items), partial(_renamed, items, other))
        return found

    @property
    def contexts(self) -> Mapping[str, AxisLookup]:
        """The contexts that items are counted in."""
        return {one.name: self.by_name[one.name] for one in self.published.domain.contexts}

    @property
    def _answering(self) -> list[TableFacts]:
        """The tables that answer questions, those with fewer cells first; else the top items."""
        order = list(KINDS.values())
        tables = [table for table in self.published.tables if table.kind.answers]
        tables = tables or [table for table in self.published.tables if table.is_chosen]
        return sorted(tables, key=lambda table: order.index(table.kind))

    def table(self, named: Iterable[str]) -> TableFacts:
        """The table to ask about these columns: the smallest that has all of them."""
        wanted = set(named)
        found = self.find(wanted)
        if found is not None:
            return found
        names = ", ".join(sorted(wanted))
        raise UsageError(f"no table of this release has all of the columns {names}.")

    def find(self, named: Iterable[str]) -> TableFacts | None:
        """The same, or None where no table has all of them."""
        wanted = set(named)
        return next((one for one in self._answering if wanted <= set(one.axes)), None)

    def of(self, table: TableFacts) -> tuple[AxisLookup, ...]:
        """The axes of a table's cells, slowest first."""
        return tuple(self.by_name[name] for name in table.axes)

    def _lookup(self, listed: PublicList) -> AxisLookup:
        if not listed.length and not any(table.cells for table in self.published.tables):
            raise UsageError(self._nothing_discovered(listed))
        return AxisLookup(listed.name, listed.length, partial(self._read, listed))

    def _read(self, listed: PublicList) -> Axis:
        if listed.values is not None and listed.kind == "integer":
            return Axis(listed.name, np.array(listed.values, dtype=np.int64))  # perhaps millions
        if listed.values is not None:
            return Axis.of(listed.name, listed.values)
        if not listed.length:
            raise UsageError(self._nothing_discovered(listed))
        # A long list is not repeated in release.json; nor is what the release itself found.
        columns = [
            tables.column(self.published.path(one), listed.name)
            for one in self.published.tables
            if one.name in listed.tables
        ]
        if not listed.is_discovered:
            return Axis(listed.name, columns[0])
        # Each table found its own cells: together they have the values.
        filled = [column for column in columns if len(column)]
        return Axis(listed.name, np.unique(np.concatenate(filled)))

    def _nothing_discovered(self, listed: PublicList) -> str:
        found = [one for one in self.published.tables if one.name in listed.tables]
        least = min(one.discovery_threshold or 0 for one in found)
        items = self.published.domain.has_items and listed is self.published.domain.lists[0]
        what = "item" if items else f"value of {listed.name!r}"
        return (
            f"no {what} passed the threshold of this release, a noisy number of at least {least} "
            "users: it has none to ask about. A larger epsilon or delta, or fewer items kept of "
            "each user, lowers the threshold of another release."
        )


def _renamed(axis: AxisLookup, name: str) -> Axis:
    return axis.axis.renamed(name)
