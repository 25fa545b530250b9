"""A table of distinct users with Gaussian noise, where it is paid for in ρ.

Contract: one user changes every cell by 0 or 1, in as many cells as she is in; with blocks, in the
cells of one block only. So she changes K cells at most, K those of one block, by at most √K in L2,
and discrete Gaussian noise of variance K/(2ρ) on each cell is ρ-zCDP. Nobody is bounded.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crowdtally.core.counts import Counts, Memberships
from crowdtally.core.layout import Layout
from crowdtally.core.privacy import Epsilon, Price
from crowdtally.curator.measured import Measured
from crowdtally.curator.table import Table
from crowdtally.format import NoisyTable
from crowdtally.noise.draws import Draws


@dataclass(frozen=True, eq=False)
class MembersTable(Table):
    """A table whose counts are memberships."""

    def publish(self, counts: Counts | Memberships, draws: Draws) -> NoisyTable:
        """The table with its noise; it stops where the counts are not those it was charged for.

        Args:
            counts: the distinct users of every cell.
            draws: where the noise comes from.
        """
        if not isinstance(counts, Memberships):
            raise self._broken("counts that are not of distinct users")
        users = Counts(
            counts.size, np.arange(counts.size), counts.values, self.bound, squared=self.squared
        )
        return super().publish(users, draws)


def members_table(
    name: str, part: str, layout: Layout, price: Price, phantoms: int, blocks: int = 1
) -> Measured | MembersTable:
    """The table of distinct users for a price: interval noise for ε, Gaussian noise for ρ.

    Args:
        name: of the table.
        part: of the split.
        layout: the cells.
        price: what it costs.
        phantoms: of interval noise.
        blocks: how many groups of users there are, each user in one; see :class:`Measured`.
    """
    if isinstance(price, Epsilon):
        return Measured(name, part, layout, price, phantoms, blocks)
    most = layout.size // blocks
    return MembersTable(name, part, layout, price, most, squared=most)
