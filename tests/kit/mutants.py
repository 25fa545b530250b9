"""Wrong rules: each keeps records in a way that has been a real bug somewhere."""

from __future__ import annotations

from typing import Any

import ibis

from crowdtally.curator.bounding.sampling import SRA
from crowdtally.records.engine import Kept


class KeepOneMore(SRA):
    """l+1 records."""

    def keep(self, engine: Any, rows: ibis.Table, **given: Any) -> Kept:
        return SRA(self.limit + 1).keep(engine, rows, **given)


class PositionalIds(SRA):
    """A record's id is its place in the table."""

    def keep(self, engine: Any, rows: ibis.Table, **given: Any) -> Kept:
        return SRA(self.limit).keep(engine, rows.mutate(id=ibis.row_number()), **given)


class HashedUser(SRA):
    """Users are grouped by a hash, under which some collide."""

    def keep(self, engine: Any, rows: ibis.Table, **given: Any) -> Kept:
        hashed = rows.mutate(user=engine.hash(0, [rows.user]) % 2)
        return SRA(self.limit).keep(engine, hashed, **given)


class HashOfAllRows(SRA):
    """The hash depends on how many rows there are in all."""

    def keep(self, engine: Any, rows: ibis.Table, **given: Any) -> Kept:
        everyone = rows.count().over(ibis.window())
        return SRA(self.limit).keep(engine, rows.mutate(id=rows.cell * 1000 + everyone), **given)


class DistinctIds(SRA):
    """Records are made distinct by their id, across users."""

    def keep(self, engine: Any, rows: ibis.Table, **given: Any) -> Kept:
        return SRA(self.limit).keep(engine, rows.distinct(on="id"), **given)


class OneQuota(SRA):
    """One quota for all users together, as large as what two of them may keep."""

    def keep(self, engine: Any, rows: ibis.Table, **given: Any) -> Kept:
        together = SRA(2 * self.limit).keep(engine, rows.mutate(user=ibis.literal(0)), **given)
        return Kept(together.rows.mutate(user=together.rows.cell))


class FanOut(SRA):
    """A join after bounding finds two partners for cell 0."""

    def keep(self, engine: Any, rows: ibis.Table, **given: Any) -> Kept:
        kept = SRA(self.limit).keep(engine, rows, **given).rows
        return Kept(kept.union(kept.filter(kept.cell == 0)))
