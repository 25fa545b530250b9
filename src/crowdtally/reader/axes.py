"""The public lists of a release, by the names that a reader uses for them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdtally.errors import UsageError, did_you_mean
from crowdtally.published import Published
from crowdtally.reader import tables
from crowdtally.values.domain import Axis

Mask = NDArray[np.bool_]
Value = str | int

_SEARCHED = 5000
"""Values among which a misspelt one is looked for: beyond that it takes seconds."""


@dataclass(frozen=True, eq=False)
class Listed:
    """One axis of a release's domain: its values, in the order that ranges use."""

    axis: Axis
    """The list."""

    @property
    def name(self) -> str:
        """The column."""
        return self.axis.name

    def __len__(self) -> int:
        return len(self.axis)

    @cached_property
    def places(self) -> dict[Value, int]:
        """The position of every value."""
        return {value: place for place, value in enumerate(self.axis.values.tolist())}

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

        Integers need not be listed themselves, but their list must ascend, or the order of the
        list and that of the numbers would be two things.
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
        """The position of a value."""
        self._check_kind(value)
        if value in self.places:
            return self.places[value]
        raise UsageError(f"{self.name!r} has no value {value!r}. {self._suggestion(str(value))}")

    def spelt(self, value: object) -> Value:
        """The listed value that is or is written like ``value``: command lines have only text."""
        if isinstance(value, bool) or not isinstance(value, str | int | np.integer):
            raise UsageError(
                f"a value of {self.name!r} is text or a whole number: received {value!r}."
            )
        if isinstance(value, str) and self.axis.kind == "integer":
            written = {str(known): known for known in self.places}
            return written.get(value, value)
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
        known = [str(value) for value in self.places]
        if len(known) > _SEARCHED:
            known = [value for value in known if value[:1].lower() == received[:1].lower()]
        return did_you_mean(received, known[:_SEARCHED])


@dataclass(frozen=True, eq=False)
class Axes:
    """All axes of a release, and which of them each table has."""

    published: Published
    """The release."""

    @cached_property
    def by_name(self) -> Mapping[str, Listed]:
        """Every column that a condition may name, in the order of the tables."""
        domain = self.published.metadata["domain"]
        if "attributes" in domain:
            return {facts["name"]: self._listed(facts) for facts in domain["attributes"]}
        items = self._listed(domain["items"])
        found = {items.name: items}
        found |= {facts["name"]: self._listed(facts) for facts in domain["contexts"]}
        if self.published.table("pairs") is not None:
            other = f"other_{items.name}"
            found[other] = Listed(items.axis.renamed(other))
        return found

    def is_context(self, name: str) -> bool:
        """Whether the column is a context that items are counted in."""
        contexts = self.published.metadata["domain"].get("contexts", [])
        return name in {facts["name"] for facts in contexts}

    def table(self, named: Iterable[str]) -> Mapping[str, Any]:
        """The table to ask about these columns: the smallest that has all of them."""
        for name in ("items", "edges", "pairs", "cells"):
            facts = self.published.table(name)
            if facts is not None and set(named) <= {axis.name for axis in self.of(name)}:
                return facts
        names = ", ".join(named)
        raise UsageError(f"no table of this release has all of the columns {names}.")

    def of(self, table: str) -> tuple[Listed, ...]:
        """The axes of a table's cells, slowest first."""
        axes = tuple(self.by_name.values())
        if table == "items":
            return axes[:1]
        if table == "edges":
            return axes[: 1 + len(self.published.metadata["domain"]["contexts"])]
        return axes

    def _listed(self, facts: Mapping[str, Any]) -> Listed:
        name = str(facts["name"])
        if "values" in facts:
            return Listed(Axis.of(name, facts["values"]))
        # A long list is not repeated in release.json; nor is what the release itself found.
        values = tables.column(self.published.path("items"), name)
        if not len(values):
            raise UsageError(self._nothing_discovered())
        return Listed(Axis(name, values))

    def _nothing_discovered(self) -> str:
        (facts,) = self.published.metadata["tables"]
        return (
            "no item passed the threshold of this release, a noisy number of at least "
            f"{facts['threshold']} users: it has none to ask about. A larger epsilon or delta, or "
            "a smaller --max-records, lowers the threshold of another release."
        )
