"""HPA: each user's records of the most popular items (Fan & Jin 2015, Algorithm 2).

Contract: given a popularity that was already released, ``keep`` is a function of (key, T_u,
popularity); it returns at most ``limit`` rows of each user. Records of equal popularity are taken
uniformly. The proof note is ``hpa.md``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from crowdtally.core.counts import What
from crowdtally.curator.bounding.ordering import keep_first, keyed_hash, told_apart
from crowdtally.curator.bounding.rule import RecordRule
from crowdtally.records.engine import Engine, Kept, Rows
from crowdtally.records.matching import HASH_BITS


def nothing_released() -> NDArray[np.int64]:
    """The popularity before it is released: of no item."""
    return np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class HPA(RecordRule):
    """Keep the l records of each user whose items rank highest in a released popularity."""

    name: ClassVar[str] = "hpa"
    takes: ClassVar[frozenset[str]] = RecordRule.takes | {"popularity_records"}

    popularity: NDArray[np.int64] = field(default_factory=nothing_released)
    """The noisy count of every item of the public list, drawn once, already released."""

    def steering(self) -> NDArray[np.int64]:
        """All that the popularity says to :meth:`keep`: the rank of each item.

        0 for the most popular; items of equal noisy count share a rank: the hash decides.
        """
        _, rank = np.unique(-self.popularity, return_inverse=True)
        return rank.astype(np.int64)

    def keep(self, engine: Engine, rows: Rows, *, cells: int, key: int, what: What) -> Kept:
        """(user, cell[, id]) → (user, cell) with at most ``limit`` rows of each user."""
        width = cells // len(self.popularity)
        ranks = self.steering()
        ranked = engine.load("popularity", {"item": np.arange(len(ranks)), "rank": ranks})
        records = told_apart(rows, what)
        records = records.mutate(item=(records.cell // width).cast("int64"))
        records = records.left_join(ranked, "item")
        # The rank leads; what is left of 63 bits is the hash, which breaks ties.
        # All ranks equal take one bit too: 2^63 would not fit.
        bits = max(int(ranks.max()).bit_length(), 1)
        order = records["rank"] * 2 ** (HASH_BITS - bits)
        order = order + (keyed_hash(engine, records, key) >> bits)
        return keep_first(engine, records, order, cells=cells, limit=self.limit, leading=bits)
