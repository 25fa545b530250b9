"""A person's private history, and noisy counts of it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from crowdtally.core.row_files import file_and_column, opened
from crowdtally.errors import InputError, UsageError, did_you_mean
from crowdtally.person.catalogue import Catalogue, Places

# A history never leaves this package.


@dataclass(frozen=True, eq=False, repr=False)
class History:
    """A set of items of one catalogue: private.

    An item counts once however often it is named: what is protected is that it is there. An empty
    history and one of the whole catalogue are valid: refusing one would reveal it.
    """

    catalogue: Catalogue
    places: Places
    """Their places in the catalogue, ascending and distinct."""
    repeated: int = 0
    """How many further times an item was named; for the person's eyes alone."""
    unknown: int = 0
    """How many items were left out because the catalogue has none such; for the person's eyes."""

    @classmethod
    def of(
        cls, items: History | Iterable[object], catalogue: Catalogue, *, drop_unknown: bool = False
    ) -> History:
        """From item ids, text or integers as the catalogue spells them.

        Unknown items are refused, or left out with ``drop_unknown``.
        """
        if isinstance(items, History):
            if items.catalogue is not catalogue:
                raise UsageError(
                    "the history and the plan are of two catalogues: use one for both."
                )
            return items
        if isinstance(items, str | bytes) or not isinstance(items, Iterable):
            raise UsageError(
                "a history is a list of item ids: received a "
                f'{type(items).__name__}; type for example ["Alien", "Heat"].'
            )
        named = [_id(item) for item in items]
        known = [place for item in named if (place := catalogue.place_of.get(item)) is not None]
        missing = len(named) - len(known)
        if missing and not drop_unknown:
            raise _not_there(named, catalogue, missing)
        places = np.unique(np.array(known, dtype=np.int64))
        return cls(catalogue, places, len(known) - len(places), missing)

    def __len__(self) -> int:
        return len(self.places)

    def __repr__(self) -> str:
        return "<History: private>"


def _id(item: object) -> str:
    if isinstance(item, np.generic):
        item = item.item()
    if isinstance(item, bool) or not isinstance(item, str | int):
        raise UsageError(
            f"an item of a history is called by text or an integer: received a "
            f"{type(item).__name__}."
        )
    return str(item)


def _not_there(named: list[str], catalogue: Catalogue, missing: int) -> InputError:
    """Says where, and not what: a message travels further than a history does."""
    first = next(number for number, item in enumerate(named, 1) if item not in catalogue.place_of)
    return InputError(
        f"{missing} of the history's {len(named)} items are not in the catalogue, the first of "
        f"them item {first} of the history. Check that both spell ids alike (capitals, leading "
        "zeros, a heading in a file without one), take the catalogue that has them, or leave them "
        "out with --drop-unknown (in Python drop_unknown=True). Nothing was charged or released."
    )


# A history from a file or standard input: item ids, one after the other.

STANDARD_INPUT = "-"
_LISTS = (".txt", "")
"""Files without columns: an id on each line, and no heading."""


def read_history(source: str | os.PathLike[str], column: str) -> list[str]:
    """The ids of a history's items.

    ``source`` is ``FILE[:COLUMN]``, a table; a ``.txt`` with an id on each line; or ``-`` for such
    lines from standard input. ``column`` is taken where the file has several and none is named.
    """
    text = os.fspath(source)
    if text == STANDARD_INPUT:
        return _lines(sys.stdin.buffer.read(), "standard input")
    file, named = file_and_column(text)
    path = Path(file)
    if path.suffix.lower() in _LISTS:
        return _lines(_read(path), repr(file))
    with opened(path) as table:
        place = _place(table.columns, named, column, file)
        return list(_ids((row[0] for row in table.rows([place])), file))


def _ids(values: Iterator[str | None], file: str) -> Iterator[str]:
    for number, value in enumerate(values, 1):
        if not value:
            raise InputError(
                f"row {number} of {file!r} has no item: remove it. Nothing was charged or released."
            )
        yield value


def _place(columns: tuple[str, ...], named: str | None, usual: str, file: str) -> int:
    wanted = named or (columns[0] if len(columns) == 1 else usual)
    if wanted not in columns:
        raise UsageError(
            f"{file!r} has no column {wanted!r}: say which one holds the items, as FILE:COLUMN. "
            f"{did_you_mean(wanted, columns)}"
        )
    return columns.index(wanted)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        why = error.strerror or "unknown reason"
        raise InputError(f"{str(path)!r} cannot be read: {why}.") from error


def _lines(raw: bytes, where: str) -> list[str]:
    """The ids on the lines; empty lines are none."""
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{where} is not text in UTF-8: save it as that.") from None
    return [line for line in (line.rstrip("\r") for line in text.split("\n")) if line]


# Noisy counts of categories: all that phase 2 may see of a history.


@dataclass(frozen=True)
class NoisyCategories:
    """One whole number for each measured category, with its noise.

    A type of its own, so that exact counts cannot be passed in its place.
    """

    categories: tuple[str, ...]
    values: tuple[int, ...]
    """The count of each, with noise: negative ones too."""

    @property
    def by_category(self) -> dict[str, int]:
        return dict(zip(self.categories, self.values, strict=True))

    def __post_init__(self) -> None:
        if len(self.categories) != len(self.values):
            raise UsageError("noisy counts need one whole number for each category.")
        if not all(type(value) is int for value in self.values):
            raise UsageError("noisy counts are whole numbers.")
