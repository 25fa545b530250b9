"""The definition of "each user's l first records", for any engine that Ibis compiles for."""

from __future__ import annotations

import ibis

from crowdtally.curator.engine.census import cell_parts


def least(table: ibis.Table, limit: int) -> ibis.Table:
    """The ``limit`` rows of each user that come first by priority, then by cell, part by part.

    Rows without a user, a priority or a cell are none of them.

    Rows that are equal in both are interchangeable, so ``row_number`` (never ``rank``, which
    would keep all of them) picks the same multiset however the engine orders them.
    """
    names = [name for name in ("user", "priority") if name in table.columns]
    names += cell_parts(table)
    known = table.filter(*(table[name].notnull() for name in names))
    order = [known[name] for name in names[1:]]
    kept = known.mutate(position=ibis.row_number().over(group_by=known.user, order_by=order))
    return kept.filter(kept.position < limit).select(*names)
