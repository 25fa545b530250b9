"""The public lists of a release, as ``release.json`` tells them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from crowdtally.core.layout import CELLS, EDGES, ITEMS


@dataclass(frozen=True, eq=False)
class PublicList:
    """One list of the domain: the values of one column, in the order of tables and ranges."""

    name: str
    """The column."""
    kind: str | None
    """``text`` or ``integer``; None for discovered values, which may be either."""
    length: int
    """How many values it has."""
    values: Sequence[Any] | None
    """The values in their order; None where only a table of the release lists them."""
    sha256: str | None = None
    """Of the values, each followed by a line feed, where a table lists those of a public list."""
    tables: tuple[str, ...] = ()
    """The tables that have the values, where ``release.json`` does not; of discovered ones all that
    have the column, since each found its own cells."""

    @classmethod
    def from_json(cls, facts: Mapping[str, Any], tables: Sequence[str]) -> PublicList:
        """From an entry of the domain; ``tables`` are those that have the column."""
        values = facts.get("values")
        found = tuple(tables) if "discovered" in facts else (ITEMS.name,)
        return cls(
            facts["name"],
            facts.get("kind"),
            facts["size"],
            values,
            facts.get("sha256"),
            found if values is None else (),
        )

    @property
    def is_discovered(self) -> bool:
        """Whether the release itself found the values."""
        return self.kind is None

    def renamed(self, name: str) -> PublicList:
        """The same list for another column."""
        return replace(self, name=name)


@dataclass(frozen=True, eq=False)
class PublicDomain:
    """All lists of a release."""

    lists: tuple[PublicList, ...]
    """The items first, then the contexts; or the attributes."""
    has_items: bool
    """Whether the first list is the items."""

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> PublicDomain:
        """From ``release.json``'s ``domain``."""
        if "attributes" in facts:
            found = [PublicList.from_json(one, [CELLS.name]) for one in facts["attributes"]]
            return cls(tuple(found), has_items=False)
        contexts = [PublicList.from_json(one, [EDGES.name]) for one in facts["contexts"]]
        names = [ITEMS.name, *([EDGES.name] if contexts else [])]
        return cls((PublicList.from_json(facts["items"], names), *contexts), has_items=True)

    @cached_property
    def by_name(self) -> Mapping[str, PublicList]:
        """The lists by their columns, in order."""
        return {one.name: one for one in self.lists}

    @property
    def names(self) -> list[str]:
        """The lists' columns, in order."""
        return [one.name for one in self.lists]

    @property
    def contexts(self) -> tuple[PublicList, ...]:
        """The lists of the contexts."""
        return self.lists[1:] if self.has_items else ()

    @property
    def is_discovered(self) -> bool:
        """Whether the release itself found the values of a column."""
        return any(one.is_discovered for one in self.lists)

    @property
    def discovered(self) -> tuple[PublicList, ...]:
        """The columns without a public list, whose values the release itself found."""
        return tuple(one for one in self.lists if one.is_discovered)
