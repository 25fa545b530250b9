"""Cumulant generating functions of noise, K(s) = log E[e^(sX)].

Those of independent errors add up, whatever their laws. They are for display only: floats are fine
here, because nothing private depends on them. ``reader/changes/changes.md`` uses them.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from crowdtally.laws.base import Combination, NoiseLaw
from crowdtally.laws.gaussian import GaussianNoise
from crowdtally.laws.gaussian_tails import WIDE
from crowdtally.laws.interval import IntervalNoise, nodes

Floats = NDArray[np.float64]
Three = tuple[Floats, Floats, Floats]  # K, K′ and K″ at some places

_POINTS = 4000  # points of a grid
_INSIDE = 0.97  # a grid ends at this part of the range in which K converges
_NARROW = 24  # a bell of variance 4 is negligible so far from its middle
_LEAST, _MOST = Fraction(1, 10**300), Fraction(10**300)
"""Variances that floats hold with room above and below."""
_FAR = 40.0  # the end of a grid, over the standard deviation: no smaller tail is ever asked


class Cumulants(Protocol):
    """K of one law, which is the same on both sides of 0."""

    @property
    def edge(self) -> float:
        """K is finite below it."""

    @property
    def lattice(self) -> float:
        """The values are multiples of it, as a count."""

    def at(self, s: Floats) -> Three:
        """K, K′ and K″ at places within the edge."""


@dataclass(frozen=True)
class LaplaceCumulants:
    """Of the sum of some independent discrete Laplace noises: K = Σ log E[e^(sX)].

    E[e^(sX)] = (1−α)²/((1−αe^s)(1−αe^(−s))), α = e^(−1/b), for |s| < 1/b.
    """

    scale: float
    """b, in units."""
    lattice: float
    """One unit as a count."""
    cells: int = 1

    @property
    def edge(self) -> float:
        return 1 / (self.scale * self.lattice)

    def at(self, s: Floats) -> Three:
        """Computed by expm1, since α may be close to 1."""
        rate, step = 1 / self.scale, np.asarray(s, dtype=np.float64) * self.lattice
        up, down = rate - step, rate + step
        with np.errstate(over="ignore"):
            falls = -np.expm1(-up), -np.expm1(-down)
            grow = 1 / np.expm1(up), 1 / np.expm1(down)
        value = 2 * np.log(-np.expm1(-rate)) - np.log(falls[0]) - np.log(falls[1])
        slope = grow[0] - grow[1]
        bend = grow[0] * (1 + grow[0]) + grow[1] * (1 + grow[1])
        times = float(self.cells)
        return times * value, times * slope * self.lattice, times * bend * self.lattice**2


@dataclass(frozen=True)
class GaussianCumulants:
    """Of the sum of some independent discrete Gaussian noises.

    Σ_k e^(sk − k²/(2σ²)) = e^(s²σ²/2)·Σ_k e^(−(k−m)²/(2σ²)), m = sσ²; and the last sum is the same
    for all m that differ by whole numbers. So K = s²σ²/2 + the logarithm of two such sums' ratio,
    which is 0 in floats where σ² is at least 4.
    """

    variance: float
    """σ², in units."""
    lattice: float
    """One unit as a count."""
    cells: int = 1

    @property
    def edge(self) -> float:
        return float("inf")

    def at(self, s: Floats) -> Three:
        step = np.asarray(s, dtype=np.float64) * self.lattice
        value, slope = self.variance * step**2 / 2, self.variance * step
        bend = np.full_like(step, self.variance)
        if self.variance < WIDE:
            more, slope, bend = self._narrow(slope)
            value = value + more
        times = float(self.cells)
        return times * value, times * slope * self.lattice, times * bend * self.lattice**2

    def _narrow(self, moved: Floats) -> Three:
        """The logarithm of the ratio, and mean and variance of the law e^(−(k−m)²/(2σ²))."""
        whole = np.rint(moved)
        reach = np.arange(-_NARROW, _NARROW + 1, dtype=np.float64)
        logs = -((reach - (moved - whole)[..., None]) ** 2) / (2 * self.variance)
        top = logs.max(axis=-1, keepdims=True)
        weights = np.exp(logs - top)
        total = weights.sum(axis=-1)
        mean = weights @ reach / total
        bend = (weights * (reach - mean[..., None]) ** 2).sum(axis=-1) / total
        still = np.exp(-(reach**2) / (2 * self.variance)).sum()
        return top[..., 0] + np.log(total / still), whole + mean, bend


@dataclass(frozen=True, eq=False)
class GriddedCumulants:
    """Of a law whose K, K′ and K″ are known on a grid from 0 to the edge."""

    edge: float
    lattice: float
    values: Floats
    slopes: Floats
    bends: Floats
    times: int = 1
    """How many independent sums are added up."""

    def at(self, s: Floats) -> Three:
        """Interpolated between points of the grid; K is even, and K′ is odd."""
        places, grid = np.abs(s), np.linspace(0.0, self.edge, len(self.values))
        value, slope, bend = (
            self.times * np.interp(places, grid, part)
            for part in (self.values, self.slopes, self.bends)
        )
        return value, slope * np.sign(s), bend


@lru_cache(maxsize=64)
def _of_interval(law: IntervalNoise, cells: int, draws: int) -> GriddedCumulants:
    """As :func:`cumulants`. Given the width w, a sum of c cells is c·T − (D+1)·ΣU.

    T and ΣU are sums of uniform numbers on 0 … w, as in ``interval.py``.
    """
    known, pieces = nodes(law.rate, law.cells + law.phantoms + 1), law.phantoms + 1
    step = known.step * float(law.unit)
    # The widths fall as e^(−rate·w), and the sum reaches c·(D+1) times the width.
    edge = _INSIDE * float(law.rate) * known.step / (cells * pieces)
    edge = min(edge, _FAR * step / law.std(Combination.of_cells(cells)))
    grid = np.linspace(0.0, edge, _POINTS)
    logs = np.full((len(known.widths), _POINTS), -np.inf)
    for row, (width, chance) in enumerate(zip(known.widths, known.chances, strict=True)):
        logs[row] = (
            np.log(chance)
            + pieces * _log_uniform(cells * grid, int(width))
            + cells * _log_uniform(pieces * grid, int(width))
        )
    top = logs.max(axis=0)
    values = top + np.log(np.exp(logs - top).sum(axis=0))
    slopes = np.gradient(values, grid, edge_order=2)
    bends = np.gradient(slopes, grid, edge_order=2)
    bends = np.maximum(bends, 0.0) * step**2
    values -= values[0]
    return GriddedCumulants(edge / step, float(law.unit), values, slopes * step, bends, draws)


def _log_uniform(s: Floats, width: int) -> Floats:
    """Log E[e^(s(U − w/2))] for U uniform on 0 … w: log(sinh((w+1)s/2)/((w+1)·sinh(s/2)))."""
    half, size = s / 2, width + 1
    small = half * size < 1e-4
    safe = np.where(small, 1.0, half)
    known = (
        width * safe + np.log1p(-np.exp(-2 * size * safe)) - np.log1p(-np.exp(-2 * safe))
    ) - np.log(size)
    return np.asarray(np.where(small, (size**2 - 1) * half**2 / 6, known))


def cumulants(law: NoiseLaw, cells: int = 1, draws: int = 1) -> Cumulants:
    """Of the noise, as a count, of a sum of ``cells`` cells of one draw, ``draws`` times over."""
    if isinstance(law, IntervalNoise):
        return _of_interval(law, cells, draws)
    if isinstance(law, GaussianNoise):
        variance = min(max(law.variance, _LEAST), _MOST)
        return GaussianCumulants(float(variance), float(law.unit), cells * draws)
    scale = float(getattr(law, "scale", 0))
    return LaplaceCumulants(max(scale, 1e-300), float(law.unit), cells * draws)
