"""The public lists of a release, as ``release.json`` tells them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from crowdtally.values.table_kinds import ITEMS


@dataclass(frozen=True, eq=False)
class PublicList:
    """One list of the domain: the values of one column, in the order of tables and ranges."""

    name: str
    """The column."""
    kind: str | None
    """``text`` or ``integer``; None for discovered items, which may be either."""
    length: int
    """How many values it has."""
    values: Sequence[Any] | None
    """The values in their order; None where only a table of the release lists them."""
    sha256: str | None = None
    """Of the values, each followed by a line feed, where a table lists those of a public list."""

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> PublicList:
        """From an entry of the domain."""
        return cls(
            facts["name"],
            facts.get("kind"),
            facts["size"],
            facts.get("values"),
            facts.get("sha256"),
        )

    @property
    def is_discovered(self) -> bool:
        """Whether the release itself found the values."""
        return self.kind is None

    @property
    def table(self) -> str | None:
        """The table that lists the values, where ``release.json`` does not."""
        return ITEMS.name if self.values is None else None

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
        has_items = "attributes" not in facts
        found = [facts["items"], *facts["contexts"]] if has_items else facts["attributes"]
        return cls(tuple(map(PublicList.from_json, found)), has_items)

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
        """Whether the release itself found the items."""
        return self.has_items and self.lists[0].is_discovered
