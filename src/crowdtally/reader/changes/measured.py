"""What each release measured of every item, without a prior: values and their errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf

import numpy as np

from crowdtally.core.counts import Keeping
from crowdtally.errors import UsageError
from crowdtally.format import Published
from crowdtally.format.manifest import DISTINCT, TableFacts
from crowdtally.inference.auto import AutoEstimates
from crowdtally.inference.facts import AutoFacts, Chosen
from crowdtally.laws.base import Combination, NoiseLaw
from crowdtally.laws.cumulants import Floats, cumulants
from crowdtally.reader import tables
from crowdtally.reader.axes import Axes, Ints, Mask
from crowdtally.reader.changes.tails import Noise
from crowdtally.reader.estimates.cell_sums import Believed, Sampled, weighted_sum
from crowdtally.reader.estimates.estimator import ReleaseView, is_bounded
from crowdtally.reader.estimates.facts import MOST, counts, places, single_counts
from crowdtally.reader.questions.noisy_sums import in_units
from crowdtally.reader.questions.top import selected_table


@dataclass(frozen=True)
class Whole:
    """The sum over all items, as a release knows it."""

    value: float
    deviation: float


@dataclass(frozen=True, eq=False)
class Measured:
    """Values of all items in one release. All arrays are equally long."""

    low: Floats
    high: Floats
    """The value lies within: both are the same where it was published, and −∞ … ∞ at worst."""
    noises: Sequence[Noise]
    """The noise in them; each item has that of one, times its factor, and 0 of the others."""
    counts: Floats
    """The noisy counts as released; NaN where they were left out."""
    sampled: float = 0.0
    """C: what one sampled record counts at most; 0 where nothing was sampled."""
    own: Floats = field(default_factory=lambda: np.zeros(1))
    """The relative error that is each item's own."""
    shared: Floats = field(default_factory=lambda: np.zeros(1))
    """The relative error that all items share."""
    whole: Whole | None = None
    """The sum over all items; None where it is not known."""
    drawn_together: bool = False
    """Whether the items' noises are drawn together."""

    def __len__(self) -> int:
        return len(self.low)

    @property
    def middle(self) -> Floats:
        """The values, where left-out ones are as large as they may be."""
        found = np.where(np.isfinite(self.high), self.high, 0.0)
        return np.maximum(np.where(self.low == self.high, self.low, found), 0.0)

    @property
    def noise_variance(self) -> Floats:
        parts = [one.at(np.zeros(len(self)))[2] for one in self.noises]
        return np.asarray(np.sum(parts, axis=0), dtype=np.float64)


def of_table(
    values: Floats,
    law: NoiseLaw,
    *,
    cells: int = 1,
    draws: int = 1,
    sampled: float = 0.0,
    whole: Whole | None = None,
) -> Measured:
    """Of a table of which every cell was published.

    ``law`` is the noise of one cell. Each value sums ``cells`` cells in each of ``draws`` draws;
    one sampled record counts at most ``sampled``.
    """
    noise = Noise(cumulants(law, cells, draws), np.ones(len(values)))
    return Measured(
        values, values, [noise], values, sampled, whole=whole, drawn_together=law.drawn_together
    )


def bounds_of(published: Floats, keeping: Keeping, unit: float) -> tuple[Floats, Floats]:
    """Where each noisy count lies: NaN was left out, so it is less than the rule always keeps.

    One that is at least κ and at least τ is kept for certain. One-sided rules never keep negative
    counts.
    """
    most = max(float(keeping.cut), float(keeping.threshold or 0)) * unit
    least = -most if keeping.sides == "two" else -inf
    left_out = np.isnan(published)
    return np.where(left_out, least, published), np.where(left_out, most, published)


def of_summary(
    published: Floats,
    law: NoiseLaw,
    keeping: Keeping,
    *,
    sampled: float = 0.0,
    whole: Whole | None = None,
) -> Measured:
    """Of a table that left cells out: (items, cells of each) noisy counts, NaN of those."""
    low, high = bounds_of(published, keeping, float(law.unit))
    noise = Noise(cumulants(law, published.shape[1]), np.ones(len(published)))
    return Measured(
        low.sum(axis=1), high.sum(axis=1), [noise], published.sum(axis=1), sampled, whole=whole
    )


def of_chosen(chosen: Chosen, size: int, draws: int = 1) -> Measured:
    """Of items that were measured apart, all users of them, whatever others are."""
    low, high, counts = np.full(size, -inf), np.full(size, inf), np.full(size, np.nan)
    for part in (low, high, counts):
        part[chosen.places] = chosen.values
    noise = Noise(cumulants(chosen.law, draws=draws), np.ones(size))
    return Measured(low, high, [noise], counts, drawn_together=chosen.law.drawn_together)


def of_auto(facts: AutoFacts, found: AutoEstimates) -> list[Measured]:
    """Of a release of ``auto``: its noisy counts, calibrated; and the head where it has users."""
    factors, table = found.factors, facts.items
    if isinstance(table, Chosen):
        published = np.full(facts.size, np.nan)
        published[table.places] = table.values
        low, high = bounds_of(published, table.keeping, float(table.law.unit))
    else:
        low = high = published = table.values
    low, high = factors * low, factors * high
    noises = [Noise(cumulants(table.law), factors)]
    if facts.short is not None:  # users of short rows were counted whole, in a table of their own
        short = facts.short.values
        low, high, published = low + short, high + short, published + short
        noises.append(Noise(cumulants(facts.short.law), np.ones(facts.size)))
    base = Measured(
        low, high, noises, published,
        own=np.full(facts.size, found.scatter),
        shared=np.full(facts.size, found.common if found.items.calibrated else 1.0),
        whole=Whole(found.total.mean, found.total.deviation),
    )  # fmt: skip
    head = facts.head
    if head is None or head.bound < inf or not len(head.places):
        return [base]  # rows of a head that were scaled say nothing without the table's factors
    return [base, of_chosen(head, facts.size)]


# Which table of a release is compared.

POPULAR = "hpa"
"""The rule that keeps records by a popularity, which each release draws anew."""
_SAMPLES = ("sra", "declared", POPULAR)
"""Rules that sample records one by one."""
_CERTAIN = ("dpsense", "dpsense-s", DISTINCT)
"""Rules that scale rows instead, or do not bound users: no sampling error."""


@dataclass(frozen=True, eq=False)
class Reading:
    """What one release says about its items."""

    table: TableFacts
    ways: list[Measured]
    """The table's values; and those of items that were measured apart, where there are any."""
    believed: Believed | None
    """The estimates of all items; None where there are none of the same thing."""
    cells: int
    """How many cells of the table each value sums over."""


def read(view: ReleaseView, box: Mapping[str, Mask]) -> Reading:
    """The measurements of all items of a release, where contexts have the values of a box."""
    published = view.published
    if (only := selected_table(published)) is not None:
        return _selected(view, only, box)
    if published.method.bounding == POPULAR and published.table("popularity") is not None:
        return _popularity(view, box)
    table = view.find([next(iter(view.by_name)), *box])
    auto = published.auto is not None
    if auto and table is not None:
        return _auto_in_contexts(view, table, box) if box else _auto(view, table)
    if table is None:
        raise UsageError(
            "no table of this release counts items in contexts, so they cannot be tested there "
            "item by item. Compare without a context, or release both with --bounding sra."
        )
    return _table(view, table, box)


def _selected(axes: Axes, table: TableFacts, box: Mapping[str, Mask]) -> Reading:
    one_each = set(box) == set(axes.contexts) and all(mask.sum() == 1 for mask in box.values())
    if table.name == "heads" and not one_each:
        raise UsageError(
            "these releases have the top items of each context alone: name one value of "
            f"{' and '.join(axes.contexts)}."
        )
    return Reading(table, [_chosen(axes, table, box)], None, 1)


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
    return of_chosen(Chosen(sums, table.law, places=found), len(item), draws=draws)


def _popularity(axes: Axes, box: Mapping[str, Mask]) -> Reading:
    """Of the popularity, a sample of its own: what was kept by it depends on its noise."""
    published = axes.published
    table = published.table("popularity")
    if table is None or box:
        raise UsageError(
            f"{published.method.bounding} keeps records by a popularity that each release draws "
            "anew: its counts in contexts differ by that alone. Compare without a context, or "
            "release with --method sra or auto."
        )
    values = counts(published, table)
    whole = Whole(float(values.sum()), table.law.std(Combination.of_cells(len(values))))
    measured = of_table(values, table.law, sampled=step_of(published, table), whole=whole)
    return Reading(table, [measured], None, 1)


def _auto(view: ReleaseView, table: TableFacts) -> Reading:
    _refuse_unlisted(table)
    if view.auto is None or view.items is None:
        raise TypeError("a listed table of auto has estimates")
    return Reading(table, of_auto(*view.auto), view.items.believed, 1)


def _auto_in_contexts(view: ReleaseView, table: TableFacts, box: Mapping[str, Mask]) -> Reading:
    contexts, cells = view.context_mask(box), None
    if view.auto is not None:
        facts, estimates = view.auto
        cells = facts.cells
    if cells is None:
        raise TypeError("a table of items in contexts has estimates beside it")
    believed, width = view.in_contexts(contexts), int(contexts.sum())
    sums, factors = cells.values[:, contexts].sum(axis=1), estimates.factors
    values = factors * sums
    measured = Measured(
        values, values, [Noise(cumulants(cells.law, width), factors)], sums,
        own=np.full(facts.size, estimates.scatter),
        shared=np.full(facts.size, estimates.common if estimates.items.calibrated else 1.0),
        whole=_whole_there(view, contexts),
    )  # fmt: skip
    return Reading(table, [measured], believed, width)


def _whole_there(view: ReleaseView, contexts: Mask) -> Whole | None:
    total = view.total_in_contexts(contexts, None)
    return None if total is None else Whole(total.mean, total.error)


def _table(view: ReleaseView, table: TableFacts, box: Mapping[str, Mask]) -> Reading:
    """Of a table that counts what is asked for, perhaps in several cells of each item."""
    published = view.published
    _refuse_unlisted(table)
    several = len(table.axes) > 1
    contexts = view.context_mask(box) if several else np.ones(1, dtype=np.bool_)
    cells = int(contexts.sum())
    of_items = view.items
    believed = None if of_items is None else of_items.believed
    if several and box:
        believed = view.in_contexts(contexts)
    step = step_of(published, table)
    if table.summary is not None:
        published_cells = _listed_cells(view, table, len(contexts))[:, contexts]
        whole = _sampled_total(table, published_cells)
        measured = of_summary(published_cells, table.law, table.keeping, sampled=step, whole=whole)
        return Reading(table, [measured], believed, cells)
    values = single_counts(published, table, view.axes_of(table)).reshape(-1, len(contexts))
    sums = values[:, contexts].sum(axis=1)
    law = table.law
    together, draws = (cells, 1) if law.blocks == 1 else (1, cells)
    number = float(len(sums) * cells)  # the weights of the sum over all items in these contexts
    every = Combination(number, number, float(cells) * len(sums) ** 2)
    whole = Whole(float(sums.sum()), law.std(every))
    measured = of_table(sums, law, cells=together, draws=draws, sampled=step, whole=whole)
    return Reading(table, [measured], believed, cells)


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
        "cells as they are, without --transform, or compare sums of both."
    )


def _listed_cells(axes: Axes, table: TableFacts, contexts: int) -> Floats:
    """(items, contexts) noisy counts of a table; NaN of cells that were left out."""
    published = axes.published
    found = np.full(table.cells, np.nan)
    where: Ints = places(published, table, axes.axes_of(table))
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


def step_of(published: Published, table: TableFacts) -> float:
    """C: what one sampled record, or a user of an unknown rule, counts at most; 0 of neither."""
    method = published.method
    if not is_bounded(published) or table.law.per_cell or method.bounding in _CERTAIN:
        return 0.0
    most = published.records.most
    if method.bounding in _SAMPLES:
        return float(most)
    bound = method.bounds.get(table.name)
    return float(most * (table.sensitivity if bound is None else bound.bound))
