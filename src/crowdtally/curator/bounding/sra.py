"""SRA: a uniform sample of at most l records of each user (Fan & Jin 2015, Algorithm 1).

Contract: ``keep`` is a function B(key, T_u) of one user's own records as a multiset. It returns
at most ``limit`` rows of each user. Over a uniform key the rows are a simple random sample
without replacement of T_u (of its distinct cells where users are counted). The proof note is
``sra.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from crowdtally.core.counts import What
from crowdtally.curator.bounding.ordering import keep_first, keyed_hash, told_apart
from crowdtally.curator.bounding.rule import RecordRule
from crowdtally.records.engine import Engine, Kept, Rows


@dataclass(frozen=True)
class SRA(RecordRule):
    """Keep min(l, |T_u|) of each user's records, uniformly without replacement."""

    name: ClassVar[str] = "sra"

    def keep(self, engine: Engine, rows: Rows, *, cells: int, key: int, what: What) -> Kept:
        """(user, cell[, id]) → (user, cell) with at most ``limit`` rows of each user."""
        records = told_apart(rows, what)  # (user, cell[, id | place])
        order = keyed_hash(engine, records, key)
        return keep_first(engine, records, order, cells=cells, limit=self.limit)


@dataclass(frozen=True)
class Declared(SRA):
    """SRA with a public bound that is meant to cut nobody (the papers' LPA)."""

    name: ClassVar[str] = "declared"
    takes: ClassVar[frozenset[str]] = frozenset({"max_records"})
    choices: ClassVar[tuple[str, ...]] = ()
