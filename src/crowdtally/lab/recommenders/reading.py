"""Files → the public catalogue, and who had which of its items."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np

from crowdtally.curator.counting.reading import dropped_in
from crowdtally.curator.engine import columns
from crowdtally.curator.engine.duckdb import DuckDBEngine
from crowdtally.curator.engine.prepare import prepare
from crowdtally.curator.engine.sources import locate
from crowdtally.curator.stages import reading
from crowdtally.errors import InputError, UsageError
from crowdtally.person.catalogue import Catalogue
from crowdtally.values.domain import Axis, Domain
from crowdtally.values.file_column import file_and_column
from crowdtally.values.records import Records
from crowdtally.values.sql import quoted


@dataclass(frozen=True, eq=False)
class Visits:
    """Who had which items of the catalogue; not private."""

    matrix: Any
    """A sparse matrix of ones: a row for each person, a column for each item."""
    rows: int
    """Rows of the records."""
    left_out: int
    """Rows without a person, or with an item outside the catalogue."""


def catalogue_of(text: str, item: str) -> Catalogue:
    """The catalogue that ``FILE[:ITEM,CATEGORY]`` names; its columns may follow from ``item``."""
    file, named = file_and_column(text)
    if named is None:
        return read_catalogue(file, item)
    names = named.split(",")
    if len(names) != 2 or not all(names):
        raise UsageError(
            f"a catalogue is FILE:ITEM,CATEGORY, such as genres.csv:film,genre: received {text!r}."
        )
    return read_catalogue(file, *names)


def read_catalogue(source: object, item: str, category: str | None = None) -> Catalogue:
    """The catalogue in a file or frame that has a row for each item and each of its categories.

    Args:
        source: a path, or a frame.
        item: the column of items.
        category: the column of categories; None for the only other one.
    """
    located = locate(source)
    label = located.label or "the catalogue"
    with reading(), DuckDBEngine() as engine:
        schema = engine.open(located, "listed")
        columns.require(item, schema, "the catalogue", label)
        category = category or _only_other(schema, item, label)
        columns.require(category, schema, "the catalogue", label)
        kind = columns.kind_of(schema[item].type)
        if kind is None or columns.kind_of(schema[category].type) is None:
            raise InputError(
                f"items and categories must be text or integers: {item!r} of {label} has type "
                f"{schema[item].type}, {category!r} {schema[category].type}."
            )
        target = "VARCHAR" if kind == "text" else "BIGINT"
        engine.define(
            "typed",
            f"SELECT CAST({quoted(item)} AS {target}) AS item, "
            f"CAST({quoted(category)} AS VARCHAR) AS category FROM listed",
            label,
        )
        found = engine.columns(engine.table("typed"))
    items, categories = (np.ma.filled(found[name], None) for name in ("item", "category"))
    if any(np.ma.is_masked(found[name]) for name in found):
        raise InputError(f"{label} has rows without an item or a category: remove them.")
    return _catalogue(items.tolist(), categories.tolist(), typed=located.kind != "csv")


def read_visits(records: Records, catalogue: Catalogue) -> Visits:
    """Each person's items, each once however often it was met.

    Args:
        records: the declaration, with a user and an item.
        catalogue: the public items; others are left out and counted.
    """
    from scipy.sparse import csr_matrix

    if records.user is None or records.item is None:
        raise UsageError("say whose record it is, and of what: --user COL --item COL.")
    domain = Domain(catalogue.item_axis, item=records.item)
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


def _only_other(schema: Collection[str], item: str, label: str) -> str:
    others = [name for name in schema if name != item]
    if len(others) == 1:
        return others[0]
    raise UsageError(
        f"{label} has {len(others)} columns beside {item!r}: say which holds the categories, as "
        f"FILE:{item},CATEGORY. There are: {', '.join(others) or 'none'}."
    )


def _catalogue(items: list[Any], categories: list[str], *, typed: bool) -> Catalogue:
    """Items in the order in which they are first named, each with its categories."""
    found: dict[Any, list[str]] = {}
    for item, category in zip(items, categories, strict=True):
        found.setdefault(item, []).append(category)
    if typed or not found:
        return Catalogue.of(found)
    # A file without types: the list alone decides whether ids are integers.
    ids = Axis.plainest("item", list(found)).values.tolist()
    return Catalogue.of(dict(zip(ids, found.values(), strict=True)))
