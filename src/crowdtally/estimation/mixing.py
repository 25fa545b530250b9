"""Empirical Bayes: the prior of the counts is estimated from the noisy counts themselves.

The law of the noise is known exactly, so the likelihood of all values under a prior on a grid is
too. Its maximum is approached by EM steps over the distinct values (Kiefer and Wolfowitz; Laird).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crowdtally.estimation.likelihoods import Noise
from crowdtally.laws.law import NoiseLaw

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LEVEL = Fraction(19, 20)
"""Of an interval, unless another is asked for."""
STEPS = 100
"""EM steps."""
FEW = 200
"""Fewer cells say too little about their own prior: it is flat."""
_DENSE = 4_000_000
"""Numbers in one matrix of likelihoods."""


@dataclass(frozen=True, eq=False)
class Posterior:
    """What is known of each cell's count, as counts."""

    mean: Floats
    median: Floats
    low: Floats
    high: Floats
    """An interval of the asked level: as much probability below as above."""
    variance: Floats

    def take(self, places: Ints) -> Posterior:
        """Of some of the cells, in their order."""
        return Posterior(*(part[places] for part in self.parts()))

    def parts(self) -> tuple[Floats, Floats, Floats, Floats, Floats]:
        """Mean, median, low, high and variance."""
        return self.mean, self.median, self.low, self.high, self.variance


@dataclass(frozen=True, eq=False)
class Again:
    """Some cells' second noisy values, already brought to the size of the first."""

    places: Ints
    """Which cells."""
    values: Floats
    """In units of the first table's law."""
    noise: Noise
    """Of those values: the law's units must be the first table's."""


def posterior(
    values: ArrayLike,
    law: NoiseLaw,
    *,
    level: Fraction = LEVEL,
    also: Again | None = None,
    flat: bool = False,
) -> Posterior:
    """The posterior of every cell of one table.

    Args:
        values: the noisy values, in units.
        law: of their noise; of correlated noise, its margin is used.
        level: of the interval.
        also: second values of some cells.
        flat: with a flat prior on counts of at least 0, as for fewer than 200 cells.
    """
    raise NotImplementedError
