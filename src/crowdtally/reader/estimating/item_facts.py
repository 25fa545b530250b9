"""What a release of any method says about its items, as ``estimation`` takes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import sqrt

import numpy as np

from crowdtally.core.hierarchy import DyadicAxis
from crowdtally.format import Published
from crowdtally.format.manifest import AutoFacts, TableFacts
from crowdtally.inference.facts import Binned, Chosen, ItemFacts, Noisy, Summary
from crowdtally.laws.base import ONE_CELL, Combination, NoiseLaw
from crowdtally.laws.gaussian import GaussianNoise
from crowdtally.laws.interval import IntervalNoise
from crowdtally.reader import tables
from crowdtally.reader.estimating.believed import Floats
from crowdtally.reader.estimating.steps import counts, groups, norm_of, number, places
from crowdtally.reader.lookup import AxisLookup

MOST = 5_000_000
"""Cells of a table that are all estimated."""


def has_estimates(table: TableFacts) -> bool:
    """Whether single cells of a table can be estimated: listed, not too many, each by itself.

    Buckets and coefficients are no counts of cells. Of nodes, those of single items are.
    """
    if table.is_discovered or table.kind.is_pairs or table.cells > MOST:
        return False
    kind = table.transform.kind
    return kind == "none" or (kind == "dyadic" and table.is_dense and len(table.axes) == 1)


def item_facts(published: Published, table: TableFacts, lists: Sequence[AxisLookup]) -> ItemFacts:
    """All that was released about the cells of the items' table, which has estimates."""
    found, auto = table_facts(published, table, lists), published.auto
    if auto is None:
        return found
    theta, norm = number(auto, table.name, "theta"), norm_of(auto, table.name)
    # Nothing is bounded where the step of the table has no bound.
    found = replace(found, theta=theta, norm=norm, exact=found.exact or theta is None)
    return _with_steps(found, published, auto, lists)


def table_facts(published: Published, table: TableFacts, lists: Sequence[AxisLookup]) -> ItemFacts:
    """What one table says about its cells."""
    if table.summary is not None:
        kept = Summary(
            places(published, table, lists),
            counts(published, table),
            table.law,
            table.summary.keeping,
        )
        return ItemFacts(table.cells, summary=kept)
    noisy = single_counts(published, table, lists)
    exact = isinstance(table.law, IntervalNoise)
    return ItemFacts(len(noisy), Noisy(noisy, table.law), exact=exact)


def single_counts(published: Published, table: TableFacts, lists: Sequence[AxisLookup]) -> Floats:
    """The noisy count of each cell of a dense table; of a tree, of each of its leaves."""
    if table.transform.kind == "none":
        return counts(published, table)
    (axis,) = lists
    name, tree = axis.name, DyadicAxis(len(axis))
    found = tables.leaf_counts(published.path(table), name, tree.levels)
    return np.asarray(found[: len(axis)], dtype=np.float64)


def _with_steps(
    found: ItemFacts, published: Published, auto: AutoFacts, lists: Sequence[AxisLookup]
) -> ItemFacts:
    def chosen(name: str) -> Chosen | None:
        table = published.table(name)
        if table is None:
            return None
        theta = number(auto, name, "theta")
        return Chosen(places(published, table, lists), counts(published, table), table.law, theta)

    sizes, bins = published.table("sizes"), published.table("bins")
    return ItemFacts(
        found.size,
        found.table,
        None if sizes is None else Noisy(counts(published, sizes), sizes.law),
        chosen("crowd"),
        chosen("zoom"),
        None if bins is None else _binned(published, bins, auto),
        chosen("head") or _summed_head(published, lists),
        found.summary,
        auto.repeats,
        found.theta,
        exact=found.exact,
        norm=found.norm,
    )


def _binned(published: Published, table: TableFacts, auto: AutoFacts) -> Binned:
    cap = number(auto, table.name, "cap") or 1
    return Binned(groups(table), counts(published, table), table.law, cap)


def _summed_head(published: Published, lists: Sequence[AxisLookup]) -> Chosen | None:
    """The head, where it was measured in each context: the sum over the contexts."""
    table, totals = published.table("split_head"), published.table("contexts")
    if table is None or totals is None:
        return None
    where = places(published, table, lists)[:: totals.cells]
    values = counts(published, table).reshape(-1, totals.cells).sum(axis=1)
    return Chosen(where, values, over_contexts(table.law, totals.cells))


def over_contexts(law: NoiseLaw, contexts: int) -> NoiseLaw:
    """The noise of the sum of one cell from each context, which have independent noises."""
    if isinstance(law, IntervalNoise):
        return OverContexts(law.rate, law.cells, law.phantoms, law.counted, 1, times=contexts)
    if isinstance(law, GaussianNoise):
        return GaussianNoise(contexts * law.variance, law.unit)
    raise TypeError(f"a head in each context has interval or Gaussian noise, not {law.kind}")


@dataclass(frozen=True)
class OverContexts(IntervalNoise):
    """The noise of sums of one cell from each of several independent draws."""

    times: int = 1
    """How many draws are added up."""

    def std(self, of: Combination = ONE_CELL) -> float:
        """As many variances as draws."""
        return sqrt(self.times) * super().std(of)
