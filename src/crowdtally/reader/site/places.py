"""Which values of contexts get a page of their own, and under which name.

Values are anybody's text, and no part of a file's name: pages are numbered in the order of the
public lists.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, product
from math import prod

from crowdtally.reader.lookup import Value
from crowdtally.reader.pages.source import Context, Source

MOST_PAGES = 300
"""Pages of values of contexts, in all."""
MOST_COMBINATIONS = 60
"""A page for each combination of several contexts is written where there are at most so many."""


@dataclass(frozen=True)
class Place:
    """One page: where it is about, and its file."""

    context: Context
    """The value of each context that it is about."""
    name: str
    """Of its files, without an ending."""

    @property
    def file(self) -> str:
        """The page."""
        return f"{self.name}.html"


@dataclass(frozen=True)
class Group:
    """The pages of one context, or of all combinations."""

    contexts: tuple[str, ...]
    """The contexts' names."""
    places: tuple[Place, ...]
    """In the order of the public lists."""
    left_out: int
    """Further values, which get no page."""

    def beside(self, place: Place) -> tuple[Place | None, Place | None]:
        """The pages before and after one."""
        around = (None, *self.places, None)
        here = around.index(place)
        return around[here - 1], around[here + 1]


def groups(source: Source) -> tuple[Group, ...]:
    """All groups of pages, where the release has lists of items there."""
    if not source.has_items or not source.axes.contexts:
        return ()
    found = [group for group in _singles(source) if _has_list(source, group)]
    most = MOST_COMBINATIONS if found else MOST_PAGES
    joint = _joint(source, most)
    if joint is not None and (not found or not joint.left_out) and _has_list(source, joint):
        found.append(joint)
    return tuple(found)


def _singles(source: Source) -> Iterator[Group]:
    """The values of each context, summed over the others."""
    axes = source.axes.contexts
    most = max(MOST_PAGES // len(axes), 1)
    for number, (name, axis) in enumerate(axes.items(), start=1):
        values: list[Value] = axis.axis.values[:most].tolist()
        places = tuple(
            Place({name: value}, f"context-{number}-{place}")
            for place, value in enumerate(values, start=1)
        )
        yield Group((name,), places, len(axis) - len(values))


def _joint(source: Source, most: int) -> Group | None:
    """Combinations of all contexts; None where there is one context."""
    axes = source.axes.contexts
    if len(axes) < 2:
        return None
    lists = [axis.axis.values[:most].tolist() for axis in axes.values()]
    places = tuple(
        Place(dict(zip(axes, values, strict=True)), f"combination-{number}")
        for number, values in enumerate(islice(product(*lists), most), start=1)
    )
    return Group(tuple(axes), places, prod(map(len, axes.values())) - len(places))


def _has_list(source: Source, group: Group) -> bool:
    """Whether items can be ranked there: what holds for one value holds for all."""
    return source.popular(1, group.places[0].context) is not None
