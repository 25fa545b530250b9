"""What a release of auto says, from its tables by their names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf

import numpy as np

from crowdtally.core.counts import Keeping
from crowdtally.core.layout import (
    CELLS,
    CONTEXTS,
    EDGES,
    HEAD,
    HEAD_ROWS,
    ITEMS,
    ITEMS_SHORT,
    SIZES,
    SPLIT_HEAD,
    SPLIT_ROWS,
    TOTAL,
    ZOOM,
)
from crowdtally.errors import UsageError
from crowdtally.inference.facts import AutoFacts, Chosen, Floats, Ints, Path, Scaled, Summary
from crowdtally.inference.rows import row_lengths
from crowdtally.laws.base import NoiseLaw


@dataclass(frozen=True, eq=False)
class Told:
    """One table, as released."""

    values: Floats
    """As counts, not in units."""
    law: NoiseLaw
    theta: int | None = None
    """What its rows were scaled to; None where nobody was bounded."""
    places: Ints | None = None
    """Which items it has, where it has only some; of a table in contexts, each item once."""
    keeping: Keeping | None = None
    """By which rule cells were kept, where some were left out."""


def auto_facts(
    size: int,
    told: Mapping[str, Told],
    *,
    path: Path,
    rich: bool,
    kappa: float,
    repeats: bool,
) -> AutoFacts:
    """The facts that estimates follow from.

    Args:
        size: how many items there are.
        told: the tables, by name.
        path: what users' rows are like.
        rich: whether a look at tastes was paid for.
        kappa: what it found.
        repeats: whether several records of a user at one item count as several.
    """
    sizes, items = told.get(SIZES.name), told.get(ITEMS.name) or told.get(CELLS.name)
    if sizes is None or items is None:
        raise UsageError("a release of auto has a table of sizes, and one of all items.")
    cells = _scaled(told.get(EDGES.name))
    if cells is not None:
        cells = Scaled(cells.values.reshape(size, -1), cells.law, cells.bound)
    split = told.get(SPLIT_HEAD.name) or told.get(SPLIT_ROWS.name)
    return AutoFacts(
        size,
        row_lengths(sizes.values, sizes.law.std(), rich_from=0.0 if rich else inf),
        path,
        None if items.keeping is not None else _scaled(items),
        short=_scaled(told.get(ITEMS_SHORT.name)),
        total=_scaled(told.get(TOTAL.name)),
        head=_head(told.get(HEAD.name) or told.get(HEAD_ROWS.name)) or _summed(split),
        zoom=_head(told.get(ZOOM.name)),
        cells=cells,
        totals=_scaled(told.get(CONTEXTS.name)),
        repeats=repeats,
        kappa=kappa,
        summary=_summary(items),
        head_cells=None if split is None else _in_contexts(split),
    )


def _scaled(told: Told | None) -> Scaled | None:
    return None if told is None else Scaled(told.values, told.law, told.theta or 1)


def _summary(told: Told) -> Summary | None:
    if told.keeping is None or told.places is None:
        return None
    return Summary(told.places, told.values, told.law, told.keeping, told.theta)


def _head(told: Told | None) -> Chosen | None:
    if told is None or told.places is None:
        return None
    return Chosen(told.places, told.values, told.law, told.theta)


def _in_contexts(told: Told) -> Chosen:
    places = np.empty(0, dtype=np.int64) if told.places is None else told.places
    return Chosen(places, told.values.reshape(len(places), -1), told.law, told.theta)


def _summed(told: Told | None) -> Chosen | None:
    """Items that were measured in each context: the sums over the contexts."""
    if told is None:
        return None
    found = _in_contexts(told)
    width = found.values.shape[1]
    return Chosen(found.places, found.values.sum(axis=1), found.law, found.theta, times=width)
