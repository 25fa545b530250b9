"""Counts of each item in each context, from the items' estimates and what was measured of contexts.

Every cell is e_ij = c_i·p_ij, where Σ_j p_ij = 1: the items' counts are never changed here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LARGEST = 5_000_000
"""Cells of a matrix that is still built whole."""


class Items(Protocol):
    """What is asked of the items' estimates (``ItemEstimates``)."""

    @property
    def mean(self) -> Floats:
        """Calibrated counts c_i, one per item."""

    @property
    def deviation(self) -> Floats:
        """Their standard deviations."""


@dataclass(frozen=True)
class Head:
    """Step 7U: distinct users of chosen items in each context, interval noise per context."""

    places: Ints
    """(K,) the items' places in the list."""
    values: Floats
    """(K, h) released counts."""
    deviation: float
    """Of one cell: √(E[s(s+2)]/6). Half of its square is the context's common shift."""


@dataclass(frozen=True)
class Rows:
    """Step 9R: chosen items × contexts, rows scaled to 1 inside, Laplace noise."""

    places: Ints
    """(K,) the items' places in the list."""
    values: Floats
    """(K, h) released weights (already divided by the grid g)."""
    deviation: float
    """Of one cell's noise."""


@dataclass(frozen=True)
class Tastes:
    """Step F: centred profiles of users, summed per context."""

    features: Floats
    """(m, f) the share of feature f in item i, after merging; a group sums to 1."""
    sums: Floats
    """(f, h) released Σ_u w_f(P_uf − p̄_f)·scale, divided by the grid g."""
    anchors: Floats
    """(h,) released Σ_u β·scale, divided by the grid g."""
    profile: Floats
    """(f,) p̄."""
    weights: Floats
    """(f,) w."""
    anchor: float
    """β."""
    deviation: float
    """Of one cell's noise."""


@dataclass(frozen=True)
class ContextFacts:
    """What a release says about one family of contexts."""

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


@dataclass(frozen=True)
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


@dataclass(frozen=True)
class ContextEstimates:
    """The estimates of all cells; one context's column at a time, or the whole matrix."""

    same_ranking: bool
    """Nothing was measured, or nothing was found: each context has the overall ranking."""
    shares: Floats
    """(h,) share_j."""

    def at(self, places: Ints) -> Cells:
        """(len(places), h): these items in every context."""
        raise NotImplementedError

    def column(self, context: int) -> Cells:
        """(m,) each: every item in one context; never builds the matrix."""
        raise NotImplementedError

    def matrix(self) -> Cells:
        """(m, h) each. For at most 5·10⁶ cells: ask for columns beyond."""
        raise NotImplementedError


def estimate_contexts(items: Items, facts: ContextFacts) -> ContextEstimates:
    """Cells of every item and context, with Σ_j e_ij = c_i."""
    raise NotImplementedError
