"""Keeping each user's first records in an order that is a function of the record and the key.

Every sampling rule is one such order. Privacy needs only that the order of a user's records is a
function of (key, that user's own records, values already released); see ``sra.md``.
"""

from __future__ import annotations

from crowdtally.curator.engine.engine import Engine
from crowdtally.curator.engine.hashing import HASH_BITS
from crowdtally.curator.engine.relations import Column, Rows, constant, counting_from
from crowdtally.values.counts import What

# Below this many bits of order, ties between different records would begin to show in the law.
_LEAST_BITS = 32


def told_apart(rows: Rows, what: What) -> Rows:
    """(user, cell[, id]) → rows with an identity independent of other users and of row order."""
    if what == "users":
        return rows.select("user", "cell").distinct()
    if "id" in rows.columns:
        return rows
    # Records of one user in one cell are interchangeable: ordinals 0 … n−1 tell them apart.
    same = rows.group_by("user", "cell").agg(times=rows.count())
    first = same.select("user", "cell", ordinal=constant(0))
    more = same.filter(same.times > 1)
    others = more.select("user", "cell", ordinal=counting_from(1, more.times))
    return first.union(others)


def keyed_hash(engine: Engine, records: Rows, key: int) -> Column:
    """The hash of (key, user, identity of the record), 63 bits."""
    if "id" in records.columns:
        return engine.hash(key, [records.user, records.id])
    if "ordinal" in records.columns:
        return engine.hash(key, [records.user, records.cell, records.ordinal])
    return engine.hash(key, [records.user, records.cell])


def keep_first(
    engine: Engine,
    records: Rows,
    order: Column,
    *,
    cells: int,
    limit: int,
    leading: int = 0,
) -> Rows:
    """(user, cell) of each user's ``limit`` records of the smallest ``order``.

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
        return engine.least(wide, limit).select("user", "cell")
    # The cell rides in the low bits: one integer orders the records, breaks ties by their content
    # and gives the cell back.
    low = 2**bits - 1
    packed = records.select("user", priority=(order & (2**HASH_BITS - 1 - low)) | records.cell)
    kept = engine.least(packed, limit)
    return kept.select("user", cell=kept.priority & low)
