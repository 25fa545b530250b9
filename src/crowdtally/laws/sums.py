"""The noise of a sum of several cells with independent discrete Laplace noise.

Display only: floats are fine here, because nothing private depends on them.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import asin, ceil, exp, expm1, inf, log, pi, sqrt

import numpy as np

_NEGLIGIBLE = 1e-14  # of a characteristic function
_DOUBT = 1e-11  # on the wide side of rounding


@lru_cache(maxsize=256)  # up to half a second each, and sums of equally many cells are common
def sum_half_width(scale: Fraction, terms: int, level: Fraction) -> int:
    """The least w such that the sum of ``terms`` noises lies within ±w with probability ≥ level.

    By Fourier inversion of the law of the sum.
    """
    peak = _peak(scale)
    std = peak * sqrt(terms / 2)
    if std == inf:
        return 2**62
    covered, wanted = _Coverage(peak, terms, std), float(level) + _DOUBT
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
    """w ↦ Pr[|S| ≤ w] for a sum S of equal discrete Laplace noises, to about twelve digits.

    S has the characteristic function φ(ω)^terms, φ = 1/(1 + (c·sin(ω/2))²) with c = 2√α/(1−α). Its
    law modulo a period beyond all that is likely is the sum over the frequencies ω = 2πj/period of
    φ(ω)^terms times the Dirichlet kernel of w. Frequencies where φ^terms is negligible are left
    out, so that their number does not grow with the scale.
    """

    def __init__(self, c: float, terms: int, std: float) -> None:
        self._period = 2 * ceil(20 * std) + 101
        half = (self._period - 1) // 2
        sine = sqrt(expm1(log(1 / _NEGLIGIBLE) / terms)) / c if c else inf
        last = half if sine >= 1 else min(half, ceil(asin(sine) * self._period / pi))
        self._halves = pi * np.arange(1, last + 1) / self._period
        self._sines = np.sin(self._halves)
        self._weights = 2 * np.exp(-terms * np.log1p((c * self._sines) ** 2))

    def __call__(self, width: int) -> float:
        if width < 0:
            return 0.0
        if 2 * width + 1 >= self._period:
            return 1.0
        kernel = np.sin((2 * width + 1) * self._halves) / self._sines
        return float((2 * width + 1 + self._weights @ kernel) / self._period)
