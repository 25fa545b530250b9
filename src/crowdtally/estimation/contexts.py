"""Counts of each item in each context, from the items' estimates and what was measured of contexts.

Every cell is e_ij = c_i·p_ij, where Σ_j p_ij = 1: the items' counts are never changed here. A head
that was counted in each context is in c_i already, by its sum; only how it divides is used here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from crowdtally.estimation.context_facts import Cells, ContextFacts, Items
from crowdtally.estimation.measured_lifts import Head, Lifts, Rows, head_lifts, row_lifts
from crowdtally.estimation.shrinking import Shrunk
from crowdtally.estimation.stopping import differ
from crowdtally.estimation.tastes import Tastes, odds, shrunk_tastes

__all__ = [
    "Cells", "ContextEstimates", "ContextFacts", "Head", "Items", "Rows", "Tastes",
    "estimate_contexts",
]  # fmt: skip

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LARGEST = 5_000_000
"""Cells of a matrix that is still built whole."""
_CHUNK = 500_000
LEVEL = 0.05
"""How far the largest items as a whole may be more or less popular in a context."""
SCATTER = 0.1
"""How much of the scatter of lifts stays unknown of measured items: rows scaled to 1 weigh persons
and not records, and the mean lift of a few items is not quite 1."""
UNMEASURED = 0.3
"""How far lifts are taken to scatter where no item's own lift was measured: an assumption. It was
0.08 to 0.14 for groups of persons and 0.3 to 0.9 for times of the day or week in real data."""


@dataclass(frozen=True, eq=False)
class ContextEstimates:
    """The estimates of all cells; one context's column at a time, or the whole matrix."""

    items: Items
    facts: ContextFacts
    tastes: Shrunk | None = field(default=None, repr=False)
    """(f, h) shrunk likings of the features."""
    measured: Lifts | None = field(default=None, repr=False)
    """(K, h) lifts of the items that were counted in the contexts."""
    rows: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64), repr=False)
    """(m,) the row in ``measured`` of each item, −1: none; empty where nothing was measured."""

    @property
    def same_ranking(self) -> bool:
        """Whether nothing was measured or found: each context then has the overall ranking."""
        return self.tastes is None and self.measured is None

    @cached_property
    def shares(self) -> Floats:
        """(h,) share_j: as released, corrected by the head's level as far as they explain it."""
        if self.measured is None:
            return self.facts.shares
        moved = self.facts.shares * (1.0 + self._explained * self.measured.level)
        return np.asarray(moved / moved.sum())

    @cached_property
    def _explained(self) -> Floats:
        """(h,) how much of a level that is off is due to the share, not to the head's own lift."""
        wrong = self.facts.shares_variance
        return np.asarray(wrong / (wrong + LEVEL**2))

    def is_measured(self, places: Ints) -> NDArray[np.bool_]:
        """Whether each of these items was counted in the contexts itself."""
        if self.measured is None:
            return np.zeros(len(places), dtype=np.bool_)
        return np.asarray(self.rows[places] >= 0)

    def at(self, places: Ints) -> Cells:
        """(len(places), h): these items in every context."""
        count = np.asarray(self.items.mean)[places][:, None]
        spread = np.asarray(self.items.deviation)[places][:, None]
        parts = self._parts(places)
        lift = parts / self.shares
        own = self._variance(places, parts)
        of_cell, of_lift = self._levels(places)
        return Cells(
            count * parts,
            parts * np.sqrt(spread**2 + count**2 * (own + of_cell)),
            lift,
            lift * np.sqrt(own + of_lift),
        )

    def column(self, context: int) -> Cells:
        """(m,) each: every item in one context. Never builds the matrix."""
        pieces = [self.at(places) for places in self._chunks()]
        return Cells(
            *(
                np.concatenate([getattr(piece, name)[:, context] for piece in pieces])
                for name in ("mean", "deviation", "lift", "lift_deviation")
            )
        )

    def matrix(self) -> Cells:
        """(m, h) each. For at most 5·10⁶ cells: ask for columns beyond."""
        size, h = len(self.items.mean), len(self.shares)
        if size * h > LARGEST:
            raise ValueError(
                f"{size:,} items × {h:,} contexts are more than {LARGEST:,} cells: "
                "ask for one context's column at a time"
            )
        return self.at(np.arange(size, dtype=np.int64))

    def _chunks(self) -> Iterator[Ints]:
        size = len(self.items.mean)
        step = max(_CHUNK // len(self.shares), 1)
        for start in range(0, max(size, 1), step):
            yield np.arange(start, min(start + step, size), dtype=np.int64)

    def _parts(self, places: Ints) -> Floats:
        """p_ij: how each item divides over the contexts."""
        weights = _expected_parts(self, places)
        if self.measured is not None:
            rows = self.rows[places]
            # What the shares do not explain of the level is the head's own.
            level = (1.0 + self.measured.level) / (1.0 + self._explained * self.measured.level)
            weights = weights * np.where(
                rows[:, None] >= 0, self.measured.factor[rows] * level, 1.0
            )
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))

    def _variance(self, places: Ints, parts: Floats) -> Floats:
        """The relative variance of p_ij beside the shares' own, once Σ_j p_ij = 1."""
        total = np.zeros_like(parts)
        if self.tastes is not None and self.facts.tastes is not None:
            own = _projected(self.tastes.covariance, self.shares)  # (f, h)
            total += self._reach(places) ** 2 * (self.facts.tastes.features[places] ** 2 @ own)
        if self.measured is None:
            return total + UNMEASURED**2
        found, rows = self.measured.found, self.rows[places]
        inside = rows >= 0
        # How lifts scatter was itself estimated, h variances from K rows: less sure than it looks.
        widened = 1.0 + parts.shape[1] / len(found.mean)
        scatter = widened * _projected(found.spread[None], self.shares)
        # Outside, an item's own lift is as unknown as the lifts of the head are scattered. Inside,
        # what was measured makes up for wrong tastes as far as it counts.
        total[~inside] += scatter
        total[inside] *= (1 - found.gain[rows[inside]]) ** 2
        factor = self.measured.factor[rows[inside]]
        relative = found.covariance[rows[inside]] / (factor[:, :, None] * factor[:, None, :])
        total[inside] += widened * _projected(relative, parts[inside])
        total[inside] += SCATTER * scatter
        return total

    def _levels(self, places: Ints) -> tuple[Floats, Floats]:
        """Relative variances that a context's cells, and its lifts, have in common.

        A share that is off by δ and a level m of the head's lifts are seen as one, u = m − δ.
        """
        wrong = self.facts.shares_variance
        if self.measured is None:
            return wrong, np.zeros_like(wrong)
        inside = self.is_measured(places)[:, None]
        certain, explained = self.measured.certain, self._explained
        if self.facts.rows is not None:
            return (
                np.where(inside, (1 - certain) * wrong, wrong),
                np.where(inside, certain * wrong, 0.0),
            )
        return (
            np.where(inside, (1 - certain) * (wrong + LEVEL**2), (1 - certain * explained) * wrong),
            np.where(inside, (1 - certain * (1 - explained)) * LEVEL**2, 0.0),
        )

    def _reach(self, places: Ints) -> Floats:
        count = np.asarray(self.items.mean)[places]
        return odds(count, self.facts.users, repeats=self.facts.repeats)[:, None]


def estimate_contexts(items: Items, facts: ContextFacts) -> ContextEstimates:
    """Cells of every item and context, with Σ_j e_ij = c_i.

    Tastes and head rows that do not stand out from their noise are left aside: items × shares.
    """
    tastes = None
    if facts.tastes is not None and _has_tastes(facts.tastes, facts.shares):
        tastes = shrunk_tastes(facts.tastes, facts.shares, facts.shares_variance, facts.users)
    kinds = ContextEstimates(items, facts, tastes)
    chosen = facts.head or facts.rows
    if chosen is None or not len(chosen.places):
        return kinds
    counts = np.maximum(np.asarray(items.mean)[chosen.places], 0.0)
    if facts.rows is not None and not _has_lifts(facts.rows, facts.shares, counts):
        return kinds
    parts = kinds.at(chosen.places).lift * facts.shares
    if facts.head is not None:
        level = LEVEL**2 + facts.shares_variance
        lifts = head_lifts(facts.head, counts[:, None] * parts, level)
    else:
        assert facts.rows is not None
        lifts = row_lifts(facts.rows, counts, parts)
    rows = np.full(len(items.mean), -1, dtype=np.int64)
    rows[chosen.places] = np.arange(len(chosen.places))
    return ContextEstimates(items, facts, tastes, lifts, rows)


def _has_tastes(tastes: Tastes, shares: Floats) -> bool:
    """Whether there is more than noise: shrinkage alone would leave lifts that are none."""
    return differ(tastes.sums, tastes.deviation, shares, squares=tastes.squares)


def _has_lifts(rows: Rows, shares: Floats, counts: Floats) -> bool:
    return differ(rows.values, rows.deviation, shares, counts=counts, squares=rows.squares)


def _expected_parts(estimates: ContextEstimates, places: Ints) -> Floats:
    """The contexts' shares, moved by the tastes on the odds scale; not yet normalised."""
    tastes, facts = estimates.tastes, estimates.facts
    if tastes is None or facts.tastes is None:
        return np.tile(estimates.shares, (len(places), 1))
    logs = estimates._reach(places) * (facts.tastes.features[places] @ tastes.mean)
    logs -= logs.max(axis=1, keepdims=True)  # a common factor that the norm removes again
    return np.asarray(estimates.shares * np.exp(logs))


def _projected(covariance: Floats, parts: Floats) -> Floats:
    """Variances of δ_j − Σ_k p_k·δ_k: what is left of relative errors once a row is normalised.

    The common part of a row's errors is a matter of the item's count, and is counted there.
    """
    mixed = (
        np.einsum("ijk,...k->ij", covariance, parts)
        if parts.ndim == 1
        else np.einsum("ijk,ik->ij", covariance, parts)
    )
    both = mixed @ parts if parts.ndim == 1 else (mixed * parts).sum(axis=1)
    own = np.einsum("ijj->ij", covariance)
    return np.asarray(np.maximum(own - 2 * mixed + both[:, None], 0.0))
