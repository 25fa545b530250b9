"""Lifts of chosen items that were counted in each context: the split head (7U), head rows (9R)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crowdtally.estimation.shrinking import Shrunk, mvshrink
from crowdtally.estimation.stopping import LAPLACE
from crowdtally.laws.base import NoiseLaw
from crowdtally.laws.interval import IntervalNoise

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_NO_SHIFT = 1e-9
"""Of a variance: where there is no common shift, it is known to be this small."""
_LEAST = 0.05
"""A factor is at least this: shrinkage may overshoot below nothing."""
_EXPECTED = 0.2
"""An item's rows sum to at least this part of what its count lets expect."""


@dataclass(frozen=True, eq=False)
class Head:
    """Step 7U: distinct users of chosen items in each context, a draw of noise per context."""

    places: Ints
    """(K,) the items' places in the list."""
    values: Floats
    """(K, h) released counts."""
    deviation: float
    """Of one cell."""
    common: float = 0.5
    """The part of its square that is the context's common shift: half with interval noise, of
    which √(E[s(s+2)]/6) is the deviation; none where the cells' noises are independent."""


def common_of(law: NoiseLaw) -> float:
    """The part of one cell's variance that all cells of a context have in common."""
    return 0.5 if isinstance(law, IntervalNoise) else 0.0


@dataclass(frozen=True, eq=False)
class Rows:
    """Step 9R: chosen items × contexts, rows scaled to 1 inside, independent noise."""

    places: Ints
    """(K,) the items' places in the list."""
    values: Floats
    """(K, h) released weights, divided by the grid g."""
    deviation: float
    """Of one cell's noise, divided by the grid g."""
    squares: float = LAPLACE
    """How far squares of that noise scatter, see :func:`~crowdtally.estimation.stopping`."""


@dataclass(frozen=True, eq=False)
class Lifts:
    """Lifts of chosen items against what was expected of their cells."""

    found: Shrunk
    """The lifts of single items, relative: ρ (K × h)."""
    level: Floats
    """(h,) u_j: by how much more than expected all chosen items were found in a context."""
    certain: Floats
    """(h,) how far the level was measured: 0 (not at all) to 1 (exactly)."""

    @property
    def factor(self) -> Floats:
        """(K, h) 1 + ρ_ij, at least a little."""
        return np.asarray(np.maximum(1.0 + self.found.mean, _LEAST))


def head_lifts(head: Head, expected: Floats, level_variance: Floats) -> Lifts:
    """Lifts of the head against what was expected of its cells, e_ij.

    y_ij = e_ij·(1 + u_j)(1 + ρ_ij) + a_j + noise. Each context's interval noise is one common
    shift a_j plus one number per cell, of equal variance; independent noise has no shift to speak
    of. The shift is estimated first: taken for
    lifts it would raise or lower a context's whole head. The level u_j looks much like it, and is
    told apart only as far as their variances allow. A second round knows how far lifts scatter.

    Args:
        head: What was released.
        expected: (K, h), e_ij.
        level_variance: (h,) how far e may be off for the head of a context as a whole.
    """
    own = head.deviation**2 * (1 - head.common)
    shared = head.deviation**2 * max(head.common, _NO_SHIFT)
    safe = np.maximum(expected, 1.0)
    apart = head.values - expected
    spread = np.zeros(expected.shape[1])
    for _ in range(2):
        trust = 1.0 / (own + safe**2 * spread)
        shift, level, left = _columns(apart, safe, trust, shared, level_variance)
        unit = safe * (1.0 + level)
        found = mvshrink((apart - shift - safe * level) / unit, own / unit**2)
        spread = np.diag(found.spread)
    return Lifts(found, level, 1.0 - left / level_variance)


def _columns(
    apart: Floats, expected: Floats, trust: Floats, shared: float, level_variance: Floats
) -> tuple[Floats, Floats, Floats]:
    """(h,) each: shift, level, and the level's posterior variance: two unknowns per context."""
    ones = trust.sum(axis=0) + 1.0 / shared
    cross = (trust * expected).sum(axis=0)
    squares = (trust * expected**2).sum(axis=0) + 1.0 / level_variance
    first, second = (trust * apart).sum(axis=0), (trust * expected * apart).sum(axis=0)
    determinant = ones * squares - cross**2
    shift = (squares * first - cross * second) / determinant
    level = (ones * second - cross * first) / determinant
    return shift, np.maximum(level, _LEAST - 1.0), ones / determinant


def row_lifts(rows: Rows, counts: Floats, parts: Floats) -> Lifts:
    """Lifts from rows of weights: each item's own sum takes the place of its count.

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
    found = mvshrink(rows.values / unit - 1.0, (rows.deviation / unit) ** 2)
    # The columns' levels are part of ρ here: no shift has to be told apart from them.
    return Lifts(found, np.zeros(parts.shape[1]), found.gain.mean(axis=0))
