"""Public popularity from a file: a weight for each item, such as how many people watched it."""

from __future__ import annotations

import os
from pathlib import Path

from crowdtally.core.row_files import file_and_column, opened
from crowdtally.errors import InputError, UsageError
from crowdtally.person.catalogue import Catalogue
from crowdtally.person.sharing import Popularity


def read_popularity(source: str | os.PathLike[str], catalogue: Catalogue) -> Popularity:
    """The weights in ``FILE[:COLUMN]``: a table of items and weights.

    Args:
        source: the file. Items stand in the column that is called as in the catalogue, else in the
            first; weights in the named column, else in the other one of two.
        catalogue: the public catalogue.
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
    """The columns of items and of weights."""
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
