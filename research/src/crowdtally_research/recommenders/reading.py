"""Files → the public catalogue, and who had which of its items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from crowdtally.curator.counting.reading import dropped_in
from crowdtally.curator.engine.duckdb import DuckDBEngine
from crowdtally.curator.engine.prepare import prepare
from crowdtally.curator.stages import reading
from crowdtally.errors import InputError, UsageError, did_you_mean
from crowdtally.person.catalogue import Catalogue
from crowdtally.person.catalogue_file import read_catalogue
from crowdtally.values.domain import Axis, Domain
from crowdtally.values.file_column import file_and_column
from crowdtally.values.records import Records
from crowdtally.values.row_files import opened


@dataclass(frozen=True, eq=False)
class Visits:
    """Who had which items of the catalogue; not private."""

    matrix: Any
    """A sparse matrix of ones: a row for each person, a column for each item."""
    rows: int
    """Rows of the records."""
    left_out: int
    """Rows without a person, or with an item outside the catalogue."""


def catalogue_of(
    text: str, item: str, category: str | None = None, separator: str | None = None
) -> Catalogue:
    """The catalogue that ``FILE[:COLUMN]`` names.

    Args:
        text: the file, and perhaps the column of its items.
        item: the column of the items where none is named: as the records call it.
        category: the column of the categories; None for the only other one.
        separator: what stands between categories, where a row has all of an item's.
    """
    file, named = file_and_column(text)
    with opened(Path(file)) as table:
        names = table.columns
    column = named or item
    if column not in names:
        raise UsageError(
            f"the catalogue {file!r} has no column {column!r}: say which one holds the items, as "
            f"--catalogue FILE:COLUMN. {did_you_mean(column, names)}"
        )
    category = category or _only_other(names, column, file)
    return read_catalogue(file, item=column, category=category, separator=separator)


def read_visits(records: Records, catalogue: Catalogue) -> Visits:
    """Each person's items, each once however often it was met.

    Args:
        records: the declaration, with a user and an item.
        catalogue: the public items; others are left out and counted.
    """
    from scipy.sparse import csr_matrix

    if records.user is None or records.item is None:
        raise UsageError("say whose record it is, and of what: --user COL --item COL.")
    # Files of catalogues have texts: the list alone decides whether ids are integers.
    axis = Axis.plainest(records.item, list(map(str, catalogue.items)))
    domain = Domain(axis, item=records.item)
    with reading(), DuckDBEngine() as engine:
        rows = prepare(engine, records, domain).rows
        dropped = dropped_in(engine, rows)
        inside = rows.filter(rows.user.notnull(), rows.cell.notnull())
        found = engine.columns(inside.select("user", "cell").distinct())
    users, codes = np.unique(found["user"], return_inverse=True)
    if not len(users):
        raise InputError(
            f"none of the {dropped.rows:,} rows has a person and an item of the catalogue: check "
            "that --item and the catalogue's column hold the same ids."
        )
    entries = (np.ones(len(codes), dtype=np.float32), (codes, found["cell"].astype(np.int64)))
    matrix = csr_matrix(entries, shape=(len(users), len(catalogue.items)))
    return Visits(matrix, dropped.rows, dropped.without_user + dropped.outside)


def _only_other(columns: Sequence[str], item: str, file: str) -> str:
    others = [name for name in columns if name != item]
    if len(others) == 1:
        return others[0]
    raise UsageError(
        f"the catalogue {file!r} has {len(others)} columns beside {item!r}: say which one holds "
        f"the categories, --category COLUMN. There are: {', '.join(others) or 'none'}."
    )
