"""Distinct users, the sums of users' rows, cells without a public list."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from crowdtally.core.counts import Memberships, What
from crowdtally.curator.bounding.scaling import capped, with_row_sums
from crowdtally.curator.choices.bounds import RowNorms, RowSums, RowTable
from crowdtally.curator.choices.selection import Kept
from crowdtally.curator.counting.bounded import Cells, Parts, Read, dropped_in, tally, total
from crowdtally.records import engine as window
from crowdtally.records.engine import (
    Column,
    Dropped,
    Engine,
    Rows,
    carried,
    cell_parts,
    countable,
    grouped,
    held_sum,
)
from crowdtally.records.matching import cell_numbers
from crowdtally.records.prepare import Prepared


def distinct_users(
    engine: Engine, prepared: Prepared, sizes: Sequence[int]
) -> Read[list[Memberships]]:
    """(user, cell) → the distinct users of every cell, for each table of so many cells.

    A user of several cells of the domain that make one cell of a table counts once in it.
    """
    widths, parts = [prepared.width_of(size) for size in sizes], Parts(engine)
    found: list[list[Cells]] = []
    dropped: list[Dropped] = []
    while not parts.done:
        with parts:
            found, dropped = [], []
            for rows in parts.of(prepared.rows):
                same = engine.materialise(grouped(rows), "same")  # (user, cell, rows)
                met = countable(same).select("user", "cell")
                found.append([tally(engine, _by(met, w), prepared.domain) for w in widths])
                dropped.append(dropped_in(engine, same))
    tables = zip(sizes, zip(*found, strict=True), strict=True)
    counts = [Memberships.of(size, *total(cells)) for size, cells in tables]
    return Read(counts, Dropped.total(dropped))


def _by(met: Rows, width: int) -> Rows:
    """(user, cell), each once, with cells of which each is ``width`` of the domain's."""
    if width == 1:
        return met
    return met.select("user", cell=(met.cell // width).cast("int64")).distinct()


def record_sums(engine: Engine, prepared: Prepared, what: What) -> Read[RowSums]:
    rows = prepared.rows
    reads = {}
    if what == "users":
        rows = grouped(rows)
    elif "id" in rows.columns:
        # Damage to the ids must show here, before the charge, and not when they are needed.
        reads["read"] = engine.hash(0, [rows.id]).bit_xor()
    return _histogram(engine, rows, rows.cell.count(), reads)


def scaled_sums(engine: Engine, prepared: Prepared, cap: int, *, width: int) -> Read[RowSums]:
    """How many users have which sum of a row whose cells count up to ``cap`` each.

    ``width`` is how many cells make one of the table: those of an item, or 1.
    """
    same = capped(grouped(prepared.rows_by(width)), cap)
    row_sum = same.amount.sum(where=same.cell.notnull()).cast("int64")
    return _histogram(engine, same, row_sum, {})


def row_norms(engine: Engine, prepared: Prepared, cap: int, *, width: int) -> Read[RowNorms]:
    """How many users have which sum of squares and which sum of a row."""
    same = engine.materialise(grouped(prepared.rows_by(width)), "same")
    amounts = capped(countable(same), cap)
    amount = amounts.amount
    rows = amounts.group_by("user").agg(squares=held_sum(amount * amount), row_sum=held_sum(amount))
    found = engine.arrays(rows.group_by("squares", "row_sum").agg(users=rows.count()))
    norms = RowNorms(found["squares"], found["row_sum"], found["users"])
    return Read(norms, dropped_in(engine, same))


def row_totals(engine: Engine, prepared: Prepared, cap: int, *, width: int) -> Read[RowTable]:
    """For each row sum and cell, the total of the cell over the users with that row sum."""
    same = engine.materialise(grouped(prepared.rows_by(width)), "same")
    amounts = with_row_sums(same, cap)
    totals = amounts.group_by("row_sum", "cell").agg(total=amounts.amount.sum().cast("int64"))
    found = engine.columns(totals)
    cells = cell_numbers(found["cell"], prepared.domain)
    sums, amount = (np.asarray(found[name], dtype=np.int64) for name in ("row_sum", "total"))
    return Read(RowTable(sums, cells, amount), dropped_in(engine, same))


def _histogram(
    engine: Engine, rows: Rows, row_sum: Column, reads: dict[str, Column]
) -> Read[RowSums]:
    """(user, cell) → how many users have which row sum; nobody has an empty row."""
    users = rows.group_by("user").agg(row_sum=row_sum, **reads, **carried(rows, rows.cell))
    users = engine.materialise(users, "row_sums")
    known = users.filter(users.user.notnull(), users.inside > 0)
    found = engine.arrays(known.group_by("row_sum").agg(users=known.count()))
    return Read(RowSums(found["row_sum"], found["users"]), dropped_in(engine, users))


def kept_cells(
    engine: Engine, prepared: Prepared, limit: int, widths: Sequence[int], *, key: int
) -> Read[list[Kept]]:
    """Each user's cells, at most ``limit`` distinct ones, and how many users keep each.

    The cells' own values order and hash them. A number for each cell, as where all lists are
    public, would depend on what other users have. All tables are of the same kept cells: the first
    ``width`` columns for each of ``widths``. A user counts once in a cell of each.
    """
    same = engine.materialise(grouped(prepared.rows), "same")  # (user, cell), each once
    parts = cell_parts(same)
    distinct = countable(same).select("user", *parts)
    order = engine.hash(key, [distinct.user, *(distinct[name] for name in parts)])
    kept = window.least(distinct.mutate(priority=order), limit)
    if len(widths) > 1:
        kept = engine.materialise(kept, "kept")
    tables = [_users_by_cell(engine, kept, parts[:width]) for width in widths]
    return Read(tables, dropped_in(engine, same))


def _users_by_cell(engine: Engine, kept: Rows, parts: Sequence[str]) -> Kept:
    if len(parts) < len(cell_parts(kept)):
        kept = kept.select("user", *parts).distinct()
    found = engine.columns(kept.group_by(*parts).agg(users=kept.count()))
    columns = [found[name] for name in parts]
    ranks = [np.unique(column, return_inverse=True)[1] for column in columns]
    by_value = np.lexsort(ranks[::-1])  # the first column slowest: never the order of discovery
    values = tuple(column[by_value] for column in columns)
    return Kept(values, found["users"][by_value].astype(np.int64))
