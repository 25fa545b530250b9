"""The public catalogue: which items there are, and the categories of each.

Nothing about a person is in it. Items with the same set of categories are told apart by nothing
that is measured, so all of phase 1 and phase 2 works on the distinct sets, the *groups*.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdtally.core.domain import Axis
from crowdtally.errors import InputError, UsageError

Places = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Group:
    """All items that have one and the same set of categories."""

    categories: tuple[int, ...]
    """The places of its categories in the catalogue, ascending; at least one."""
    places: Places
    """The places of its items in the catalogue, ascending."""

    @property
    def size(self) -> int:
        """How many items it has."""
        return len(self.places)


@dataclass(frozen=True, eq=False)
class Catalogue:
    """Public items and their categories."""

    item_axis: Axis
    """The items, in public order; what is released lists them in this order."""
    category_axis: Axis
    """The categories, sorted by name, so that the order of the file's rows does not matter."""
    groups: tuple[Group, ...]
    """The distinct sets of categories, in the order of their category places."""

    @classmethod
    def of(cls, mapping: Mapping[Any, Iterable[str]], *, item: str = "item") -> Catalogue:
        """From each item's categories.

        Args:
            mapping: the categories of each item; items are all text or all integers.
            item: what items are called: the column of a file.

        >>> films = Catalogue.of({"Alien": ["horror", "space"], "Heat": ["crime"]})
        >>> films.categories, [group.categories for group in films.groups]
        (('crime', 'horror', 'space'), [(0,), (1, 2)])
        """
        if not isinstance(mapping, Mapping):
            raise UsageError(
                "a catalogue is made from each item's categories, such as "
                f'{{"Alien": ["horror", "space"]}}: received a {type(mapping).__name__}.'
            )
        items = Axis.of(item, list(mapping))
        _require_text(items)
        known: dict[tuple[object, ...], frozenset[str]] = {}  # many items have the same list
        named = [_names(categories, known) for categories in mapping.values()]
        without = sum(not names for names in named)
        if without:
            raise InputError(
                f"{without} of the catalogue's {len(items)} items have no category: nothing "
                "would ever be measured of them. Give them one, such as 'other', or leave them "
                "out of the catalogue."
            )
        categories = Axis.of("category", sorted(set().union(*known.values())))
        _require_text(categories)
        place = {name: number for number, name in enumerate(categories.values.tolist())}
        sets = {names: tuple(sorted(place[name] for name in names)) for names in known.values()}
        return cls(items, categories, _grouped([sets[names] for names in named]))

    @cached_property
    def items(self) -> tuple[str | int, ...]:
        """The ids of the items, in public order."""
        return tuple(self.item_axis.values.tolist())

    @cached_property
    def categories(self) -> tuple[str, ...]:
        """The names of the categories, sorted."""
        return tuple(self.category_axis.values.tolist())

    @cached_property
    def place_of(self) -> Mapping[str, int]:
        """The place of an item by its id as text: text and plain integers never fall together."""
        return {str(item): place for place, item in enumerate(self.items)}

    @cached_property
    def group_of(self) -> Places:
        """The number of each item's group."""
        numbers = np.empty(len(self.items), dtype=np.int64)
        for number, group in enumerate(self.groups):
            numbers[group.places] = number
        return numbers

    @cached_property
    def sizes(self) -> Places:
        """How many items each category has."""
        sizes = np.zeros(len(self.categories), dtype=np.int64)
        for group in self.groups:
            sizes[list(group.categories)] += group.size
        return sizes

    @cached_property
    def sha256(self) -> str:
        """Says which catalogue it is: its items and their categories, in whatever order."""
        labels = [
            json.dumps([self.categories[category] for category in group.categories])
            for group in self.groups
        ]
        pairs = zip(self.items, self.group_of.tolist(), strict=True)
        lines = sorted(f"{json.dumps(str(item))}: {labels[group]}\n" for item, group in pairs)
        return hashlib.sha256("".join(lines).encode()).hexdigest()

    def __repr__(self) -> str:
        return (
            f"<Catalogue of {len(self.items):,} items, {len(self.categories):,} categories, "
            f"{len(self.groups):,} distinct sets>"
        )


def _names(categories: object, known: dict[tuple[object, ...], frozenset[str]]) -> frozenset[str]:
    """The names of one item's categories."""
    if isinstance(categories, str) or not isinstance(categories, Iterable):
        raise UsageError(
            "the categories of an item are a list of names: received a "
            f'{type(categories).__name__}; type for example ["horror", "space"].'
        )
    listed = tuple(categories)
    found = known.get(listed)
    if found is None:
        if not all(isinstance(name, str) and name for name in listed):
            raise UsageError("a category is called by a text that is not empty.")
        found = known[listed] = frozenset(listed)
    return found


def _require_text(axis: Axis) -> None:
    """Refuse what no file could hold: it would show when a draw is written, after the charge."""
    try:
        "".join(map(str, axis.values.tolist())).encode()
    except UnicodeEncodeError:
        raise InputError(
            f"a value of {axis.name!r} in the catalogue is not text in Unicode: mend it."
        ) from None


def _grouped(sets: list[tuple[int, ...]]) -> tuple[Group, ...]:
    members: dict[tuple[int, ...], list[int]] = {}
    for place, categories in enumerate(sets):
        members.setdefault(categories, []).append(place)
    return tuple(
        Group(categories, np.array(members[categories], dtype=np.int64))
        for categories in sorted(members)
    )
