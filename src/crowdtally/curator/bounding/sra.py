"""SRA: a uniform sample of at most l records of each user (Fan & Jin 2015, Algorithm 1).

Contract: ``keep`` is a function B(key, T_u) of one user's own records as a multiset. It returns
at most ``limit`` rows of each user. Over a uniform key the rows are a simple random sample
without replacement of T_u (of its distinct cells where users are counted). The proof note is
``sra.md``.
"""

from __future__ import annotations

from dataclasses import dataclass

import ibis

from crowdtally.curator.engine.duckdb import DuckDBEngine
from crowdtally.curator.engine.hashing import HASH_BITS
from crowdtally.values.counts import What

# Below this many bits of hash, ties between different records would begin to show in the law.
_LEAST_HASH_BITS = 32


@dataclass(frozen=True)
class SRA:
    """Keep min(l, |T_u|) of each user's records, uniformly without replacement."""

    limit: int
    """l: the most records that one user may contribute. Public."""

    @property
    def l1_bound(self) -> int:
        """What one user can change in the item counts, and in the item×context counts."""
        return self.limit

    def keep(
        self, engine: DuckDBEngine, rows: ibis.Table, *, cells: int, key: int, what: What
    ) -> ibis.Table:
        """(user, cell[, id]) → (user, cell) with at most ``limit`` rows of each user."""
        records = _told_apart(rows, what)  # (user, cell[, id | ordinal])
        identity = [records[c] for c in ("user", "id", "ordinal") if c in records.columns]
        if "id" not in records.columns:
            identity.insert(1, records.cell)
        hashed = engine.hash(key, identity)
        bits = (cells - 1).bit_length()
        if HASH_BITS - bits < _LEAST_HASH_BITS:
            wide = records.select("user", "cell", priority=hashed)
            return engine.least(wide, self.limit).select("user", "cell")
        # The cell rides in the low bits: one integer orders the records, breaks ties by their
        # content and gives the cell back.
        packed = records.select("user", priority=(hashed >> bits) * 2**bits + records.cell)
        kept = engine.least(packed, self.limit)
        return kept.select("user", cell=kept.priority & (2**bits - 1))


def _told_apart(rows: ibis.Table, what: What) -> ibis.Table:
    """Give each record an identity that does not depend on other users or on row order."""
    if what == "users":
        return rows.select("user", "cell").distinct()
    if "id" in rows.columns:
        return rows
    # Records of one user in one cell are interchangeable: ordinals 0 … n−1 tell them apart.
    same = rows.group_by("user", "cell").agg(times=rows.count())
    first = same.select("user", "cell", ordinal=ibis.literal(0, type="int64"))
    more = same.filter(same.times > 1)
    others = more.select("user", "cell", ordinal=ibis.range(1, more.times).unnest())
    return first.union(others)
