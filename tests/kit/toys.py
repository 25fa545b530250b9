"""What somebody adds without touching the package: a transform, a publishing and a rule.

Each is one class; the test adds one line to a registry for it. A rule needs no line at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from crowdtally.core.counts import Counts, Keeping, Sides, What
from crowdtally.core.hierarchy import Dyadic
from crowdtally.core.layout import Layout
from crowdtally.curator.bounding.sampling import keep_first
from crowdtally.curator.summaries.base import Charged, Noisy, dense
from crowdtally.laws.laplace import DiscreteLaplace
from crowdtally.noise.draws import Draws
from crowdtally.records.engine import Engine, Rows


@dataclass(frozen=True)
class Tripled:
    """A transform that counts every record three times: useless, but its noise must be tripled."""

    name: ClassVar[str] = "none"  # readers take its table as it is
    takes: ClassVar[frozenset[str]] = frozenset()
    signed: ClassVar[bool] = False
    ordered: tuple[str, ...] = ()

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Tripled:
        return cls()

    def layout(self, cells: Layout) -> Layout:
        return cells

    def factor(self, cells: Layout) -> int:
        return 3

    def l2_factor(self, cells: Layout) -> int:
        return 9

    def apply(self, counts: Counts, cells: Layout) -> Counts:
        return replace(
            counts, values=3 * counts.values, l1_bound=3 * counts.l1_bound,
            squared=9 * counts.l1_bound**2,
        )  # fmt: skip

    def tree(self, cells: Layout) -> Dyadic | None:
        return None

    def squares(self, cells: Layout, query: int, *, dense: bool) -> float:
        return query / 9

    def facts(self) -> dict[str, Any]:
        return {"kind": "none", "ordered": []}


@dataclass(frozen=True)
class Rounded:
    """A publishing of every cell whose noisy counts are rounded to tens: post-processing."""

    name: ClassVar[str] = "rounded"
    takes: ClassVar[frozenset[str]] = frozenset()
    leaves_out: ClassVar[bool] = False
    largest: ClassVar[int] = 10**6
    sides: Sides = "two"
    size: int | None = None
    wanted: int | None = None

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Rounded:
        return cls()

    def keeping(self, cells: int, law: DiscreteLaplace, *, tree: bool) -> Keeping:
        return Keeping()

    def draw(self, charged: Charged, draws: Draws) -> Noisy:
        noisy = dense(charged.counts, charged.price, draws)
        return replace(noisy, values=np.rint(noisy.values / 10).astype(np.int64) * 10)


@dataclass(frozen=True)
class SmallestCells:
    """A rule of one's own: each user's records of the smallest cells."""

    limit: int
    greedy: bool = False
    """Whether it hands back everything, limit or not."""
    name: ClassVar[str] = "smallest cells"

    def keep(self, engine: Engine, rows: Rows, *, cells: int, key: int, what: What) -> Rows:
        records = rows.select("user", "cell")
        if self.greedy:
            return records
        return keep_first(engine, records, records.cell, cells=cells, limit=self.limit)
