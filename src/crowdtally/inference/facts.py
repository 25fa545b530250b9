"""What a release says about its items: arrays and laws, nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from crowdtally.core.counts import Keeping
from crowdtally.inference.rows import RowLengths
from crowdtally.laws.base import Combination, NoiseLaw

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
    times: int = 1
    """How many cells each value is the sum of, one from each of several independent draws."""

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise of one value."""
        return self.sum_deviation(1)

    def sum_deviation(self, values: int) -> float:
        """Of the sum of so many values."""
        return sqrt(self.times) * self.law.std(Combination.of_cells(values))

    @property
    def units(self) -> Floats:
        """The values in units, as whole numbers."""
        return np.rint(self.values / float(self.law.unit))


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
    bound: int | None = None
    """What the rows were scaled to; None where nothing says."""


@dataclass(frozen=True, eq=False)
class ItemFacts:
    """What one table says about its cells: a dense table or a summary."""

    size: int
    table: Noisy | None = None
    summary: Summary | None = None
    """Instead of ``table``: what a sparse publishing kept."""
    exact: bool = False
    """Whether nothing was bounded: then the estimates are of all records."""


Path = Literal["short", "rich", "long"]
"""What users' rows are like: all short; long, and so many that tastes could be looked at; long."""


@dataclass(frozen=True, eq=False)
class Scaled:
    """A noisy table of rows that were scaled to a bound."""

    values: Floats
    """As counts, not in units."""
    law: NoiseLaw
    """Of their noise; it knows what a unit is as a count."""
    bound: int

    @cached_property
    def std(self) -> float:
        """The standard deviation of one cell's noise."""
        return self.law.std()

    @property
    def scale(self) -> float:
        """The scale b of a Laplace law of the same variance."""
        return self.std / sqrt(2)


@dataclass(frozen=True, eq=False)
class AutoFacts:
    """All that a release of auto says about its items. What was not measured is None."""

    size: int
    """How many items there are."""
    lengths: RowLengths
    path: Path
    """Which questions followed the lengths of the rows."""
    items: Scaled | None
    """All items; where ``short`` is there, from longer rows alone."""
    short: Scaled | None = None
    """All items, from the rows that are no longer than its bound: they were not scaled."""
    total: Scaled | None = None
    """One value: all records, nearly unbounded."""
    head: Chosen | None = None
    """The largest items, measured again."""
    cells: Scaled | None = None
    """(items, contexts)."""
    totals: Scaled | None = None
    """(contexts,): the sums of the contexts."""
    repeats: bool = False
    """Whether several records of a user at one item count as several."""
    kappa: float = 0.55
    """How far long rows may differ in taste: the error per unit of shift to short rows."""
    summary: Summary | None = None
    """Instead of ``items``: the kept cells of a domain that is too large to list."""
    zoom: Chosen | None = None
    """Items that have much of all records, measured again in rows of their own."""
    head_cells: Chosen | None = None
    """The head in each context: (items, contexts) values."""
