"""The definition of "each user's l first records", for any engine that Ibis compiles for."""

from __future__ import annotations

import ibis


def least(table: ibis.Table, limit: int) -> ibis.Table:
    """The ``limit`` rows of each user that come first by priority, then by cell.

    Rows that are equal in both are interchangeable, so ``row_number`` (never ``rank``, which
    would keep all of them) picks the same multiset however the engine orders them.
    """
    order = [table.priority, *([table.cell] if "cell" in table.columns else [])]
    position = ibis.row_number().over(group_by=table.user, order_by=order)
    kept = table.mutate(position=position)
    return kept.filter(kept.position < limit).drop("position")
