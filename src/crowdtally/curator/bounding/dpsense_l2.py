"""DPSense with a Euclidean norm: each user's row scaled to a norm of θ, for Gaussian noise.

Contract: one user changes a table by at most g·θ units in L2, for every database, where the row is
that of the very table. In L1 the only bound is g·θ·2^31, which Laplace noise would have to hide: so
the rule is for Gaussian noise alone. The proof note is ``l2_rows.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from crowdtally.core.counts import What
from crowdtally.curator.bounding.dpsense import GRID, DPSense, capped
from crowdtally.curator.bounding.l2_rows import l2_weighted
from crowdtally.records.engine import Engine, Rows, countable

_ROOT_OF_CELLS = 2**31
"""A row whose squares are not held has fewer than 2^61 cells: √2^61 is less than this."""


@dataclass(frozen=True)
class DPSenseL2(DPSense):
    """Scale each user's row to a Euclidean norm of at most θ."""

    choices: ClassVar[tuple[str, ...]] = ("histogram",)

    @property
    def l1_bound(self) -> int:
        """What one user can change in L1: her norm times the root of the number of her cells."""
        return GRID * self.theta * _ROOT_OF_CELLS

    def l2_squared(self, what: What) -> int:
        """g²θ², whatever is counted."""
        return (GRID * self.theta) ** 2

    def facts(self) -> dict[str, Any]:
        """The cap and the norm."""
        return {"cap": self.cap, "norm": "l2"}

    def weights(self, engine: Engine, same: Rows) -> Rows:
        """(user, cell, rows) of equal records put together → (cell, weight) in units."""
        amounts = capped(countable(same), self.cap).select("user", "cell", "amount")
        return l2_weighted(engine, amounts, self.theta)
