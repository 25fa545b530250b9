"""A release's tables as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

import numpy as np

from crowdtally.core.counts import Keeping
from crowdtally.core.hierarchy import DyadicAxis
from crowdtally.core.layout import CELLS, ITEMS, ITEMS_SHORT, PILOT, PILOT_SHORT
from crowdtally.format import Published, manifest
from crowdtally.format.manifest import TableFacts
from crowdtally.inference.facts import AutoFacts, Chosen, ItemFacts, Noisy
from crowdtally.reader import tables
from crowdtally.reader.axes import Axes, AxisLookup, Floats, Ints


def counts(published: Published, table: TableFacts) -> Floats:
    """The noisy counts of a table, in the order of its file."""
    return np.asarray(tables.column(published.path(table), "count"), dtype=np.float64)


def places(published: Published, table: TableFacts, lists: Sequence[AxisLookup]) -> Ints:
    """The numbers of the cells that the rows of a table name, among those of these lists."""
    path = published.path(table)
    numbers: Ints = np.zeros(1, dtype=np.int64)
    for axis in lists:
        numbers = numbers * len(axis) + axis.places_of(tables.column(path, axis.name))
    return numbers


MOST = 5_000_000
"""Cells of a table that are all estimated."""


def has_estimates(table: TableFacts) -> bool:
    """Whether single cells of a table can be estimated: listed, not too many, each by itself.

    Buckets and coefficients are no counts of cells. Of nodes, those of single items are.
    """
    if table.is_discovered or table.kind.is_pairs or table.cells > MOST:
        return False
    kind = table.transform.kind
    return kind == "none" or (kind == "dyadic" and table.is_dense and len(table.axes) == 1)


def base_table(published: Published) -> TableFacts | None:
    return published.table(ITEMS.name) or published.table(CELLS.name)


def short_rows(published: Published, table: TableFacts) -> TableFacts | None:
    """The table that has users of short rows, where this one has the others alone."""
    return published.table(ITEMS_SHORT.name) if table.kind in (ITEMS, CELLS) else None


def facts_of_auto(axes: Axes, base: TableFacts, auto: manifest.AutoFacts) -> AutoFacts:
    lists = axes.axes_of(base)

    def noisy(table: TableFacts) -> Noisy:
        values, bound = counts(axes.published, table), auto.theta(table.name) or inf
        if not table.is_chosen and table.summary is None:
            return Noisy(values, table.law, bound)
        where = places(axes.published, table, lists)
        keeping = Keeping() if table.summary is None else table.summary.keeping
        return Chosen(values, table.law, bound, places=where, keeping=keeping)

    tables = {one.name: noisy(one) for one in axes.published.tables if one.kind not in _PILOTS}
    return AutoFacts.of(
        base.cells, tables, auto.path, auto.kappa, rich=auto.rich, repeats=auto.repeats
    )


_PILOTS = (PILOT_SHORT, PILOT)
"""A first look has done its work once the bounds of other tables are chosen."""


def table_facts(published: Published, table: TableFacts, lists: Sequence[AxisLookup]) -> ItemFacts:
    if table.summary is not None:
        where, values = places(published, table, lists), counts(published, table)
        kept = Chosen(values, table.law, places=where, keeping=table.summary.keeping)
        return ItemFacts(table.cells, kept)
    noisy = single_counts(published, table, lists)
    return ItemFacts(len(noisy), Noisy(noisy, table.law), exact=table.law.per_cell)


def single_counts(published: Published, table: TableFacts, lists: Sequence[AxisLookup]) -> Floats:
    """The noisy count of each cell of a dense table; of a tree, of each of its leaves."""
    if table.transform.kind == "none":
        return counts(published, table)
    (axis,) = lists
    name, tree = axis.name, DyadicAxis(len(axis))
    found = tables.leaf_counts(published.path(table), name, tree.levels)
    return np.asarray(found[: len(axis)], dtype=np.float64)
