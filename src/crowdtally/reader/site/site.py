"""What a site holds: its folder, downloads, and pages of contexts."""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, product
from math import prod
from pathlib import Path
from typing import Any

from crowdtally.core import files as durable
from crowdtally.errors import CrowdtallyError, UsageError
from crowdtally.format import Published, datapackage
from crowdtally.format.withdrawal import FILE as NOTE
from crowdtally.reader.axes import Value
from crowdtally.reader.export import croissant
from crowdtally.reader.page_parts import Context, Source
from crowdtally.reader.questions.top_list import TopList
from crowdtally.reader.report.facts import Facts
from crowdtally.web.pages import rendering, value


def refuse_taken(target: Path) -> None:
    """Refuse a place where something is, or where nothing can be."""
    if os.path.lexists(target):
        raise UsageError(
            f"{str(target)!r} exists, and a site never replaces anything: choose another folder, "
            "or remove it first."
        )
    if not target.parent.is_dir():
        raise UsageError(f"{str(target.parent)!r} is not a folder: create it first.")


@contextmanager
def new_folder(target: Path) -> Iterator[Path]:
    """A folder beside ``target`` that gets its name at the end, or goes."""
    refuse_taken(target)
    part = target.parent.resolve() / f".{secrets.token_hex(8)}.part"
    try:
        part.mkdir()
        yield part
        for folder, _, files in os.walk(part):
            for name in files:
                durable.flush(Path(folder, name))
            durable.flush(Path(folder))
        refuse_taken(target)  # a rename would take the place of an empty folder
        os.rename(part, target)
        durable.flush(target.parent)
    except OSError as error:
        raise CrowdtallyError(
            f"{str(target)!r} cannot be written: {error.strerror or 'unknown reason'}. "
            "Check the path, its permissions and the free space."
        ) from error
    finally:
        shutil.rmtree(part, ignore_errors=True)


CROISSANT = "croissant.json"
_METADATA = {
    "release.json": "The release about itself: guarantee, method, noise, lists, charge.",
    datapackage.FILE: "Frictionless Data Package: fields, types and hashes of the tables.",
    CROISSANT: "Croissant metadata, for machine-learning libraries.",
    NOTE: "That the release was withdrawn, when and why.",
}


@dataclass(frozen=True)
class Download:
    path: str
    words: str
    size: int
    is_metadata: bool


def copy_release(published: Published, folder: Path) -> None:
    """Put a whole copy of the release there, with its Croissant metadata beside the tables."""
    published.save(folder)
    (folder / CROISSANT).write_text(croissant(published), encoding="utf-8")


def linked_data(published: Published, folder: str) -> dict[str, Any]:
    """Croissant metadata, for a page beside the folder: schema.org's Dataset, and more."""
    found: dict[str, Any] = json.loads(croissant(published))
    for file in found["distribution"]:
        file["contentUrl"] = f"{folder}/{file['contentUrl']}"
    return found


def released(published: Published, site: Path, folder: str) -> Iterator[Download]:
    tables = {one.file: f"The table {one.name} as it was released." for one in published.tables}
    for name, words in (_METADATA | tables).items():
        path = site / folder / name
        if path.is_file():
            yield Download(f"{folder}/{name}", words, path.stat().st_size, name in _METADATA)


def listed(site: Path, path: str, words: str) -> Download:
    return Download(path, words, (site / path).stat().st_size, False)


# Which values of contexts get a page. Values are untrusted text and no part of a file's name: pages
# are numbered in the order of the public lists.

MOST_PAGES = 300
"""Pages of values of contexts, in all."""
MOST_COMBINATIONS = 60
"""A page for each combination of several contexts is written where there are at most so many."""


@dataclass(frozen=True)
class Place:
    context: Context
    """The value of each context that it is about."""
    name: str

    @property
    def file(self) -> str:
        return f"{self.name}.html"


@dataclass(frozen=True)
class Group:
    contexts: tuple[str, ...]
    places: tuple[Place, ...]
    left_out: int

    def beside(self, place: Place) -> tuple[Place | None, Place | None]:
        around = (None, *self.places, None)
        here = around.index(place)
        return around[here - 1], around[here + 1]


def groups(source: Source) -> tuple[Group, ...]:
    if not source.has_items or not source.view.contexts:
        return ()
    found = [group for group in _singles(source) if _has_list(source, group)]
    joint = _joint(source, MOST_COMBINATIONS if found else MOST_PAGES)
    if joint is not None and (not found or not joint.left_out) and _has_list(source, joint):
        found.append(joint)
    return tuple(found)


def _singles(source: Source) -> Iterator[Group]:
    """The values of each context, summed over the others."""
    axes = source.view.contexts
    most = max(MOST_PAGES // len(axes), 1)
    for number, (name, axis) in enumerate(axes.items(), start=1):
        values: list[Value] = axis.axis.values[:most].tolist()
        places = tuple(
            Place({name: value}, f"context-{number}-{place}")
            for place, value in enumerate(values, start=1)
        )
        yield Group((name,), places, len(axis) - len(values))


def _joint(source: Source, most: int) -> Group | None:
    axes = source.view.contexts
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


OVERVIEW, TOP, CONTEXTS, SEARCH = "index.html", "top.html", "contexts.html", "search.html"
REPORT, DOWNLOADS, METADATA = "report.html", "downloads.html", "metadata.html"
RELEASE, LISTS = "release", "lists"
"""Folders: a copy of the release, and lists as CSV."""


@dataclass(frozen=True, eq=False)
class Site:
    """A site, before it is written."""

    source: Source
    facts: Facts
    groups: tuple[Group, ...]

    @classmethod
    def of(cls, source: Source) -> Site:
        return cls(source, source.facts(), groups(source))

    @cached_property
    def render(self) -> Callable[..., str]:
        return rendering("crowdtally.reader.site", "crowdtally.reader")

    @property
    def title(self) -> str:
        of = self.facts.dataset
        return "Released counts" if of is None else f"Released counts of {value(of, 60)}"

    @property
    def first(self) -> TopList | None:
        """The largest items of all, with their labels; None where there is no such list."""
        return None if self.facts.top is None else self.source.labelled(self.facts.top)

    @property
    def has_contexts(self) -> bool:
        return bool(self.groups or self.facts.distributions)

    @property
    def has_lists(self) -> bool:
        return bool(self.groups) or self.facts.top is not None

    @property
    def has_names(self) -> bool:
        return self.has_lists or bool(self.facts.distributions)

    @property
    def of_items(self) -> bool:
        return self.source.published.domain.has_items

    @property
    def menu(self) -> list[tuple[str, str]]:
        every = (
            (True, OVERVIEW, "Overview"),
            (self.facts.top is not None, TOP, "Top list"),
            (self.has_contexts, CONTEXTS, "By context" if self.of_items else "By attribute"),
            (self.has_names, SEARCH, "Search"),
            (True, REPORT, "Privacy report"),
            (True, DOWNLOADS, "Downloads"),
            (True, METADATA, "Metadata"),
        )
        return [(file, words) for is_there, file, words in every if is_there]
