"""The view of a release that questions ask: axes, tables and estimates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import hypot, inf, sqrt

import numpy as np

from crowdtally.core.layout import CONTEXTS, EDGES
from crowdtally.format import Published
from crowdtally.format.load import what_counts
from crowdtally.format.manifest import TableFacts
from crowdtally.inference.auto import AutoEstimates, estimate_auto
from crowdtally.inference.auto_cells import CellEstimates, estimate_cells
from crowdtally.inference.facts import AutoFacts, ItemFacts, Noisy
from crowdtally.inference.items import estimate_items
from crowdtally.laws.base import Combination
from crowdtally.laws.laplace import of_variance
from crowdtally.reader.axes import Axes, Floats, Ints, Mask, cells_of
from crowdtally.reader.estimates import cache
from crowdtally.reader.estimates.cell_sums import BOUNDED, TRUE, Believed, Total, together
from crowdtally.reader.estimates.contexts import (
    AlikeContexts,
    Consistent,
    InContexts,
    consistent_items,
    shrink,
)
from crowdtally.reader.estimates.facts import (
    MOST,
    base_table,
    counts,
    facts_of_auto,
    has_estimates,
    places,
    short_rows,
    single_counts,
    table_facts,
)

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


def words(published: Published, table: TableFacts, covers: str) -> str:
    """What the estimates and their intervals cover, in a sentence; nothing of mere noise."""
    if covers == NOISE:
        return ""
    if covers == TRUE and table.law.per_cell:
        return "Estimates are of all users: nobody was left out. 95% intervals are of the noise."
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
    if published.auto is not None:
        return (
            f"Estimates are rough and may be far too low: {counted}, and there are too few users "
            "to measure how much that leaves out."
        )
    return (
        f"Estimates and their 95% intervals are of the bounded counts: {counted}. How much that "
        "leaves out cannot be known from this release."
    )


LEVEL = Fraction(19, 20)
"""Of the intervals."""


@dataclass(frozen=True, eq=False)
class OfItems:
    """The estimates of all cells of the items' table, or of a table of attributes."""

    believed: Believed
    """One for each cell, in the order of the lists."""
    covers: str
    in_order: bool
    """Whether one table says all: then the noisy counts have the same order."""
    every: Total
    cell: float = inf
    """The standard deviation of one noisy count, where nothing was calibrated."""

    def sum(self, mask: Mask) -> Total:
        """The sum of those that a mask picks. All of them were measured together."""
        if mask.all():
            return self.every
        return self.believed.total(mask, LEVEL, self.every.error, self.cell)

    @cached_property
    def total(self) -> float:
        return float(self.believed.mean.sum())


@dataclass(frozen=True, eq=False)
class ReleaseView(Axes):
    """A release as all questions see it: its axes and tables, and the estimates from them."""

    @cached_property
    def base(self) -> TableFacts | None:
        return base_table(self.published)

    @cached_property
    def items(self) -> OfItems | None:
        """Of every item (or cell of attributes); None where none can be given."""
        table = self.base
        if table is None or not has_estimates(table):
            return None
        made = cache.kept(self.published, table.cells, lambda: self._estimated(table))
        calibrated, believed = bool(made.calibrated), made.believed
        bounded = is_bounded(self.published) and not calibrated
        return OfItems(
            believed,
            BOUNDED if bounded else TRUE,
            in_order=self._both is None and self.published.auto is None,
            every=made.whole,
            cell=inf if calibrated else table.law.std(),
        )

    def _estimated(self, table: TableFacts) -> cache.Made:
        if self.auto is not None:
            found, every = self.auto[1].items, self.auto[1].total
            ends = (every.mean, every.deviation, every.low, every.high)
            total = Total(*map(float, ends))
            return cache.Made(Believed.of(found), found.calibrated, total)
        law = table.law
        if self._both is not None:
            law = of_variance(self._both.item_variance, law.unit)
            facts = ItemFacts(len(self._both.items), Noisy(self._both.items, law))
        else:
            facts = table_facts(self.published, table, self.axes_of(table))
        items = estimate_items(facts, LEVEL)
        error = law.std(Combination.of_cells(items.size))
        total = Total.normal(float(items.mean.sum()), error, LEVEL)
        return cache.Made(Believed.of(items), items.calibrated, total)

    @cached_property
    def auto(self) -> tuple[AutoFacts, AutoEstimates] | None:
        """What a release of ``auto`` says, and what follows from it; None of any other release."""
        table, auto = self.base, self.published.auto
        if auto is None or table is None or not has_estimates(table):
            return None
        facts = facts_of_auto(self, table, auto)
        return facts, estimate_auto(facts, LEVEL)

    def noisy_at(self, where: Ints) -> Floats:
        """The released noisy counts of some cells of the items' table; 0 for unpublished cells."""
        if self.base is None:
            return np.zeros(len(where))
        if self.base.summary is not None:
            listed = places(self.published, self.base, self.axes_of(self.base))
            found = counts(self.published, self.base)
            by_place = dict(zip(listed.tolist(), found.tolist(), strict=True))
            return np.array([by_place.get(place, 0.0) for place in where.tolist()])
        noisy = single_counts(self.published, self.base, self.axes_of(self.base))[where]
        short = short_rows(self.published, self.base)
        return noisy if short is None else noisy + counts(self.published, short)[where]

    @cached_property
    def _both(self) -> Consistent | None:
        """Items and their contexts made to add up, where they count the same records."""
        items, edges = self.published.table("items"), self.published.table("edges")
        if items is None or edges is None or not same_records(self.published, items, edges):
            return None
        found = single_counts(self.published, items, self.axes_of(items))
        by_context = single_counts(self.published, edges, self.axes_of(edges))
        by_context = by_context.reshape(len(found), -1)
        return consistent_items(found, items.law.std() ** 2, by_context, edges.law.std() ** 2)

    @cached_property
    def _edges(self) -> InContexts | Believed | None:
        """Of each item in each context, where a table counts them and a method was named."""
        edges = self.published.table(EDGES.name)
        if edges is None or not has_estimates(edges) or edges.transform.kind != "none":
            return None
        if self._both is not None and self.base is not None and self.items is not None:
            return shrink(self.items.believed, self._both.contexts, self._both.context_variance)
        facts = table_facts(self.published, edges, self.axes_of(edges))
        return Believed.of(estimate_items(facts, LEVEL))

    @cached_property
    def cells(self) -> CellEstimates | None:
        """Of items in contexts, where ``auto`` measured both them and the contexts."""
        if self.auto is None or self.auto[0].cells is None:
            return None
        return estimate_cells(*self.auto, LEVEL)

    @cached_property
    def alike(self) -> AlikeContexts | None:
        """The same where ``auto`` measured the totals of the contexts alone."""
        totals, edges = (self.published.table(kind.name) for kind in (CONTEXTS, EDGES))
        if totals is None or edges is not None or self.items is None:
            return None
        return AlikeContexts.of(self.items.believed, counts(self.published, totals), totals.law)

    def in_contexts(self, mask: Mask) -> Believed | None:
        """Of every item, summed over the contexts of a mask; None where none can be given."""
        if self.published.auto is not None:
            if self.cells is not None:
                return Believed.of(self.cells.column(mask))
            return None if self.alike is None else self.alike.column(mask, LEVEL)
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
        if self.published.auto is not None or not isinstance(self._edges, InContexts):
            return None
        if len(self._edges.mean) == 1:  # a single item has an interval of its own
            return None
        mean, variance = self._edges.of_all(mask)
        error = self._whole_of(mask, mean, variance) if mean > 0 else 0.0
        return Total.normal(mean, error, LEVEL)

    def _whole_of(self, mask: Mask, mean: float, variance: float) -> float:
        """The deviation of the sum of all items in some contexts, which has this mean.

        ``variance`` is the sum of the items' own variances there.
        """
        if self.items is None:
            return 0.0
        total, whole = self.items.total, self.items.every.error
        share = mean / total if total > 0 else 1.0
        shared = self.cells or self.alike
        if shared is None:  # the noise of the cells themselves is all that is known
            return hypot(share * whole, sqrt(variance))
        if mask.all():  # the contexts are all that there is
            return whole
        errors = (shared.shares * shared.shares_error)[mask]
        return hypot(share * whole, total * float(np.sqrt((errors**2).sum())))

    def context_mask(self, box: Mapping[str, Mask]) -> Mask:
        return cells_of(box, self.contexts.values())


def _columns(found: Believed, mask: Mask) -> Believed:
    """The sums over some contexts of estimates of all cells, items slowest."""
    picked = np.flatnonzero(mask)
    grids = [part.reshape(-1, len(mask)) for part in found.parts()]
    return together([Believed(*(grid[:, place] for grid in grids)) for place in picked], LEVEL)
