"""A release's tables as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import sqrt

import numpy as np

from crowdtally.core.hierarchy import DyadicAxis
from crowdtally.format import Published
from crowdtally.format.manifest import AutoFacts, TableFacts
from crowdtally.inference.facts import Binned, Chosen, ItemFacts, Noisy, Summary
from crowdtally.inference.rows import Norm
from crowdtally.laws.base import ONE_CELL, Combination, NoiseLaw
from crowdtally.laws.gaussian import GaussianNoise
from crowdtally.laws.interval import IntervalNoise
from crowdtally.reader import tables
from crowdtally.reader.axes import AxisLookup
from crowdtally.reader.estimates.cell_sums import Floats, Ints

# What the tables of a release's steps hold, as arrays.


def number(auto: AutoFacts, step: str, name: str) -> int | None:
    """A whole number that was decided for a step; None where it was not taken."""
    found = auto.step(step)
    value = None if found is None else found.facts.get(name)
    return None if value is None else int(value)


def norm_of(auto: AutoFacts, step: str) -> Norm:
    """What the bound of a step bounds: the sums of users' rows, or their norms."""
    found = auto.step(step)
    return "l2" if found is not None and found.facts.get("norm") == "l2" else "l1"


def found_alike(auto: AutoFacts) -> bool:
    """Whether a first look at the contexts found that they hardly differ."""
    return any(step.facts.get("differ") is False for step in auto.steps)


def counts(published: Published, table: TableFacts) -> Floats:
    """The noisy counts of a table, in the order of its file."""
    return np.asarray(tables.column(published.path(table), "count"), dtype=np.float64)


def places(published: Published, table: TableFacts, lists: Sequence[AxisLookup]) -> Ints:
    """The numbers of the cells that the rows of a table name, among those of these lists."""
    path = published.path(table)
    numbers: Ints = np.zeros(1, dtype=np.int64)
    for axis in lists:
        numbers = numbers * len(axis) + axis.places_of(tables.column(path, axis.name))
    return numbers


def groups(table: TableFacts) -> Ints:
    """The group of every item, one character for each; ``-``: in none."""
    signs = np.frombuffer((table.groups or "").encode(), dtype=np.uint8).astype(np.int64)
    return np.where(signs == ord("-"), -1, signs - ord("0"))


# What a release of any method says about its items, as ``estimation`` takes it.

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
        where, values = places(published, table, lists), counts(published, table)
        kept = Summary(where, values, table.law, table.summary.keeping)
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

    sizes, bins, binned = published.table("sizes"), published.table("bins"), None
    if bins is not None:
        cap = number(auto, bins.name, "cap") or 1
        binned = Binned(groups(bins), counts(published, bins), bins.law, cap)
    return ItemFacts(
        found.size,
        found.table,
        None if sizes is None else Noisy(counts(published, sizes), sizes.law),
        chosen("crowd"),
        chosen("zoom"),
        binned,
        chosen("head") or _summed_head(published, lists),
        found.summary,
        auto.repeats,
        found.theta,
        exact=found.exact,
        norm=found.norm,
    )


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
