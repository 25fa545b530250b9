"""What somebody adds without touching the package: a transform, a publishing and a rule.

Each is one class; the test adds one line to a registry for it. A rule needs no line at all.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_matrix

from crowdtally.core.counts import Counts, Keeping, Sides, What
from crowdtally.core.hierarchy import Dyadic
from crowdtally.core.layout import Layout
from crowdtally.curator.bounding.sampling import keep_first
from crowdtally.curator.summaries.base import Charged, Noisy, dense
from crowdtally.laws.laplace import DiscreteLaplace
from crowdtally.noise.draws import Draws
from crowdtally.person.catalogue import Catalogue
from crowdtally.records.engine import Engine, Rows


@dataclass(frozen=True)
class Tripled:
    """A transform that counts every record three times: useless, but its noise must be tripled."""

    name: ClassVar[str] = "none"  # readers take its table as it is
    signed: ClassVar[bool] = False
    ordered: tuple[str, ...] = ()

    def for_table(self) -> Tripled:
        return self

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
    leaves_out: ClassVar[bool] = False
    largest: ClassVar[int] = 10**6
    sides: Sides = "two"
    size: int | None = None
    wanted: int | None = None

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


# People with a taste: each has mostly items of one category, the popular ones of it oftener.

TASTES = ("crime", "horror", "space", "western")
EACH = 25
"""Items that have a taste's category; every fifth of them has the next taste's too."""


def catalogue() -> Catalogue:
    """A hundred items; the number of an item is its place."""
    return Catalogue.of({place: _categories(place) for place in range(EACH * len(TASTES))})


def people(number: int, seed: int = 1, length: int = 14) -> Any:
    """Who had what, a row for each person: of ten items about nine are of the person's taste."""
    generator = np.random.default_rng(seed)
    matrix = np.zeros((number, EACH * len(TASTES)), dtype=np.float32)
    within = 1 / (3.0 + np.arange(EACH))  # the first of each taste are the popular ones
    for row in matrix:
        odds = np.tile(within, len(TASTES)) * 0.05
        taste = generator.integers(len(TASTES))
        odds[taste * EACH : (taste + 1) * EACH] = within
        row[generator.choice(len(row), length, replace=False, p=odds / odds.sum())] = 1
    return csr_matrix(matrix)


def _categories(place: int) -> list[str]:
    taste = place // EACH
    return [TASTES[taste], *([TASTES[(taste + 1) % len(TASTES)]] if place % 5 == 0 else [])]
