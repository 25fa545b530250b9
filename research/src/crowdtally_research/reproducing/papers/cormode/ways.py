"""The ways to publish a sparse table, by their names in the paper's figures."""

from __future__ import annotations

import numpy as np

from crowdtally.curator.publishing.dense import Dense
from crowdtally.curator.publishing.filter import Filter
from crowdtally.curator.publishing.priority import FilterPriority, Priority
from crowdtally.curator.publishing.publishing import Publishing
from crowdtally.curator.publishing.threshold import Threshold
from crowdtally.curator.table import Table
from crowdtally.curator.transforms.none import Untransformed
from crowdtally.curator.transforms.transform import Transform
from crowdtally.noise.draws import SystemDraws
from crowdtally.published import NoisyTable
from crowdtally.values.axis import Axis
from crowdtally.values.epsilon import Epsilon
from crowdtally.values.keeping import Sides
from crowdtally.values.layout import Layout, Numbered, grid
from crowdtally_research.reproducing.papers.cormode.sparse import Sparse

EPSILON = Epsilon.of("0.1")
"""The paper's default."""
GEOMETRIC = "geometric"
WAVELET = "wavelet"
FILTER = "filter"
THRESHOLD = "threshold"
PRIORITY = "priority"
FILTER_PRIORITY = "filter-priority"
AXIS = "cell"
"""What the one axis of a made-up table is called."""


def filtering(cut: int, sides: Sides = "two") -> Filter:
    """FILTER with a given κ, which the paper calls θ."""
    return Filter(cut, None, sides)


def filtering_to(size: int) -> Filter:
    """FILTER with the κ at which ``size`` empty cells are expected to pass."""
    return Filter(None, size, "two")


def sampling(size: int, total: int) -> Threshold:
    """THRESHOLD with the τ of about ``size`` cells; the paper takes the total as known."""
    return Threshold(None, size, "two", total)


def priority(size: int) -> Priority:
    """PRIORITY of so many cells."""
    return Priority(size, None, "two")


def filter_priority(size: int, cut: int | None = None) -> FilterPriority:
    """FILTER-PRIORITY of so many cells, with a given κ or the one that follows from them."""
    return FilterPriority(size, cut, None, "two")


def geometric() -> Dense:
    """Every cell with its noise."""
    return Dense()


def ordered(size: int) -> Layout:
    """Cells that have ranges."""
    return grid([Axis(AXIS, np.arange(size))])


def table_of(
    cells: Layout,
    publishing: Publishing,
    transform: Transform | None = None,
    epsilon: Epsilon = EPSILON,
) -> Table:
    """A table that is published so, where one person changes one count by one."""
    return Table(
        "cells", "cells", cells, epsilon, 1,
        transform=transform or Untransformed(), publishing=publishing,
    )  # fmt: skip


def published(sparse: Sparse, publishing: Publishing) -> NoisyTable:
    """A table with its noise on, by the product's own code."""
    table = table_of(Numbered(AXIS, sparse.size), publishing)
    return table.publish(sparse.counts, SystemDraws())
