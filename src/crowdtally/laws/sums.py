"""The noise of a sum of several cells with independent noise: discrete Laplace, or Gaussian.

Display only: floats are fine here, because nothing private depends on them.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import asin, ceil, exp, expm1, inf, log, pi, sqrt

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_NEGLIGIBLE = 1e-14  # of a characteristic function
_DOUBT = 1e-11  # on the wide side of rounding
_REACH = 40  # a narrow bell has nothing beyond it


@lru_cache(maxsize=256)  # up to half a second each, and sums of equally many cells are common
def sum_half_width(scale: Fraction, terms: int, level: Fraction) -> int:
    """The least w such that the sum of ``terms`` noises lies within ±w with probability ≥ level.

    By Fourier inversion of the law of the sum.
    """
    peak = _peak(scale)
    std = peak * sqrt(terms / 2)
    if std == inf:
        return 2**62
    return _least(_Coverage.of_laplace(peak, terms, std), std, level)


@lru_cache(maxsize=256)
def bell_half_width(variance: Fraction, terms: int, level: Fraction) -> int:
    """The same for discrete Gaussian noise; for narrow ones: the sum of wide ones is one again."""
    values = np.arange(-_REACH, _REACH + 1)
    chances = np.exp(-(values**2) / (2 * max(float(variance), 1e-300)))
    chances /= chances.sum()
    std = sqrt(float(chances @ values**2) * terms)
    return _least(_Coverage.of_values(values, chances, terms, std), std, level)


def _least(covered: _Coverage, std: float, level: Fraction) -> int:
    wanted = float(level) + _DOUBT
    least, most = -1, ceil(std) + 1
    while covered(most) < wanted:
        least, most = most, 2 * most
    while most - least > 1:
        middle = (least + most) // 2
        least, most = (least, middle) if covered(middle) >= wanted else (middle, most)
    return most


def _peak(scale: Fraction) -> float:
    """C = 2√α/(1−α), which is √2 times the standard deviation of one noise."""
    try:
        rate = 1 / float(scale)
    except (OverflowError, ZeroDivisionError):
        return inf if scale > 1 else 0.0
    return 2 * exp(-rate / 2) / -expm1(-rate) if rate else inf


class _Coverage:
    """w ↦ Pr[|S| ≤ w] for a sum S of equal noises, to about twelve digits.

    S has the characteristic function φ(ω)^terms. Its law modulo a period beyond all that is likely
    is the sum over the frequencies ω = 2πj/period of φ(ω)^terms times the Dirichlet kernel of w.
    Frequencies where φ^terms is negligible are left out, so that their number does not grow with
    the scale.
    """

    def __init__(self, period: int, halves: Floats, weights: Floats) -> None:
        self._period, self._halves, self._weights = period, halves, weights
        self._sines = np.sin(halves)

    @classmethod
    def of_laplace(cls, c: float, terms: int, std: float) -> _Coverage:
        """φ = 1/(1 + (c·sin(ω/2))²) with c = 2√α/(1−α)."""
        period = 2 * ceil(20 * std) + 101
        half = (period - 1) // 2
        sine = sqrt(expm1(log(1 / _NEGLIGIBLE) / terms)) / c if c else inf
        last = half if sine >= 1 else min(half, ceil(asin(sine) * period / pi))
        halves = pi * np.arange(1, last + 1) / period
        return cls(period, halves, 2 * np.exp(-terms * np.log1p((c * np.sin(halves)) ** 2)))

    @classmethod
    def of_values(cls, values: Ints, chances: Floats, terms: int, std: float) -> _Coverage:
        """φ from all values and their chances: a bell's is positive and falls up to ω = π."""
        period = 2 * ceil(20 * std) + 101

        def waves(numbers: Ints) -> Floats:
            angles = 2 * pi * numbers[:, None] / period
            return np.asarray((np.cos(angles * values) @ chances) ** terms, dtype=np.float64)

        low, last = 0, (period - 1) // 2
        while last - low > 1:
            middle = (low + last) // 2
            negligible = waves(np.array([middle]))[0] < _NEGLIGIBLE
            low, last = (low, middle) if negligible else (middle, last)
        numbers = np.arange(1, last + 1)
        return cls(period, pi * numbers / period, 2 * waves(numbers))

    def __call__(self, width: int) -> float:
        if width < 0:
            return 0.0
        if 2 * width + 1 >= self._period:
            return 1.0
        kernel = np.sin((2 * width + 1) * self._halves) / self._sines
        return float((2 * width + 1 + self._weights @ kernel) / self._period)
