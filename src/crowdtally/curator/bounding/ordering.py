"""Keeping each user's first records in an order that is a function of the record and the key.

Every sampling rule is one such order. Privacy needs only that the order of a user's records is a
function of (key, that user's own records, values already released); see ``sra.md``.
"""

from __future__ import annotations

from dataclasses import replace

from crowdtally.core.counts import What
from crowdtally.records.engine import CARRIED, Column, Engine, Kept, Rows, grouped, places
from crowdtally.records.matching import HASH_BITS

# Below this many bits of order, ties between different records would begin to show in the law.
_LEAST_BITS = 32


def told_apart(rows: Rows, what: What) -> Rows:
    """(user, cell[, id]) → rows with an identity independent of other users and of row order."""
    if what == "users":
        return grouped(rows)  # (user, cell, rows): each cell once, with what a census needs
    if "id" in rows.columns:
        return rows
    # A user's records in the order of their cells: places 0 … n−1 tell them apart. Records of one
    # cell are interchangeable; those without a cell come last, so that they move nobody's place.
    return rows.mutate(place=places(rows.user, rows.cell))


def keyed_hash(engine: Engine, records: Rows, key: int) -> Column:
    """The hash of (key, user, identity of the record), 63 bits."""
    if "id" in records.columns:
        return engine.hash(key, [records.user, records.id])
    if "place" in records.columns:
        return engine.hash(key, [records.user, records.place])
    return engine.hash(key, [records.user, records.cell])


def keep_first(
    engine: Engine,
    records: Rows,
    order: Column,
    *,
    cells: int,
    limit: int,
    leading: int = 0,
) -> Kept:
    """(user, cell) of each user's ``limit`` records of the smallest ``order``.

    A record without a user or without a cell is not kept.

    Args:
        engine: what runs it.
        records: the table that ``order`` is an expression of.
        order: a 63-bit integer; its low bits give way to the cell, which breaks ties.
        cells: how many cells there are.
        limit: how many records of a user are kept.
        leading: how many of the high bits are not random, such as those of a rank.
    """
    bits = (cells - 1).bit_length()
    if HASH_BITS - leading - bits < _LEAST_BITS:
        wide = records.select("user", "cell", priority=order)
        kept = engine.least(wide, limit)
        return replace(kept, rows=kept.rows.select("user", "cell"))
    # The cell rides in the low bits: one integer orders the records, breaks ties by their content
    # and gives the cell back. Without a cell it is null, which nothing keeps.
    low = 2**bits - 1
    priority = (order & (2**HASH_BITS - 1 - low)) | records.cell
    along = [name for name in CARRIED if name in records.columns]
    kept = engine.least(records.select("user", *along, priority=priority), limit)
    rows = kept.rows.select("user", cell=kept.rows.priority & low)
    return replace(kept, rows=rows)
