"""What a release says about its items: arrays and laws, nothing else."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crowdtally.core.counts import Keeping
from crowdtally.inference.rows import Norm, Sizes, power_of, read_sizes
from crowdtally.laws.base import NoiseLaw

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Noisy:
    """A noisy value for every cell of a table."""

    values: Floats
    """As counts, not in units."""
    law: NoiseLaw
    """Of their noise; it knows what a unit is as a count."""

    @property
    def units(self) -> Floats:
        """The values in units, as whole numbers."""
        return np.rint(self.values / float(self.law.unit))


@dataclass(frozen=True, eq=False)
class Chosen:
    """Noisy values for some of the items."""

    places: Ints
    """Which items: their places in the list, each once."""
    values: Floats
    """As counts, in the order of ``places``."""
    law: NoiseLaw
    theta: int | None = None
    """What the rows were scaled to; None where nothing was bounded."""

    @property
    def units(self) -> Floats:
        """The values in units, as whole numbers."""
        return np.rint(self.values / float(self.law.unit))


@dataclass(frozen=True, eq=False)
class Binned:
    """Noisy totals of groups of items."""

    groups: Ints
    """The group of every item; −1: in none."""
    values: Floats
    """The total of each group, as counts."""
    law: NoiseLaw
    cap: int
    """C: what the rows were scaled to."""


@dataclass(frozen=True, eq=False)
class Summary:
    """Noisy values of the cells that a sparse publishing kept."""

    places: Ints
    """Which items are kept."""
    values: Floats
    """Their noisy counts as published, not what they stand for."""
    law: NoiseLaw
    keeping: Keeping
    """Which noisy values are kept; after priority sampling, with its final threshold."""


@dataclass(frozen=True, eq=False)
class ItemFacts:
    """All that was released about the items. What was not measured is None."""

    size: int
    table: Noisy | None = None
    """All items, bounded. Cells of the crowd hold noise only."""
    sizes: Noisy | None = None
    """The histogram of row sizes."""
    crowd: Chosen | None = None
    """Items that very many have, measured without bounds and left out of the rows."""
    zoom: Chosen | None = None
    """Items that were measured a second time, in rows of their own."""
    bins: Binned | None = None
    """Totals of groups of items, nearly without bounds."""
    head: Chosen | None = None
    """The largest items, measured as distinct users without bounds."""
    summary: Summary | None = None
    """Instead of ``table``: what a sparse publishing kept."""
    repeats: bool = False
    """Whether one user may have an item several times: then the head counts something else."""
    theta: int | None = None
    """θ: what the rows of the table were scaled to; None where that is unknown."""
    exact: bool = False
    """Whether the table itself is unbounded: distinct users of a small domain."""
    norm: Norm = "l1"
    """What θ bounds: the sums of rows, or their norms."""

    @property
    def power(self) -> float:
        """How long rows are, see :func:`~crowdtally.inference.rows.power_of`."""
        return power_of(self.norm, repeats=self.repeats)

    def read_sizes(self) -> Sizes | None:
        """What the histogram says; None without one."""
        if self.sizes is None:
            return None
        return read_sizes(self.sizes.values, self.sizes.law.std())
