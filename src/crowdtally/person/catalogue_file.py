"""A catalogue from a file: a row for each item and category, or a row for each item."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from crowdtally.core.row_files import Row, opened
from crowdtally.errors import InputError, UsageError, did_you_mean
from crowdtally.person.catalogue import Catalogue

USUAL = ("item", "category")
"""What the two columns are called where nobody says."""
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
        rows = file.rows([file.columns.index(name) for name in names])
        found = _gathered(path, rows, separator)
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
    """The columns of items and of categories."""
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
