"""Which of many tests are discoveries, at a false discovery rate: see ``changes.md``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def harmonic(size: int) -> float:
    """1 + 1/2 + … + 1/m: what p-values are raised by where tests depend on each other in any way.

    >>> round(harmonic(3), 4)
    1.8333
    """
    return float((1 / np.arange(1, size + 1)).sum())


def adjusted(chances: Floats) -> Floats:
    """Benjamini and Hochberg's adjusted p-values: the smallest rate at which each is discovered.

    >>> adjusted(np.array([0.01, 0.5, 0.02, 0.03])).tolist()
    [0.04, 0.5, 0.04, 0.04]
    """
    size = len(chances)
    order = np.argsort(chances, kind="stable")
    raised = chances[order] * size / np.arange(1, size + 1)
    found = np.empty(size)
    found[order] = np.minimum.accumulate(raised[::-1])[::-1]
    return np.minimum(found, 1.0)


@dataclass(frozen=True, eq=False)
class Discovered:
    """The items that changed."""

    lines: Ints
    """Their places in the list."""
    rose: NDArray[np.bool_]
    """Which of them rose; the others fell."""
    p_values: Floats
    """Of both sides together."""
    q_values: Floats
    """The smallest rate at which each is still discovered."""
    ways: Ints
    """By which of several measurements each was discovered."""

    def __len__(self) -> int:
        return len(self.lines)


def discovered(rises: Sequence[Floats], falls: Sequence[Floats], fdr: float) -> Discovered:
    """From one-sided p-values, those of each measurement in an array of its own.

    Rises and falls are two families of tests, each at half of the rate.
    """
    parts = []
    for rose, several in ((True, rises), (False, falls)):
        stacked = np.stack(several)
        ways = stacked.argmin(axis=0)
        chances = stacked.min(axis=0)
        rates = np.minimum(2 * adjusted(chances), 1.0)
        lines = np.flatnonzero(rates <= fdr)
        parts.append(
            (
                lines,
                np.full(len(lines), rose),
                np.minimum(2 * chances[lines], 1.0),
                rates[lines],
                ways[lines],
            )
        )
    return Discovered(*(np.concatenate(both) for both in zip(*parts, strict=True)))
