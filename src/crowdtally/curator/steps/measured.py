"""Tables of distinct users with interval noise: nobody is bounded, every table has its own draw."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from crowdtally.curator.counting.memberships import distinct_users
from crowdtally.curator.counting.reading import Read
from crowdtally.curator.measured import Measured
from crowdtally.curator.steps.step import Bound, Reading, Released
from crowdtally.ledger import Part
from crowdtally.noise.draws import Draws


@dataclass(frozen=True)
class MeasuredTables:
    """Tables that each user counts in once for each of her cells."""

    tables: tuple[Measured, ...]
    """The items, and perhaps the items in context; or the cells."""

    def parts(self) -> Sequence[Part]:
        """Each table."""
        return [table.charge() for table in self.tables]

    def count(self, reading: Reading, released: Released) -> Read[Any]:
        """(user, cell) → the distinct users of every cell, table by table."""
        sizes = [table.layout.size for table in self.tables]
        return distinct_users(reading.engine, reading.prepared, sizes)

    def release(self, counted: Read[Any], released: Released, draws: Draws) -> Released:
        """Every table with its noise."""
        bounds = {table.name: Bound(table.l1_bound) for table in self.tables}
        pairs = zip(self.tables, counted.found, strict=True)
        noisy = [table.publish(users, draws) for table, users in pairs]
        return replace(released, bounds=bounds).with_tables(noisy)
