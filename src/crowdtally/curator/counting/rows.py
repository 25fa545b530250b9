"""What a choice of a bound looks at: the sums of the users' rows. See ``choosing/rows.py``."""

from __future__ import annotations

import numpy as np

from crowdtally.core.counts import What
from crowdtally.curator.bounding.dpsense import capped, with_row_sums
from crowdtally.curator.choosing.rows import RowNorms, RowSums, RowTable
from crowdtally.curator.counting.reading import Read, dropped_in
from crowdtally.records.engine import Column, Engine, Rows, carried, countable, grouped, held_sum
from crowdtally.records.matching import cell_numbers
from crowdtally.records.prepare import Prepared


def record_sums(engine: Engine, prepared: Prepared, what: What) -> Read[RowSums]:
    """How many users have how many records, or how many different cells."""
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

    Args:
        engine: what runs it.
        prepared: all records.
        cap: the most that one user counts in one cell.
        width: how many cells make one of the table: those of an item, or 1.
    """
    same = capped(grouped(prepared.rows_by(width)), cap)
    row_sum = same.amount.sum(where=same.cell.notnull()).cast("int64")
    return _histogram(engine, same, row_sum, {})


def row_norms(engine: Engine, prepared: Prepared, cap: int, *, width: int) -> Read[RowNorms]:
    """How many users have which sum of squares and which sum of a row, over exactly its cells."""
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
