"""Bounded records → exact counts of items and of items in context, from one and the same sample."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from crowdtally.curator.choosing.rows import RowSums, RowTable
from crowdtally.curator.engine import window
from crowdtally.curator.engine.engine import Engine
from crowdtally.curator.engine.prepare import Dropped, Prepared, cell_numbers, count_dropped
from crowdtally.curator.engine.relations import Rows, smaller
from crowdtally.values.counts import Counts, What
from crowdtally.values.domain import Domain
from crowdtally.values.layout import Layout, Pairs, grid

Cells = tuple[NDArray[Any], NDArray[np.int64]]
"""Cell numbers, ascending, and their counts."""


class Sampling(Protocol):
    """A rule that keeps some of each user's records."""

    @property
    def limit(self) -> int:
        """The most rows of one user that are kept."""

    def keep(self, engine: Engine, rows: Rows, *, cells: int, key: int, what: What) -> Rows:
        """(user, cell[, id]) → (user, cell), bounded; a function of each user's own records."""


def count(
    engine: Engine, prepared: Prepared, rule: Sampling, *, key: int, what: What
) -> tuple[tuple[Counts, Counts], Dropped]:
    """Item counts and item×context counts; equal tables where there are no contexts."""
    dropped = count_dropped(engine, prepared)
    rows = dropped.rows
    domain, width = prepared.domain, prepared.domain.contexts_size
    edges: list[Cells] = []
    items: list[Cells] = []
    apart = what == "users" and width > 1
    for kept in _kept(engine, prepared, rule, rows=rows, key=key, what=what):
        if apart:
            kept = engine.materialise(kept, "kept")
            items.append(_tally(engine, _items_met(kept, width), domain))
        edges.append(_tally(engine, kept, domain))
    edge_cells = _sum(edges)
    item_cells = _sum(items) if apart else _fold(edge_cells, width)
    return _counts(domain, item_cells, edge_cells, rule.limit), dropped


def count_rows(engine: Engine, prepared: Prepared) -> tuple[tuple[Counts, Counts], Dropped]:
    """The same where each row is one person, or as many as its weight says: nothing to bound.

    One person changes each table by 1.
    """
    domain, table = prepared.domain, prepared.table
    times = table.weight.sum().cast("int64") if "weight" in table.columns else table.count()
    found = engine.columns(table.group_by("cell").agg(times=times))
    edge_cells = cells_of(found, "times", domain)
    counts = _counts(domain, _fold(edge_cells, domain.contexts_size), edge_cells, 1)
    return counts, count_dropped(engine, prepared)


def _counts(domain: Domain, items: Cells, edges: Cells, bound: int) -> tuple[Counts, Counts]:
    first = domain.axes[:1] if domain.has_items else domain.axes
    return (
        Counts(grid(first).size, *items, bound),
        Counts(domain.size, *edges, bound),
    )


def count_pairs(
    engine: Engine, prepared: Prepared, rule: Sampling, *, key: int, what: What
) -> tuple[tuple[Counts, Counts], Dropped]:
    """Item counts, and counts of unordered pairs of different items of one user.

    Pairs are formed from the *kept* records, so one user adds at most l(l−1)/2 of them.
    """
    dropped = count_dropped(engine, prepared)
    rows = dropped.rows
    domain, width, limit = prepared.domain, prepared.domain.contexts_size, rule.limit
    items: list[Cells] = []
    pairs: list[Cells] = []
    for kept in _kept(engine, prepared, rule, rows=rows, key=key, what=what):
        met = _items_met(kept, width) if what == "users" else kept
        met = engine.materialise(met.select("user", item=(met.cell // width).cast("int64")), "met")
        items.append(_tally(engine, met.select("user", cell=met.item), domain))
        other = met.view()
        both = met.inner_join(other, [met.user == other.user, met.item < other.item])
        number = (both.item_right * (both.item_right - 1) // 2 + both.item).cast("int64")
        pairs.append(_tally(engine, both.select(both.user, cell=number), domain))
    counts = (
        Counts(len(domain.items), *_sum(items), limit),
        Counts(Pairs(domain.items).size, *_sum(pairs), limit * (limit - 1) // 2),
    )
    return counts, dropped


def records_of(prepared: Prepared, cells: Layout) -> Rows:
    """(user, cell) of every record, the cell numbered as in this table."""
    rows = prepared.table.select("user", "cell")
    if cells.size == prepared.domain.size:
        return rows
    width = prepared.domain.contexts_size
    return rows.select("user", cell=(rows.cell // width).cast("int64"))


def count_scaled(
    engine: Engine, prepared: Prepared, tables: Sequence[tuple[Any, Layout]]
) -> tuple[list[Counts], Dropped]:
    """For each table and its rule: rows scaled to θ, summed."""
    counts = [
        rule.count(engine, records_of(prepared, cells), cells.size, prepared.domain)
        for rule, cells in tables
    ]
    return counts, count_dropped(engine, prepared)


def records_per_user(engine: Engine, prepared: Prepared, what: What) -> tuple[RowSums, Dropped]:
    """How many users have how many records, or distinct cells."""
    amounts = prepared.table.select("user", "cell")
    if what == "users":
        amounts = amounts.distinct()
    sums = amounts.group_by("user").agg(row_sum=amounts.count())
    return _histogram(engine, sums), count_dropped(engine, prepared)


def row_sums(
    engine: Engine, prepared: Prepared, tables: Sequence[Layout], cap: int
) -> tuple[list[RowSums], Dropped]:
    """For each table: how many users have which capped row sum."""
    found = []
    for cells in tables:
        amounts = rows_with_sums(records_of(prepared, cells), cap)
        found.append(_histogram(engine, amounts.select("user", "row_sum").distinct()))
    return found, count_dropped(engine, prepared)


def column_totals(
    engine: Engine, prepared: Prepared, tables: Sequence[Layout], cap: int
) -> tuple[list[RowTable], Dropped]:
    """For each table: the total of each column by row sum."""
    found = []
    for cells in tables:
        amounts = rows_with_sums(records_of(prepared, cells), cap)
        totals = amounts.group_by("row_sum", "cell").agg(total=amounts.amount.sum().cast("int64"))
        columns = engine.columns(totals)
        numbers = cell_numbers(columns["cell"], prepared.domain)
        found.append(RowTable(_int64(columns["row_sum"]), numbers, _int64(columns["total"])))
    return found, count_dropped(engine, prepared)


def count_discovered(
    engine: Engine, prepared: Prepared, limit: int, *, key: int
) -> tuple[tuple[NDArray[Any], NDArray[np.int64]], Dropped]:
    """The items that somebody kept, sorted by value, and how many users did.

    The items' own values order and hash them. A number for each item, as where a list is public,
    would depend on what other users have.
    """
    distinct = prepared.table.select("user", "cell").distinct()  # (user, item), each once
    order = engine.hash(key, [distinct.user, distinct.cell])
    kept = window.least(distinct.mutate(priority=order), limit)  # at most l per user
    found = engine.columns(kept.group_by("cell").agg(users=kept.count()))
    by_value = np.argsort(found["cell"], kind="stable")  # never the order of discovery
    items, users = found["cell"][by_value], found["users"][by_value].astype(np.int64)
    return (items, users), count_dropped(engine, prepared)


def rows_with_sums(rows: Rows, cap: int) -> Rows:
    """(user, cell) → (user, cell, amount, row_sum): each cell once, with its capped count."""
    same = rows.group_by("user", "cell").agg(times=rows.count())
    amounts = same.select("user", "cell", amount=smaller(same.times, cap))
    sums = amounts.group_by("user").agg(row_sum=amounts.amount.sum().cast("int64"))
    return amounts.inner_join(sums, "user")


def _int64(column: NDArray[Any]) -> NDArray[np.int64]:
    return np.asarray(column, dtype=np.int64)


def _histogram(engine: Engine, sums: Rows) -> RowSums:
    """(user, row_sum) → how many users have which row sum."""
    counted = engine.arrays(sums.group_by("row_sum").agg(users=sums.count()))
    return RowSums(counted["row_sum"].astype(np.int64), counted["users"])


def _kept(
    engine: Engine, prepared: Prepared, rule: Sampling, *, rows: int, key: int, what: What
) -> Iterator[Rows]:
    """The kept records, in parts by user where they would not fit the memory at once."""
    parts = engine.parts(rows)
    for part in range(parts):
        table = prepared.table
        if parts > 1:
            table = table.filter(engine.hash(0, [table.user]) % parts == part)
        yield rule.keep(engine, table, cells=prepared.domain.size, key=key, what=what)


def _items_met(kept: Rows, width: int) -> Rows:
    """A user who met one item in two contexts is one user of that item."""
    return kept.select("user", cell=(kept.cell // width).cast("int64")).distinct()


def _tally(engine: Engine, table: Rows, domain: Domain) -> Cells:
    found = engine.columns(table.group_by("cell").agg(times=table.count()))
    return cells_of(found, "times", domain)


def cells_of(columns: Mapping[str, NDArray[Any]], value: str, domain: Domain) -> Cells:
    """The fetched columns as ascending cells and their values, zeros left out."""
    numbers = cell_numbers(columns["cell"], domain)
    cells, values = _fold((numbers, np.asarray(columns[value], dtype=np.int64)), 1)
    return cells[values != 0], values[values != 0]


def _sum(parts: list[Cells]) -> Cells:
    cells = np.concatenate([cells for cells, _ in parts])
    values = np.concatenate([values for _, values in parts])
    return _fold((cells, values), 1)


def _fold(cells: Cells, width: int) -> Cells:
    """Add up the cells that fall together when numbers are divided by ``width``."""
    order = np.argsort(cells[0], kind="stable")
    numbers, values = cells[0][order] // width, cells[1][order]
    if len(numbers) == 0:
        return numbers, values
    starts = np.flatnonzero(np.concatenate(([True], numbers[1:] != numbers[:-1])))
    return numbers[starts], np.add.reduceat(values, starts)
