"""What a release measured of its items, overall or in contexts: which table is compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from crowdtally.errors import UsageError
from crowdtally.format.manifest import DISTINCT, TableFacts
from crowdtally.inference.facts import Chosen
from crowdtally.laws.base import Combination
from crowdtally.laws.interval import IntervalNoise
from crowdtally.reader import tables
from crowdtally.reader.asking.answering import in_units
from crowdtally.reader.asking.selected import selected_table
from crowdtally.reader.axes import Axes
from crowdtally.reader.changes.measured import (
    Measured,
    Whole,
    of_auto,
    of_chosen,
    of_summary,
    of_table,
)
from crowdtally.reader.changes.tails import Ints
from crowdtally.reader.estimating.believed import Believed, Floats
from crowdtally.reader.estimating.covering import is_bounded
from crowdtally.reader.estimating.estimator import Estimator
from crowdtally.reader.estimating.item_facts import MOST, item_facts, single_counts
from crowdtally.reader.estimating.sampled import Sampled, weighted_sum
from crowdtally.reader.estimating.steps import counts, places
from crowdtally.reader.lookup import Mask

POPULAR = "hpa"
"""The rule that keeps records by a popularity, which each release draws anew."""
_SAMPLES = ("sra", "declared", POPULAR)
"""Rules that sample records one by one."""
_CERTAIN = ("dpsense", "dpsense-s", DISTINCT)
"""Rules that scale rows instead, or bound nobody: nothing is left to chance."""


@dataclass(frozen=True, eq=False)
class Reading:
    """What one release says about its items."""

    table: TableFacts
    """The table that is compared."""
    ways: list[Measured]
    """The table's values; and those of items that were measured apart, where there are any."""
    believed: Believed | None
    """The estimates of all items; None where there are none of the same thing."""
    cells: int
    """How many cells of the table each value sums over."""


def read(axes: Axes, estimator: Estimator, box: Mapping[str, Mask]) -> Reading:
    """The measurements of all items of a release, where contexts have the values of a box."""
    published = axes.published
    only = selected_table(published)
    if only is not None:
        return _selected(axes, only, box)
    if published.method.bounding == POPULAR and published.table("popularity") is not None:
        return _popularity(axes, box)
    item = next(iter(axes.by_name))
    table = axes.find([item, *box])
    auto = published.auto is not None
    if auto and table is not None and table.name == "items" and not box:
        return _auto(axes, estimator, table)
    if table is None or (auto and not table.law.per_cell):
        return _split(axes, estimator, box)
    return _table(axes, estimator, table, box)


def _selected(axes: Axes, table: TableFacts, box: Mapping[str, Mask]) -> Reading:
    """Of the items that were selected, overall or in one context."""
    if table.name == "heads" and not _one_each(axes, box):
        raise UsageError(
            "these releases have the top items of each context alone: name one value of "
            f"{' and '.join(axes.contexts)}."
        )
    return Reading(table, [_chosen(axes, table, box)], None, 1)


def _one_each(axes: Axes, box: Mapping[str, Mask]) -> bool:
    return set(box) == set(axes.contexts) and all(mask.sum() == 1 for mask in box.values())


def _chosen(axes: Axes, table: TableFacts, box: Mapping[str, Mask]) -> Measured:
    """The rows of a table of some items, of the contexts of a box, added up for each item."""
    published, path = axes.published, axes.published.path(table)
    item = next(iter(axes.by_name.values()))
    where, values = places(published, table, [item]), counts(published, table)
    inside = np.ones(len(where), dtype=np.bool_)
    for name, mask in box.items():
        inside &= np.isin(tables.column(path, name), axes.by_name[name].axis.values[mask])
    rows = np.flatnonzero(inside)
    found, back = np.unique(where[rows], return_inverse=True)
    sums = np.bincount(back, values[rows], minlength=len(found)).astype(np.float64)
    draws = max(len(rows) // max(len(found), 1), 1)
    return of_chosen(Chosen(found, sums, table.law), len(item), draws=draws)


def _popularity(axes: Axes, box: Mapping[str, Mask]) -> Reading:
    """Of the popularity, a sample of its own: what was kept by it depends on its noise."""
    published = axes.published
    table = published.table("popularity")
    if table is None or box:
        raise UsageError(
            f"{published.method.bounding} keeps records by a popularity that each release draws "
            "anew: its counts in contexts differ by that alone. Compare without a context, or "
            "release with --bounding sra or auto."
        )
    values = counts(published, table)
    whole = Whole(float(values.sum()), table.law.std(Combination.of_cells(len(values))))
    measured = of_table(values, table.law, sampled=step_of(axes, table), whole=whole)
    return Reading(table, [measured], None, 1)


def _auto(axes: Axes, estimator: Estimator, table: TableFacts) -> Reading:
    facts = item_facts(axes.published, table, axes.of(table))
    of_items = estimator.items
    whole = None
    if of_items is not None:
        whole = Whole(float(of_items.believed.mean.sum()), of_items.whole)
    believed = None if of_items is None else of_items.believed
    return Reading(table, of_auto(facts, whole), believed, 1)


def _split(axes: Axes, estimator: Estimator, box: Mapping[str, Mask]) -> Reading:
    """Of the head, where ``auto`` measured it in each context; else nothing was."""
    table = axes.published.table("split_head")
    if table is None or not isinstance(table.law, IntervalNoise):
        raise UsageError(
            "no table of this release counts items in contexts: what it says about them is "
            "estimated from what items have in common, which cannot be tested item by item. "
            "Compare without a context, or release both with --bounding sra."
        )
    believed = estimator.in_contexts(estimator.context_mask(box))
    return Reading(table, [_chosen(axes, table, box)], believed, 1)


def _table(axes: Axes, estimator: Estimator, table: TableFacts, box: Mapping[str, Mask]) -> Reading:
    """Of a table that counts what is asked for, perhaps in several cells of each item."""
    published = axes.published
    _refuse_unlisted(table)
    contexts = np.ones(1, dtype=np.bool_)
    if len(table.axes) > 1:
        contexts = estimator.context_mask(box)
    cells = int(contexts.sum())
    of_items = estimator.items
    believed = None if of_items is None else of_items.believed
    if len(table.axes) > 1 and box:
        believed = estimator.in_contexts(contexts)
    step = step_of(axes, table)
    if table.summary is not None:
        published_cells = _listed(axes, table, len(contexts))[:, contexts]
        whole = _sampled_total(table, published_cells)
        measured = of_summary(published_cells, table.law, table.keeping, sampled=step, whole=whole)
        return Reading(table, [measured], believed, cells)
    values = single_counts(published, table, axes.of(table)).reshape(-1, len(contexts))
    sums = values[:, contexts].sum(axis=1)
    law = table.law
    together, draws = (cells, 1)
    if isinstance(law, IntervalNoise) and law.blocks > 1:
        together, draws = 1, cells
    whole = Whole(float(sums.sum()), law.std(_all_cells(len(sums), cells)))
    measured = of_table(sums, law, cells=together, draws=draws, sampled=step, whole=whole)
    return Reading(table, [measured], believed, cells)


def _all_cells(items: int, contexts: int) -> Combination:
    """The weights of the sum over all items in some contexts."""
    number = float(items * contexts)
    return Combination(number, number, float(contexts) * items**2)


def _refuse_unlisted(table: TableFacts) -> None:
    kind = table.transform.kind
    leaves = kind == "dyadic" and table.is_dense and len(table.axes) == 1
    if (kind == "none" or leaves) and table.cells <= MOST:
        return
    what = f"holds its table {table.name!r} as a {kind} transform"
    if kind == "none" or leaves:
        what = f"has {table.cells:,} cells in its table {table.name!r}, more than {MOST:,}"
    raise UsageError(
        f"this release {what}: single items cannot be tested one by one. Release with "
        "--transform none, or compare sums of both."
    )


def _listed(axes: Axes, table: TableFacts, contexts: int) -> Floats:
    """(items, contexts) noisy counts of a table; NaN of cells that were left out."""
    published = axes.published
    found = np.full(table.cells, np.nan)
    where: Ints = places(published, table, axes.of(table))
    found[where] = counts(published, table)
    return found.reshape(-1, contexts)


def _sampled_total(table: TableFacts, published: Floats) -> Whole | None:
    """The sum over all cells, where that is unbiased: sampled on both sides, none cut off."""
    keeping = table.keeping
    if keeping.cut or keeping.sides != "two":
        return None
    kept = published[~np.isnan(published)]
    every = Combination.of_cells(published.size)
    found = weighted_sum(in_units(table, kept), np.ones(len(kept)), every, Sampled.of(table))
    return Whole(found.value, found.standard_error)


def step_of(axes: Axes, table: TableFacts) -> float:
    """C: what one sampled record, or a user of an unknown rule, counts at most; 0 of neither."""
    published = axes.published
    method = published.method
    if not is_bounded(published) or table.law.per_cell or method.bounding in _CERTAIN:
        return 0.0
    most = published.records.most
    if method.bounding in _SAMPLES:
        return float(most)
    bound = method.bounds.get(table.name)
    return float(most * (table.sensitivity if bound is None else bound.bound))
