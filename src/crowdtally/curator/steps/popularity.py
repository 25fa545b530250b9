"""The popularity that hand-picking goes by: SRA(d₀) counts of all items, noisy, drawn once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from crowdtally.core.counts import What
from crowdtally.curator.bounding.sra import SRA
from crowdtally.curator.counting.reading import Read
from crowdtally.curator.counting.tables import count
from crowdtally.curator.steps.step import Reading, Released
from crowdtally.curator.table import Table
from crowdtally.ledger import Part
from crowdtally.noise.draws import Draws


@dataclass(frozen=True)
class Popularity:
    """At most d₀ records of each user, counted by item."""

    table: Table
    """The table of popularities; its bound is d₀."""
    what: What
    """Whether records or distinct users are counted."""

    def parts(self) -> Sequence[Part]:
        """The one table."""
        return [self.table.charge()]

    def count(self, reading: Reading, released: Released) -> Read[Any]:
        """(user, cell) → at most d₀ per user → item counts."""
        return count(
            reading.engine, reading.prepared, SRA(self.table.bound),
            key=reading.fresh_key(), what=self.what,
        )  # fmt: skip

    def release(self, counted: Read[Any], released: Released, draws: Draws) -> Released:
        """The noisy item counts."""
        items, _ = counted.found
        return released.with_tables([self.table.publish(items, draws)])
