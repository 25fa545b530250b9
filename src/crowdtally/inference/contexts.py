"""Items in contexts; what is special there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from statistics import NormalDist
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from crowdtally.inference.items import chances_among
from crowdtally.inference.lifts import FoundLifts, Head, Lifts, Rows, Shrunk, head_lifts, row_lifts
from crowdtally.inference.stopping import differ
from crowdtally.inference.tastes import Tastes, odds, shrunk_tastes

Floats = NDArray[np.float64]

LEAN = 0.1
"""How far shares may be off because heavy users were scaled down. Both as seen in real data."""


class Items(Protocol):
    """What is asked of the items' estimates (``ItemEstimates``)."""

    @property
    def mean(self) -> Floats:
        """Calibrated counts c_i, one per item."""

    @property
    def deviation(self) -> Floats:
        """Their standard deviations."""


@dataclass(frozen=True, eq=False)
class ContextFacts:
    """What a release says about one family of contexts. What was not measured is None."""

    totals: Floats
    """(h,) step 8: released totals per context, as counts."""
    deviation: float
    """Of one total's noise."""
    users: float
    """n̂ of the sizes."""
    repeats: bool = False
    """Whether a user may have an item several times (then there are no odds of having it)."""
    head: Head | None = None
    tastes: Tastes | None = None
    rows: Rows | None = None
    """Instead of ``head``: a release has one of them at most."""

    def __post_init__(self) -> None:
        if self.head is not None and self.rows is not None:
            raise ValueError("contexts are measured by a split head or by head rows, not by both")

    @cached_property
    def shares(self) -> Floats:
        """share_j: no total counts for less than a fifth of its noise."""
        safe = np.maximum(self.totals, max(0.2 * self.deviation, 1e-9))
        return np.asarray(safe / safe.sum())

    @cached_property
    def shares_variance(self) -> Floats:
        """(h,) the relative variance of each share: the totals' noise, and their lean."""
        total = max(float(np.maximum(self.totals, 0.0).sum()), self.deviation, 1e-9)
        own = (1.0 / self.shares - 1.0) ** 2 + len(self.totals) - 1
        lean = (LEAN * (1.0 - self.shares)) ** 2
        return np.asarray(own * (self.deviation / total) ** 2 + lean)


@dataclass(frozen=True, eq=False)
class Cells:
    """Estimates of some items in all contexts, or of all items in one context."""

    mean: Floats
    """e_ij."""
    deviation: Floats
    """Of e_ij."""
    lift: Floats
    """e_ij / (c_i·share_j): 1 where the item is as popular there as everywhere."""
    lift_deviation: Floats
    """Its posterior deviation."""


# Counts of each item in each context, from the items' estimates and what was measured of
# contexts.
#
# Every cell is e_ij = c_i·p_ij, where Σ_j p_ij = 1: the items' counts are never changed here. A
# head that was counted in each context is in c_i already, by its sum; only how it divides is used
# here.

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


@dataclass(frozen=True, eq=False)
class Consistent:
    """Counts that add up: of all unbiased linear estimates, those with the least variance."""

    items: Floats
    """One for each item: the sum of its contexts."""
    contexts: Floats
    """One for each item and context."""
    item_variance: float
    context_variance: float


def consistent_items(
    items: Floats, item_variance: float, contexts: Floats, context_variance: float
) -> Consistent:
    """Item counts (m) and their context counts (m × h) that add up.

    Only where an item is the sum of its contexts before noise: both counted on the same kept
    records, each in one context. Both tables' noises are independent, of one variance each.

    >>> made = consistent_items(np.array([7.0]), 1.0, np.array([[2.0, 3.0]]), 1.0)
    >>> made.items.round(3).tolist(), made.contexts.round(3).tolist()
    ([6.333], [[2.667, 3.667]])
    """
    h = contexts.shape[1]
    share = context_variance / (item_variance + h * context_variance)
    missing = items - contexts.sum(axis=1)
    found = contexts + share * missing[:, None]
    return Consistent(
        found.sum(axis=1), found, item_variance * h * share, context_variance * (1 - share)
    )


# Lifts of items in several contexts taken as one, such as the weekend.

Mask = NDArray[np.bool_]

_REACH = NormalDist().inv_cdf(0.975)


def lifts_together(estimates: ContextEstimates, places: Ints, inside: Mask) -> FoundLifts:
    """What is believed of the lifts of some items where the context is any of ``inside``.

    p_S = Σ_{j∈S} p_ij is off by Σ_k p_k·δ_k·(1{k∈S} − p_S), δ the relative errors before an item's
    parts were made to add up to 1: what the contexts of S have in common adds up, and what they
    have in common with all others cancels.
    """
    parts = estimates._parts(places)
    part, share = parts[:, inside].sum(axis=1), float(estimates.shares[inside].sum())
    if inside.sum() == 1:
        cells = estimates.at(places)
        (context,) = np.flatnonzero(inside)
        deviation = cells.lift_deviation[:, context]
    else:
        deviation = np.sqrt(_variance(estimates, places, parts, inside)) / share
    lift = part / share
    return _normal(lift, deviation, 1.0 / share)


def _normal(lift: Floats, deviation: Floats, most: float) -> FoundLifts:
    safe = np.maximum(deviation, 1e-9)
    low, high = lift - _REACH * safe, lift + _REACH * safe
    above = np.array([NormalDist().cdf(one) for one in ((lift - 1.0) / safe).tolist()])
    return FoundLifts(lift, np.maximum(low, 0.0), np.minimum(high, most), deviation, above)


def _variance(estimates: ContextEstimates, places: Ints, parts: Floats, inside: Mask) -> Floats:
    """Of p_S."""
    part = parts[:, inside].sum(axis=1)
    least = np.minimum(part, 1.0 - part)  # what is inside is what is not outside
    total = np.zeros(len(places))
    if estimates.tastes is not None and estimates.facts.tastes is not None:
        features = estimates.facts.tastes.features[places]
        own = np.stack([_along(one, parts, inside) for one in estimates.tastes.covariance], axis=1)
        total += (estimates._reach(places) ** 2 * features**2 * own).sum(axis=1)
    if estimates.measured is None:
        return np.asarray(total + (UNMEASURED * least) ** 2)
    found, rows = estimates.measured.found, estimates.rows[places]
    measured = rows >= 0
    widened = 1.0 + parts.shape[1] / len(found.mean)
    scatter = widened * _along(found.spread, parts, inside)
    total[~measured] += scatter[~measured]
    total[measured] *= (1 - found.gain[rows[measured]].min(axis=1)) ** 2
    factor = estimates.measured.factor[rows[measured]]
    relative = found.covariance[rows[measured]] / (factor[:, :, None] * factor[:, None, :])
    total[measured] += widened * _along(relative, parts[measured], inside)
    total[measured] += SCATTER * scatter[measured]
    _, of_lift = estimates._levels(places)
    levels = parts[:, inside] ** 2 * np.broadcast_to(of_lift, parts.shape)[:, inside]
    return np.asarray(total + np.minimum(levels.sum(axis=1), least**2 * of_lift.max()))


def _along(covariance: Floats, parts: Floats, inside: Mask) -> Floats:
    """(items,): the variance of Σ_k p_k·δ_k·(1{k∈S} − p_S), one covariance for all or for each."""
    weights = parts * (inside - parts[:, inside].sum(axis=1, keepdims=True))
    mixed = (
        weights @ covariance
        if covariance.ndim == 2
        else np.einsum("ik,ikj->ij", weights, covariance)
    )
    return np.asarray(np.maximum((mixed * weights).sum(axis=1), 0.0))


AMONG = 200
"""Special items are sought among so many of the largest estimates: beyond, all is noise."""


@dataclass(frozen=True, eq=False)
class Ranked:
    """A list of items of one context, best first."""

    places: Ints
    """The items' places in the list."""
    score: Floats
    """e_ij where popular, the lift where special."""
    deviation: Floats
    """The score's posterior deviation."""
    chance: Floats
    """The probability to be among the best k of the context by this score."""
    measured: NDArray[np.bool_]
    """Whether the item itself was counted in the context. Otherwise "special" says no more than
    that items of its kind are special there."""


def popular(estimates: ContextEstimates, context: int, k: int) -> Ranked:
    """The k items with the largest e_ij of the context; ties by the order of the list."""
    cells = estimates.column(context)
    everything = np.arange(len(cells.mean), dtype=np.int64)
    return _ranked(estimates, everything, cells.mean, cells.deviation, k)


def special(estimates: ContextEstimates, context: int, k: int) -> Ranked:
    """The k largest lifts of the context among the 200 largest items; ties by their size.

    Where each context has the overall ranking (``same_ranking``) no item is special: none is given.
    """
    largest = np.argsort(-np.asarray(estimates.items.mean), kind="stable")[:AMONG]
    if estimates.same_ranking:
        largest = largest[:0]
    cells = estimates.at(largest)
    return _ranked(
        estimates, largest, cells.lift[:, context], cells.lift_deviation[:, context], k
    )  # fmt: skip


def _ranked(
    estimates: ContextEstimates, places: Ints, score: Floats, deviation: Floats, k: int
) -> Ranked:
    order = np.argsort(-score, kind="stable")[: max(k, 0)]
    wanted = min(max(k, 0), len(places))
    chance = chances_among(score, deviation, wanted) if wanted else np.zeros(len(places))
    chosen = places[order]
    return Ranked(
        chosen, score[order], deviation[order], chance[order], estimates.is_measured(chosen)
    )
