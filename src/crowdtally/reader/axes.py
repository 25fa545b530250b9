"""The axes of a release: look up their values and ranges, and refuse unknown ones."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdtally.core.domain import Axis
from crowdtally.core.layout import KINDS
from crowdtally.errors import UsageError, did_you_mean
from crowdtally.format.load import Published
from crowdtally.format.manifest import PublicList, TableFacts
from crowdtally.reader import tables

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]
Value = str | int

_SEARCHED = 5000
"""Values among which a misspelled one is looked for: beyond that it takes seconds."""
_LONGEST = 100
"""Letters of a value that are compared and shown: a label may have any number."""


@dataclass(frozen=True, eq=False)
class AxisLookup:
    """One axis of a release's domain, where values and ranges are looked up."""

    name: str
    length: int
    read: Callable[[], Axis]
    """Gives the list; asked only where values matter, since it may be long and lie in a table."""

    @classmethod
    def of(cls, axis: Axis) -> AxisLookup:
        return cls(axis.name, len(axis), lambda: axis)

    def renamed(self, name: str) -> AxisLookup:
        return AxisLookup(name, self.length, lambda: self.axis.renamed(name))

    def __len__(self) -> int:
        return self.length

    @cached_property
    def axis(self) -> Axis:
        """The list, in the order that ranges use."""
        return self.read()

    @cached_property
    def places(self) -> dict[Value, int]:
        return {value: place for place, value in enumerate(self.axis.values.tolist())}

    def places_of(self, values: Sequence[Value] | NDArray[Any]) -> NDArray[np.int64]:
        """The positions of values that are all listed; of millions too, where integers ascend."""
        listed = self.axis.values
        if self.axis.kind == "integer" and self.ascends:
            found = np.searchsorted(listed, np.asarray(values, dtype=np.int64))
            if np.array_equal(listed[np.minimum(found, len(listed) - 1)], values):
                return np.asarray(found, dtype=np.int64)
        known = self.places
        return np.array([known[value] for value in np.asarray(values).tolist()], dtype=np.int64)

    @cached_property
    def ascends(self) -> bool:
        """Whether the list of integers is in numerical order."""
        return bool((self.axis.values[1:] > self.axis.values[:-1]).all())

    def among(self, values: Iterable[Value]) -> Mask:
        """Which positions hold one of these values; a value that is not listed is refused."""
        mask = np.zeros(len(self), dtype=np.bool_)
        for value in values:
            mask[self.place(value)] = True
        return mask

    def between(
        self, low: Value | None, high: Value | None, open_low: bool, open_high: bool
    ) -> Mask:
        """Which positions lie from ``low`` to ``high`` in the order of the list; None has no end.

        Integers need not be listed, but the list must ascend: else a range could mean two things.
        """
        if self.axis.kind == "integer" and not self.ascends:
            raise UsageError(
                f"{self.name!r} has whole numbers that are not listed in ascending order, so a "
                f"range of it could mean two things: name the values, {self.name} IN (…)."
            )
        first = 0 if low is None else self._position(low, after=open_low)
        end = len(self) if high is None else self._position(high, after=not open_high)
        places = np.arange(len(self))
        return np.asarray((places >= first) & (places < end))

    def _position(self, value: Value, *, after: bool) -> int:
        """How many values come before ``value``, or up to it."""
        if self.axis.kind == "text":
            return self.place(value) + after
        self._check_kind(value)
        return (bisect_right if after else bisect_left)(self.axis.values, value)

    def place(self, value: Value) -> int:
        self._check_kind(value)
        if value in self.places:
            return self.places[value]
        raise UsageError(f"{self.name!r} has no value {value!r}. {self._suggestion(str(value))}")

    def spelled(self, value: object) -> Value:
        """The listed value that is or is written like ``value``: command lines have only text."""
        if isinstance(value, bool) or not isinstance(value, str | int | np.integer):
            raise UsageError(
                f"a value of {self.name!r} is text or a whole number: received {value!r}."
            )
        if isinstance(value, str) and self.axis.kind == "integer":
            return {str(known): known for known in self.places}.get(value, value)
        return str(value) if self.axis.kind == "text" else int(value)

    def _check_kind(self, value: Value) -> None:
        if self.axis.kind == "integer" and isinstance(value, str):
            raise UsageError(
                f"{self.name!r} holds whole numbers: received the text {value!r}. Write the number "
                "without quotes."
            )
        if self.axis.kind == "text" and not isinstance(value, str):
            raise UsageError(
                f"{self.name!r} holds text: received the number {value!r}. Write it in single "
                f"quotes, '{value}'."
            )

    def _suggestion(self, received: str) -> str:
        known = [text[:_LONGEST] + "…" * (len(text) > _LONGEST) for text in map(str, self.places)]
        if len(known) > _SEARCHED:
            known = [value for value in known if value[:1].lower() == received[:1].lower()]
        return did_you_mean(received, known[:_SEARCHED])


def column(name: str, lists: Mapping[str, AxisLookup]) -> AxisLookup:
    """The axis of a column, or a UsageError that names the columns there are."""
    if name not in lists:
        raise UsageError(f"this release has no column {name!r}. {did_you_mean(name, lists)}")
    return lists[name]


def cells_of(box: Mapping[str, Mask], lists: Iterable[AxisLookup]) -> Mask:
    """Which cells of the lists' grid a box holds, as one long mask."""
    mask = np.ones(1, dtype=np.bool_)
    for axis in lists:
        own = box.get(axis.name, np.ones(len(axis), dtype=np.bool_))
        mask = np.logical_and.outer(mask, own).ravel()
    return mask


@dataclass(frozen=True, eq=False)
class Axes:
    """All axes of a release, and which of them each table has."""

    published: Published

    @cached_property
    def by_name(self) -> Mapping[str, AxisLookup]:
        """Every column that a condition may name, in the order of the tables."""
        found = {one.name: self._lookup(one) for one in self.published.domain.lists}
        for table in self._answering:
            if table.kind.is_pairs:
                first, other = table.axes
                found[other] = found[first].renamed(other)
        return found

    @property
    def contexts(self) -> Mapping[str, AxisLookup]:
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
        if (found := self.find(wanted)) is not None:
            return found
        names = ", ".join(sorted(wanted))
        raise UsageError(f"no table of this release has all of the columns {names}.")

    def find(self, named: Iterable[str]) -> TableFacts | None:
        """The same, or None where no table has all of them."""
        wanted = set(named)
        return next((one for one in self._answering if wanted <= set(one.axes)), None)

    def axes_of(self, table: TableFacts) -> tuple[AxisLookup, ...]:
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
