"""What is known of each cell's count, and how it is read off a distribution on a grid."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from crowdtally.laws.base import NoiseLaw

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LEVEL = Fraction(19, 20)
"""Of an interval, unless another is asked for."""


@dataclass(frozen=True, eq=False)
class Posterior:
    """What is known of each cell's count."""

    mean: Floats
    median: Floats
    low: Floats
    high: Floats
    """An interval of the asked level: as much probability below as above."""
    variance: Floats

    def parts(self) -> tuple[Floats, Floats, Floats, Floats, Floats]:
        """Mean, median, low, high and variance."""
        return self.mean, self.median, self.low, self.high, self.variance

    def take(self, places: Ints) -> Posterior:
        """Of some of the cells, in their order."""
        return Posterior(*(part[places] for part in self.parts()))

    def times(self, factor: float | Floats) -> Posterior:
        """Of so many times the counts: from units to counts, for one; or a factor for each."""
        mean, median, low, high, variance = self.parts()
        return Posterior(
            mean * factor, median * factor, low * factor, high * factor, variance * factor**2
        )

    def put(self, places: Ints, other: Posterior) -> None:
        """Replace some of the cells."""
        for mine, theirs in zip(self.parts(), other.parts(), strict=True):
            mine[places] = theirs

    @classmethod
    def empty(cls, size: int) -> Posterior:
        """Room for so many cells."""
        return cls(*(np.zeros(size) for _ in range(5)))


def on_grid(likelihoods: Floats, weights: Floats, grid: Floats, level: Fraction) -> Posterior:
    """The posterior of each row of likelihoods, under the prior ``weights`` on ``grid``."""
    joint = likelihoods * weights
    joint /= joint.sum(axis=1, keepdims=True)
    mean = np.einsum("ij,j->i", joint, grid)
    variance = np.maximum(np.einsum("ij,j->i", joint, grid**2) - mean**2, 0.0)
    below = np.cumsum(joint, axis=1)
    tail = float(1 - level) / 2
    low, median, high = (_quantile(below, grid, share) for share in (tail, 0.5, 1 - tail))
    low[low <= (grid[1] / 2 if len(grid) > 1 else 0.0)] = 0.0  # nobody may be what 0 stands for
    return Posterior(mean, median, low, high, variance)


def _quantile(below: Floats, grid: Floats, share: float) -> Floats:
    """Where each row's distribution reaches ``share``.

    A point of the grid stands for all counts that are nearer to it than to others: itself only,
    where the next whole number is the next point.
    """
    middle = (grid[1:] + grid[:-1]) / 2
    gaps = np.diff(grid)
    left = np.concatenate(([0.0], np.where(gaps > 1, middle, grid[1:])))
    right = np.concatenate((np.where(gaps > 1, middle, grid[:-1]), grid[-1:]))
    at = np.minimum((below < share).sum(axis=1), below.shape[1] - 1)
    rows = np.arange(len(below))
    upper = below[rows, at]
    lower = np.where(at > 0, below[rows, np.maximum(at - 1, 0)], 0.0)
    part = np.clip((share - lower) / np.maximum(upper - lower, 1e-300), 0.0, 1.0)
    return np.asarray(left[at] + part * (right[at] - left[at]), dtype=np.float64)


def left_alone(values: Floats, law: NoiseLaw, level: Fraction) -> Posterior:
    """Of values that stand so far above the noise that no prior moves them. In units."""
    margin = float(law.half_width(level))
    variance = np.full(values.shape, (law.std() / float(law.unit)) ** 2)
    return Posterior(
        values.copy(), values.copy(), np.maximum(values - margin, 0.0), values + margin, variance
    )
