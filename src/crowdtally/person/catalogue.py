"""The public catalogue, its popularity, and rounding within its groups."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdtally.core.domain import Axis
from crowdtally.core.row_files import Row, file_and_column, opened
from crowdtally.errors import InputError, UsageError, did_you_mean
from crowdtally.noise.draws import Draws

# The public catalogue: which items there are, and the categories of each.
#
# Nothing about a person is in it. Nothing that is measured distinguishes items with the same set of
# categories, so phase 1 and phase 2 work on the distinct sets, the *groups*.

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
        return len(self.places)


@dataclass(frozen=True, eq=False)
class Catalogue:
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
        return tuple(self.item_axis.values.tolist())

    @cached_property
    def categories(self) -> tuple[str, ...]:
        return tuple(self.category_axis.values.tolist())

    @cached_property
    def place_of(self) -> Mapping[str, int]:
        """The place of an item by its id as text: text and plain integers never fall together."""
        return {str(item): place for place, item in enumerate(self.items)}

    @cached_property
    def group_of(self) -> Places:
        numbers = np.empty(len(self.items), dtype=np.int64)
        for number, group in enumerate(self.groups):
            numbers[group.places] = number
        return numbers

    @cached_property
    def sizes(self) -> Places:
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


# A catalogue from a file: a row for each item and category, or a row for each item.

USUAL = ("item", "category")
_USUAL_SEPARATOR = "|"


def read_catalogue(
    source: str | os.PathLike[str],
    *,
    item: str | None = None,
    category: str | None = None,
    separator: str | None = None,
) -> Catalogue:
    """Read a public catalogue: CSV, Parquet or JSON lines. Ids and names are taken as text.

    Args:
        source: the file. An item of several categories has a row for each.
        item: the column of the items; by default ``item``, or the first of two columns.
        category: the column of the categories; by default ``category``, or the second of two.
        separator: what stands between categories, where a row has all of an item's.
    """
    if separator == "":
        raise UsageError("the separator of categories is empty: type for example '|'.")
    path = Path(os.fspath(source))
    with opened(path) as file:
        names = _chosen(path, file.columns, item, category)
        found = _gathered(path, file.rows([file.columns.index(name) for name in names]), separator)
    if not found:
        raise InputError(f"the catalogue {str(path)!r} has no rows: give at least one item.")
    made = Catalogue.of(found, item=names[0])
    if separator is None:
        _refuse_joined(path, made.categories)
    return made


def _refuse_joined(path: Path, categories: tuple[str, ...]) -> None:
    """A row of several categories, read as one, would make a category of each combination."""
    joined = sum(_USUAL_SEPARATOR in name for name in categories)
    if joined:
        raise UsageError(
            f"{joined} of the {len(categories)} categories in {str(path)!r} have a "
            f"{_USUAL_SEPARATOR!r} in their names. Where it stands between categories, type "
            f"--separator '{_USUAL_SEPARATOR}'; where it is a part of names, give a text that "
            "occurs in none, such as --separator '///'."
        )


def _gathered(path: Path, rows: Iterable[Row], separator: str | None) -> dict[str, list[str]]:
    """The categories of each item, in the order in which items first appear."""
    found: dict[str, list[str]] = {}
    for number, (item, category) in enumerate(rows, 1):
        if not item:
            raise InputError(
                f"row {number} of the catalogue {str(path)!r} has no item: remove it, or give it "
                "its id."
            )
        named = (category or "").split(separator) if separator else [category or ""]
        found.setdefault(item, []).extend(name for name in named if name)
    return found


def _chosen(
    path: Path, columns: tuple[str, ...], item: str | None, category: str | None
) -> tuple[str, str]:
    if item is None and category is None and len(columns) == len(USUAL):
        return columns[0], columns[1]
    wanted = (item or USUAL[0], category or USUAL[1])
    for name, option in zip(wanted, ("--item", "--category"), strict=True):
        if name not in columns:
            raise UsageError(
                f"the catalogue {str(path)!r} has no column {name!r}: say which one it is, "
                f"{option} COLUMN. {did_you_mean(name, columns)}"
            )
    if wanted[0] == wanted[1]:
        raise UsageError("items and categories are two columns: received one for both.")
    return wanted


# Systematic rounding: from a probability of each item to a choice of items, by one uniform
# offset.
#
# Items lie side by side, each as wide as its probability, and a ruler with a mark at every whole
# number is laid on them at a uniform offset. An item under a mark is chosen. Its probability is
# its width, exactly; and among any run of neighbours as many are chosen as their widths sum to,
# rounded down or up. All of it in integers: widths are multiples of 2^-40.

ONE = 1 << 40
"""The width that means certainty."""

Widths = NDArray[np.int64]


def in_widths(probabilities: NDArray[np.float64]) -> Widths:
    """Probabilities as whole numbers of 2^-40, to the nearest.

    >>> in_widths(np.array([0.0, 0.5, 1.0])).tolist() == [0, ONE // 2, ONE]
    True
    """
    return np.rint(np.clip(probabilities, 0.0, 1.0) * ONE).astype(np.int64)


def systematic(widths: Widths, draws: Draws) -> NDArray[np.int64]:
    """The positions that are chosen: each with probability width/ONE, exactly.

    Widths are whole numbers in 0..ONE, whose sum is below 2^63.
    """
    if len(widths) and not (widths.min() >= 0 and widths.max() <= ONE):
        raise UsageError("a width must lie in 0..2^40.")
    (drawn,) = draws.uniforms_below(np.array([ONE], dtype=np.uint64)).tolist()
    ends = np.cumsum(widths)
    # Marks lie at offset, offset + ONE, …: how many are below an item's end, and below its start.
    below = (ends + (ONE - 1 - int(drawn))) // ONE
    return np.flatnonzero(np.diff(below, prepend=np.int64(0)))


# How the items of one group share what the group was given: evenly, or by public popularity.

Popularity = Mapping[str | int, float]
"""A public weight ≥ 0 of each item by its id; an item that is not named has weight 0."""


def weights_of(popularity: Popularity, catalogue: Catalogue) -> NDArray[np.float64]:
    """The weight of each item of the catalogue; items that it does not have are left out."""
    if not isinstance(popularity, Mapping):
        raise UsageError(
            f'popularity is a mapping of items to weights, such as {{"Alien": 3.5}}: received a '
            f"{type(popularity).__name__}."
        )
    weights = np.zeros(len(catalogue.items))
    for item, weight in popularity.items():
        if not isinstance(weight, int | float) or not isfinite(weight) or weight < 0:
            raise UsageError("the popularity of an item is a number of at least 0.")
        place = catalogue.place_of.get(str(item))
        if place is not None:
            weights[place] = float(weight)
    return weights


def shared(group: Group, width: int, weights: NDArray[np.float64] | None) -> Widths:
    """The widths of a group's items: together ``width`` times their number, none above ONE.

    Evenly without weights. With them, in proportion to the weights; what would go above certainty
    overflows to the others, and to items of weight 0 when all others are certain.
    """
    even = np.full(group.size, width, dtype=np.int64)
    if weights is None or not 0 < width < ONE:
        return even
    own = weights[group.places]
    filled = _poured(own, width * group.size)
    return _completed(np.minimum(np.floor(filled).astype(np.int64), ONE), width * group.size)


def _poured(weights: NDArray[np.float64], mass: int) -> NDArray[np.float64]:
    """min(ONE, c·weight) with c such that they sum to ``mass``, as far as the weights allow."""
    filled = np.zeros(len(weights))
    for open_items in (weights > 0, weights == 0):
        todo = open_items.copy()
        share = np.where(weights > 0, weights, 1.0)
        while todo.any():
            rest = mass - float(filled.sum())
            if rest <= 0:
                break
            level = share[todo] * (rest / float(share[todo].sum()))
            full = level >= ONE
            if not full.any():
                filled[todo] = level
                break
            which = np.flatnonzero(todo)[full]
            filled[which], todo[which] = ONE, False
    return filled


def _completed(widths: Widths, mass: int) -> Widths:
    """The widths with what rounding took or added put right, so that they sum to ``mass``."""
    missing = mass - int(widths.sum())
    step = 1 if missing > 0 else -1
    while missing:
        room = np.flatnonzero(widths < ONE if step > 0 else widths > 0)[: abs(missing)]
        share = max(1, abs(missing) // len(room))
        most = (ONE - widths[room]) if step > 0 else widths[room]
        moved = np.minimum(most, share)
        widths[room] += step * moved
        missing -= step * int(moved.sum())
    return widths


# Public popularity from a file: a weight for each item, such as how many people watched it.


def read_popularity(source: str | os.PathLike[str], catalogue: Catalogue) -> Popularity:
    """The weights in ``FILE[:COLUMN]``: a table of items and weights.

    Items are in the column called as in the catalogue, else in the first; weights in the named
    column, else in the other one of two.
    """
    file, named = file_and_column(os.fspath(source))
    found: dict[str | int, float] = {}
    with opened(Path(file)) as table:
        names = _columns(file, table.columns, catalogue.item_axis.name, named)
        rows = table.rows([table.columns.index(name) for name in names])
        for number, (item, text) in enumerate(rows, 1):
            if not item or item in found:
                raise InputError(
                    f"row {number} of {file!r} has no item, or one that came before: each item "
                    "has one weight."
                )
            found[item] = _weight(text, number, file)
    return found


def _columns(file: str, columns: tuple[str, ...], usual: str, named: str | None) -> tuple[str, str]:
    item = usual if usual in columns else (columns or ("",))[0]
    others = [name for name in columns if name != item]
    weight = named or (others[0] if len(others) == 1 else None)
    if weight is None or weight not in others:
        raise UsageError(
            f"{file!r} needs a column of items and one of weights: say which holds the weights, as "
            f"FILE:COLUMN. There are: {', '.join(columns) or 'none'}."
        )
    return item, weight


def _weight(text: str | None, number: int, file: str) -> float:
    try:
        weight = float(text or "")
    except ValueError:
        weight = -1.0
    if not 0 <= weight < float("inf"):
        raise InputError(f"row {number} of {file!r}: a weight is a number of at least 0.")
    return weight
