"""What a release says about one family of contexts, and what is estimated of its cells."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from crowdtally.estimation.measured_lifts import Head, Rows
from crowdtally.estimation.tastes import Tastes

Floats = NDArray[np.float64]

LEAN = 0.1
"""How far shares may be off because heavy users were scaled down. Both as seen in real data."""


class Items(Protocol):
    """What is asked of the items' estimates (``ItemEstimates``)."""

    @property
    def mean(self) -> Floats:
        """Calibrated counts c_i, one per item."""

    @property
    def deviation(self) -> Floats:
        """Their standard deviations."""


@dataclass(frozen=True, eq=False)
class ContextFacts:
    """What a release says about one family of contexts. What was not measured is None."""

    totals: Floats
    """(h,) step 8: released totals per context, as counts."""
    deviation: float
    """Of one total's noise."""
    users: float
    """n̂ of the sizes."""
    repeats: bool = False
    """Whether a user may have an item several times (then there are no odds of having it)."""
    head: Head | None = None
    tastes: Tastes | None = None
    rows: Rows | None = None
    """Instead of ``head``: a release has one of them at most."""

    def __post_init__(self) -> None:
        if self.head is not None and self.rows is not None:
            raise ValueError("contexts are measured by a split head or by head rows, not by both")

    @cached_property
    def shares(self) -> Floats:
        """share_j: no total counts for less than a fifth of its noise."""
        safe = np.maximum(self.totals, max(0.2 * self.deviation, 1e-9))
        return np.asarray(safe / safe.sum())

    @cached_property
    def shares_variance(self) -> Floats:
        """(h,) the relative variance of each share: the totals' noise, and their lean."""
        total = max(float(np.maximum(self.totals, 0.0).sum()), self.deviation, 1e-9)
        own = (1.0 / self.shares - 1.0) ** 2 + len(self.totals) - 1
        lean = (LEAN * (1.0 - self.shares)) ** 2
        return np.asarray(own * (self.deviation / total) ** 2 + lean)


@dataclass(frozen=True, eq=False)
class Cells:
    """Estimates of some items in all contexts, or of all items in one context."""

    mean: Floats
    """e_ij."""
    deviation: Floats
    """Of e_ij."""
    lift: Floats
    """e_ij / (c_i·share_j): 1 where the item is as popular there as everywhere."""
    lift_deviation: Floats
    """Its posterior deviation."""
