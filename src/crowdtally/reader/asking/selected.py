"""The list of a release that has its top items only: selected, then measured without bounds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from crowdtally.errors import UsageError
from crowdtally.format import Published
from crowdtally.format.manifest import TableFacts
from crowdtally.inference.posterior import flat_posterior
from crowdtally.laws.base import as_counts
from crowdtally.reader import tables
from crowdtally.reader.asking.answering import in_units
from crowdtally.reader.asking.noisy_lines import NoisyLine
from crowdtally.reader.asking.ranking import Ranked
from crowdtally.reader.axes import Axes
from crowdtally.reader.estimating.believed import Believed, Floats
from crowdtally.reader.estimating.estimator import LEVEL
from crowdtally.reader.lookup import Mask


def selected_table(published: Published) -> TableFacts | None:
    """The table of selected items, where that is all a release has."""
    if any(table.kind.answers for table in published.tables):
        return None
    return published.table("head") or published.table("heads")


@dataclass(frozen=True, eq=False)
class Selected:
    """The lines of such a list."""

    lines: list[Ranked]
    """The items, largest first."""
    believed: Believed
    """Of each line, in their order."""
    measured: int
    """How many items were selected, and measured, where they were asked for."""


def selected(axes: Axes, table: TableFacts, k: int, box: Mapping[str, Mask]) -> Selected:
    """The k largest of the selected items, of the context that is named where each has its own.

    The noise of what was measured is independent of the selection. So a flat prior on counts of at
    least 0 is all that estimates add, and they have the order of the noisy counts.
    """
    if set(box) != set(axes.contexts):
        named = " ".join(f"--context {name}=VALUE" for name in axes.contexts)
        raise UsageError(
            f"this release has the top items of each context alone: name one, with {named} "
            f"(in Python {', '.join(f'{name}=VALUE' for name in axes.contexts)})."
        )
    several = [name for name, mask in box.items() if mask.sum() > 1]
    if several:
        raise UsageError(
            "this release has the top items of each context alone, which cannot be added up: name "
            f"one value of {several[0]!r}."
        )
    path = axes.published.path(table)
    item = next(iter(axes.by_name.values()))
    names, counts = tables.column(path, item.name), tables.column(path, "count")
    inside = np.ones(len(names), dtype=np.bool_)
    for name, mask in box.items():
        inside &= np.isin(tables.column(path, name), axes.by_name[name].axis.values[mask])
    rows = np.flatnonzero(inside)
    measured = len(rows)
    rows = rows[np.argsort(-counts[rows].astype(np.float64), kind="stable")][:k]
    law = table.law
    std, reach = law.std(), as_counts(law.half_width(table.interval_level), law.unit)
    lines = [
        Ranked(place, name, NoisyLine(name, count, std, count - reach, count + reach, count, std))
        for place, (name, count) in enumerate(
            zip(names[rows].tolist(), counts[rows].tolist(), strict=True)
        )
    ]
    return Selected(lines, _believed(table, counts[rows]), measured)


def _believed(table: TableFacts, counts: Floats) -> Believed:
    found = flat_posterior(in_units(table, counts), table.law, LEVEL).times(float(table.law.unit))
    deviation = np.sqrt(found.variance)
    return Believed(found.mean, found.median, found.low, found.high, deviation, deviation)
