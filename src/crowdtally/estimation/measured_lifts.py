"""Lifts of chosen items that were counted in each context: the split head (7U), head rows (9R)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crowdtally.estimation.shrinking import Shrunk, mvshrink

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_LEAST = 0.05
"""A factor is at least this: shrinkage may overshoot below nothing."""
_EXPECTED = 0.2
"""An item's rows sum to at least this part of what its count lets expect."""


@dataclass(frozen=True, eq=False)
class Head:
    """Step 7U: distinct users of chosen items in each context, interval noise per context."""

    places: Ints
    """(K,) the items' places in the list."""
    values: Floats
    """(K, h) released counts."""
    deviation: float
    """Of one cell: √(E[s(s+2)]/6). Half of its square is the context's common shift."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Step 9R: chosen items × contexts, rows scaled to 1 inside, Laplace noise."""

    places: Ints
    """(K,) the items' places in the list."""
    values: Floats
    """(K, h) released weights, divided by the grid g."""
    deviation: float
    """Of one cell's noise, divided by the grid g."""


def head_lifts(head: Head, expected: Floats) -> Shrunk:
    """ρ (K × h) with e_ij·(1 + ρ_ij) the head's estimate, from what was expected of it, e_ij.

    Each context's noise is one common shift plus one number per cell, of equal variance. The shift
    is estimated first; taken for a lift it would raise or lower a context's whole head. A second
    round knows how far lifts scatter, and trusts items accordingly.
    """
    own = head.deviation**2 / 2
    apart = head.values - expected
    safe = np.maximum(expected, 1.0)
    spread = np.zeros(expected.shape[1])
    for _ in range(2):
        trust = 1.0 / (own + safe**2 * spread)
        certain = 1.0 / own + trust.sum(axis=0)
        shift = (trust * apart).sum(axis=0) / certain
        found = mvshrink((apart - shift) / safe, (own + 1.0 / certain) / safe**2)
        spread = np.diag(found.spread)
    return found


def row_lifts(rows: Rows, counts: Floats, parts: Floats) -> Shrunk:
    """ρ (K × h) from rows of weights: each item's own sum takes the place of its count.

    Args:
        rows: What was released.
        counts: (K,) the items' counts: what their sums are expected to be proportional to.
        parts: (K, h) the part of each item that each context is expected to have; sums to 1.
    """
    sums = rows.values.sum(axis=1)
    expected = np.maximum(sums.sum(), 0.0) * counts / max(float(counts.sum()), 1e-300)
    # A thousandth of the noise only keeps the division defined where nothing can be seen.
    safe = np.maximum(np.maximum(sums, _EXPECTED * expected), 1e-3 * rows.deviation)
    unit = safe[:, None] * np.maximum(parts, 1e-12)
    return mvshrink(rows.values / unit - 1.0, (rows.deviation / unit) ** 2)


def factors(found: Shrunk) -> Floats:
    """What the expected cells are multiplied by, before they are normalised."""
    return np.asarray(np.maximum(1.0 + found.mean, _LEAST))
