"""Which items of a list something speaks for, where more than one noisy count could."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from crowdtally.format.manifest import TableFacts
from crowdtally.inference.mixing import FEW
from crowdtally.reader.asking.floor import floor_of_cells
from crowdtally.reader.axes import Axes
from crowdtally.reader.estimating.believed import Mask
from crowdtally.reader.estimating.estimator import Estimator
from crowdtally.reader.estimating.steps import counts, places


def spoken_for(axes: Axes, estimator: Estimator, where: Sequence[int]) -> Mask:
    """Whether the low end of an interval tells these items apart from noise, if it is above 0.

    Fewer than 200 items have a flat prior on counts of at least 0, under which every low end is
    above 0, also where nobody is counted. Then a count of the item by itself must be above the
    noise floor of its table.
    """
    base = estimator.base
    if base is None or base.cells >= FEW:
        return np.full(len(where), base is not None)
    asked = np.asarray(where, dtype=np.int64)
    found: Mask = estimator.noisy_at(asked) > floor_of_cells(base, base.cells)
    for name in ("crowd", "head"):
        table = axes.published.table(name)
        if table is not None:
            found |= np.isin(asked, _above(axes, table, base))
    return found


def _above(axes: Axes, table: TableFacts, base: TableFacts) -> list[int]:
    """The items of a table whose counts are above its floor."""
    where = places(axes.published, table, axes.of(base))
    above = counts(axes.published, table) > floor_of_cells(table, table.cells)
    return [int(place) for place in where[above]]
