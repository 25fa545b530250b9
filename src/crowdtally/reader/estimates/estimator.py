"""ReleaseView: axes, facts, estimates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import hypot, inf, prod, sqrt

import numpy as np

from crowdtally.format import Published
from crowdtally.format.load import what_counts
from crowdtally.format.manifest import TableFacts
from crowdtally.inference.contexts import Consistent, consistent_items
from crowdtally.inference.facts import ItemFacts, Noisy
from crowdtally.inference.items import ItemEstimates, estimate_items
from crowdtally.inference.rows import read_sizes
from crowdtally.laws.base import Combination, NoiseLaw
from crowdtally.laws.interval import IntervalNoise
from crowdtally.laws.laplace import DiscreteLaplace
from crowdtally.reader.axes import Axes, cells_of
from crowdtally.reader.estimates import cache
from crowdtally.reader.estimates.cell_sums import (
    BOUNDED,
    TRUE,
    Believed,
    Floats,
    Ints,
    Mask,
    Total,
    together,
)
from crowdtally.reader.estimates.contexts import AutoContexts, InContexts, auto_contexts, shrink
from crowdtally.reader.estimates.facts import (
    MOST,
    counts,
    has_estimates,
    item_facts,
    places,
    single_counts,
    table_facts,
)

# What the estimates of a release are estimates of: all records, or what bounding left of them.

_ONE_SAMPLE = ("sra", "hpa", "declared")
"""Rules that keep records, or drop them, the same ones for items and for items in contexts."""
_SOME_NOISE = 1e-6
NOISE = "the noise only"
"""What an interval covers that says nothing but how large the noise may be."""
_HEAVY = " Items that a few very active users make large can be farther off."


def is_bounded(published: Published) -> bool:
    """Whether records of one user may have been left out; not where each row is a person."""
    return published.guarantee.unit in ("user", "same-person")


def same_records(published: Published, items: TableFacts, edges: TableFacts) -> bool:
    """Whether an item's count is, before noise, the sum of its counts in contexts.

    So it is where both tables count the same kept records, each in one context. Distinct users are
    no sum: one may have an item in two contexts. Nor are rows that each table scaled by itself.
    """
    bounds = published.method.bounds
    told = [bounds.get(table.name) for table in (items, edges)]
    if is_bounded(published) and (
        published.counted != "records"
        or published.method.bounding not in _ONE_SAMPLE
        or told[0] != told[1]
    ):
        return False
    plain = all(
        table.is_dense and table.transform.kind == "none" and table.cells <= MOST
        for table in (items, edges)
    )
    return plain and min(items.law.std(), edges.law.std()) > _SOME_NOISE


def words(published: Published, table: TableFacts, covers: str, *, measured: bool = True) -> str:
    """What the estimates and their intervals cover, in a sentence; nothing of mere noise.

    Args:
        published: the release.
        table: the table that is asked.
        covers: what the intervals cover.
        measured: whether the release could tell how long users' rows are.
    """
    if covers == NOISE:
        return ""
    if covers == TRUE and isinstance(table.law, IntervalNoise):
        return "Estimates are of all users: nobody was left out. 95% intervals are of the noise."
    if covers == TRUE and is_bounded(published) and not measured:
        return (
            f"Estimates are of all {published.counted}, and rough: there are too few users to "
            "measure what bounding each user left out, so half is assumed. Their 95% intervals are "
            "no better than that guess."
        )
    if covers == TRUE and is_bounded(published):
        repeats = published.auto is not None and published.auto.repeats
        return (
            f"Estimates are of all {published.counted}: what bounding each user left out was "
            "measured too, and 95% intervals contain how uncertain that is."
            f"{_HEAVY if repeats else ''}"
        )
    if covers == TRUE:
        return "Estimates are of all rows; 95% intervals contain the noise."
    counted = what_counts(published, table).words()
    return (
        f"Estimates and their 95% intervals are of the bounded counts: {counted}. How much that "
        "leaves out cannot be known from this release."
    )


# All estimates of one release: made once, when something is asked that needs them.

LEVEL = Fraction(19, 20)
"""Of the intervals."""
_OF_TOTALS = 0.02
"""The share of the sum of all counts that measured totals of groups may miss, beside noise."""
_OF_SIZES = 0.02
"""The share of all counts that may be lost or not: sizes are known by powers of two alone."""
_OF_LOST = 0.3
"""How far the share that bounding takes away is uncertain where no totals were measured."""


@dataclass(frozen=True, eq=False)
class OfItems:
    """The estimates of all cells of the items' table, or of a table of attributes."""

    believed: Believed
    """One for each cell, in the order of the lists."""
    covers: str
    in_order: bool
    """Whether one table says all: then the noisy counts have the same order."""
    whole: float
    """The standard deviation of the sum of all of them."""
    cell: float = inf
    """That of one noisy count, where nothing was calibrated."""

    @cached_property
    def total(self) -> float:
        """The sum of all of them."""
        return float(self.believed.mean.sum())


@dataclass(frozen=True, eq=False)
class Crowd:
    """Noisy counts of the items that the table leaves out, because very many have them."""

    counts: Mapping[int, float]
    """By the items' places."""
    law: NoiseLaw
    """Of their noise."""
    level: Fraction
    """Of their noise intervals."""
    table: TableFacts


@dataclass(frozen=True, eq=False)
class Estimator:
    """The estimates of a release. All of it follows from the release alone."""

    axes: Axes

    @property
    def published(self) -> Published:
        return self.axes.published

    @cached_property
    def base(self) -> TableFacts | None:
        """The table of the items, or of the attributes."""
        return self.published.table("items") or self.published.table("cells")

    @cached_property
    def items(self) -> OfItems | None:
        """Of every item (or cell of attributes); None where none can be given."""
        table = self.base
        if table is None:
            return self._from_contexts()
        if not has_estimates(table):
            return None
        made = cache.kept(self.published, table.cells, lambda: self._estimated(table))
        calibrated, believed = bool(made.calibrated), made.believed
        bounded = is_bounded(self.published) and not calibrated
        return OfItems(
            believed,
            BOUNDED if bounded else TRUE,
            in_order=self._both is None and self.published.auto is None,
            whole=self._whole(table, made),
            cell=inf if calibrated else table.law.std(),
        )

    def _whole(self, table: TableFacts, made: cache.Made) -> float:
        """The standard deviation of the sum of all estimates."""
        cells, total = len(made.believed), float(made.believed.mean.sum())
        bins = self.published.table("bins")
        if bins is not None:
            return hypot(bins.law.std(Combination.of_cells(bins.cells)), _OF_TOTALS * total)
        law = table.law if self._both is None else _like(table.law, self._both.item_variance)
        lost = 1 - made.kept_share
        return hypot(
            law.std(Combination.of_cells(cells)) / made.kept_share,
            _OF_LOST * lost * total,
            min(lost, _OF_SIZES) * total,
            self._calibrated_by_head(made.believed),
        )

    def _calibrated_by_head(self, believed: Believed) -> float:
        """How far the sum of all is off with the head that they were calibrated by, if any."""
        if self.published.table("head") is None and self.published.table("split_head") is None:
            return 0.0
        return float(np.sqrt(np.maximum(believed.deviation**2 - believed.own**2, 0.0)).sum())

    def _estimated(self, table: TableFacts) -> cache.Made:
        lists = self.axes.of(table)
        if self._both is not None:
            law = _like(table.law, self._both.item_variance)
            facts = ItemFacts(len(self._both.items), Noisy(self._both.items, law))
        else:
            facts = item_facts(self.published, table, lists)
        found = estimate_items(facts, LEVEL)
        return cache.Made(_believed(found), found.calibrated, max(found.kept_share, 1e-3))

    def _from_contexts(self) -> OfItems | None:
        """Of items that were counted in each context alone, all of them without bounds."""
        edges, found = self.published.table("edges"), self._edges
        if edges is None or not isinstance(found, Believed):
            return None
        every = np.ones(prod(map(len, self.axes.contexts.values())), dtype=np.bool_)
        whole = edges.law.std(Combination.of_cells(edges.cells))
        return OfItems(_columns(found, every), TRUE, in_order=False, whole=whole)

    @cached_property
    def knows_sizes(self) -> bool:
        """Whether users' rows could be measured, where ``auto`` tried; else half is assumed."""
        sizes = self.published.table("sizes")
        if sizes is None:
            return True
        return read_sizes(counts(self.published, sizes), sizes.law.std()).reliable

    @cached_property
    def crowd(self) -> Crowd | None:
        """The crowd of an ``auto`` release, where it has one."""
        table = self.published.table("crowd")
        if table is None or self.base is None:
            return None
        where = places(self.published, table, self.axes.of(self.base))
        found = dict(zip(where.tolist(), counts(self.published, table).tolist(), strict=True))
        return Crowd(found, table.law, table.interval_level, table)

    def noisy_at(self, where: Ints) -> Floats:
        """The noisy counts of some cells of the items' table, as they stand in it.

        A cell that was not published has 0.
        """
        if self.base is None:
            return np.zeros(len(where))
        if self.base.summary is not None:
            listed = places(self.published, self.base, self.axes.of(self.base))
            found = counts(self.published, self.base)
            by_place = dict(zip(listed.tolist(), found.tolist(), strict=True))
            return np.array([by_place.get(place, 0.0) for place in where.tolist()])
        return single_counts(self.published, self.base, self.axes.of(self.base))[where]

    @cached_property
    def _both(self) -> Consistent | None:
        """Items and their contexts made to add up, where they count the same records."""
        items, edges = self.published.table("items"), self.published.table("edges")
        if items is None or edges is None or not same_records(self.published, items, edges):
            return None
        found = single_counts(self.published, items, self.axes.of(items))
        by_context = single_counts(self.published, edges, self.axes.of(edges))
        by_context = by_context.reshape(len(found), -1)
        return consistent_items(found, items.law.std() ** 2, by_context, edges.law.std() ** 2)

    @cached_property
    def _edges(self) -> InContexts | Believed | None:
        """Of each item in each context, where a table counts them."""
        edges = self.published.table("edges")
        if edges is None or not has_estimates(edges) or edges.transform.kind != "none":
            return None
        if self._both is not None and self.base is not None and self.items is not None:
            return shrink(self.items.believed, self._both.contexts, self._both.context_variance)
        facts = table_facts(self.published, edges, self.axes.of(edges))
        return _believed(estimate_items(facts, LEVEL))

    @cached_property
    def contexts(self) -> AutoContexts | None:
        """Of items in contexts, where ``auto`` measured what contexts say of their own."""
        return None if self.items is None else auto_contexts(self.axes, self.items.believed)

    def in_contexts(self, mask: Mask) -> Believed | None:
        """Of every item, summed over the contexts of a mask; None where none can be given."""
        if self.contexts is not None:
            return self.contexts.column(mask, LEVEL)
        found = self._edges
        if found is None or isinstance(found, InContexts):
            return None if found is None else found.column(mask, LEVEL)
        return _columns(found, mask)

    def total_in_contexts(self, mask: Mask, items: Mask | None) -> Total | None:
        """The sum over some items, or all, in the contexts of a mask; None where none is given."""
        if items is None and (found := self._all_in_contexts(mask)) is not None:
            return found
        believed = self.in_contexts(mask)
        if believed is None:
            return None
        mean, variance = float(believed.mean.sum()), float((believed.own**2).sum())
        picked = np.ones(len(believed), dtype=np.bool_) if items is None else items
        return believed.total(picked, LEVEL, self._whole_of(mask, mean, variance))

    def _all_in_contexts(self, mask: Mask) -> Total | None:
        """The same over all items, from the sums of each context, without a look at each item."""
        if self.contexts is not None or not isinstance(self._edges, InContexts):
            return None
        if len(self._edges.mean) == 1:  # a single item has an interval of its own
            return None
        mean, variance = self._edges.of_all(mask)
        error = self._whole_of(mask, mean, variance) if mean > 0 else 0.0
        return Total.normal(mean, error, LEVEL)

    def _whole_of(self, mask: Mask, mean: float, variance: float) -> float:
        """The standard deviation of the sum of all items in the contexts of a mask.

        Args:
            mask: which contexts.
            mean: that sum.
            variance: the sum of the items' own variances there.
        """
        if self.items is None:
            return 0.0
        total = self.items.total
        share = mean / total if total > 0 else 1.0
        if self.contexts is None:  # the noise of the cells themselves is all that is known
            return hypot(share * self.items.whole, sqrt(variance))
        return hypot(share * self.items.whole, total * self.contexts.shares_error(mask))

    def context_mask(self, box: Mapping[str, Mask]) -> Mask:
        """Which combinations of contexts a box means, as one long mask."""
        return cells_of(box, self.axes.contexts.values())


def _believed(found: ItemEstimates) -> Believed:
    return Believed(found.mean, found.median, found.low, found.high, found.deviation, found.own)


def _columns(found: Believed, mask: Mask) -> Believed:
    """The sums over some contexts of estimates of all cells, items slowest."""
    picked = np.flatnonzero(mask)
    grids = [part.reshape(-1, len(mask)) for part in found.parts()]
    return together([Believed(*(grid[:, place] for grid in grids)) for place in picked], LEVEL)


def _like(law: NoiseLaw, variance: float) -> NoiseLaw:
    """A Laplace law of this variance, as a count, with the same unit."""
    units = variance / float(law.unit) ** 2
    # The variance of a discrete Laplace law is 2q/(1−q)², q = e^(−1/b): about 2b² − 1/6.
    scale = Fraction(max(np.sqrt((units + 1 / 6) / 2), 0.05)).limit_denominator(1 << 20)
    return DiscreteLaplace(scale, law.unit)
