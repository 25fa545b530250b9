"""The tail of a sum of noises that is a whole number of steps, by Fourier inversion.

Display only, so floats are fine. The law is first tilted by e^(sk), which brings its tail to the
middle: so a tail of 10^-30 has as many right digits as one of 1/2. What the inversion adds by
summing over finitely many frequencies is never negative, so a tail is never taken for smaller than
it is, but for rounding, which ``_DOUBT`` covers. See ``floors.md``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from math import ceil, log, log1p, pi, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdtally.core.counts import Keeping
from crowdtally.laws.seen import seen_floats

Floats = NDArray[np.float64]

_DOUBT = 1e-7
"""On the large side of rounding, relative to a tail."""
_NEGLIGIBLE = 1e-15
_STEEPEST = 700.0
"""A rate beyond which the floats of e^rate end: the noise is 0, and any bound is 0 too."""
_MOST_SEEN = 10**7
"""Cells whose logarithms of about 10^-16 of doubt may be added up, where some are dropped."""
_FEW, _MANY = 1 << 16, 1 << 18
"""Frequencies that are summed: enough where the rest is negligible, and the most there are."""


@dataclass(frozen=True, eq=False)
class Steps:
    """A sum S of noises in steps: S = Σ weight·Y, of whole weights."""

    exponent: float
    """s: what the law is tilted by, for each step."""
    log_moment: float
    """log E[e^(sS)]."""
    period: int
    """N: tails N steps apart are added up."""
    angles: Floats
    """The frequencies 2πl/N."""
    values: NDArray[Any]
    """E[e^((s+iω)S)] / E[e^(sS)] / (1 − e^(−s−iω)) at each, counted twice but for 0: N is odd."""

    @classmethod
    def of(
        cls,
        scale: Fraction,
        weights: Sequence[tuple[int, int]],
        keeping: Keeping,
        exponent: float,
    ) -> Steps | None:
        """None where it would take too many frequencies, or more digits than floats have."""
        rate = float(1 / scale)
        cells = sum(times for _, times in weights)
        if rate > _STEEPEST or (cells > _MOST_SEEN and not keeping.keeps_all):
            return None
        log_moment = partial(_log_moment, rate, weights, keeping)
        middle = float(log_moment(exponent))
        period = _period(exponent, [float(log_moment(exponent * f)) for f in (0.999, 1, 1.001)])
        # Of plain sums the moments fall with the frequency, so that the rest is smaller.
        plain = keeping.keeps_all and all(weight == 1 for weight, _ in weights)
        most = period // 2
        if most > _MANY:
            most = _FEW if plain else 0  # none: what is left out is not negligible
        angles = 2 * pi * np.arange(most + 1) / period
        tilted = exponent + 1j * angles
        values = np.exp(log_moment(tilted) - middle)
        if most < period // 2 and abs(values[-1]) > _NEGLIGIBLE:
            return None
        values[1:] *= 2
        return cls(exponent, middle, period, angles, values / -np.expm1(-tilted))

    def log_tail(self, width: int) -> float:
        """An upper bound of log Pr[S > width], nearly that."""
        # Whole turns are left out: of large numbers sines have few right digits.
        turns = np.exp(-1j * self.angles * float((width + 1) % self.period))
        mean = float((self.values * turns).real.sum()) / self.period
        if mean <= 0:
            return self.log_moment - self.exponent * (width + 1)
        return self.log_moment - self.exponent * (width + 1) + log(mean) + log1p(_DOUBT)


def _log_moment(
    rate: float, weights: Sequence[tuple[int, int]], keeping: Keeping, power: Any
) -> Any:
    """Log E[e^(power·S)], for an array of real or complex powers."""
    parts = (
        times * np.log1p(seen_floats(rate, weight * power, keeping)) for weight, times in weights
    )
    return sum(parts)


def _period(exponent: float, near: Sequence[float]) -> int:
    """N: so many steps that the next tail is e^-40 of this one, or 16 deviations of the tilted law.

    Args:
        exponent: what the law is tilted by.
        near: log E[e^(sS)] a thousandth below it, at it and above it: their curve is the variance.
    """
    spread = sqrt(max(near[0] - 2 * near[1] + near[2], 0.0)) / (exponent * 0.001)
    return ceil(max(40 / exponent, 16 * spread)) | 1


def least_passing(steps: Steps, log_chance: float, high: int) -> int:
    """The least width whose tail is within the chance; ``high`` is one that is known to be.

    Beyond 2^30 to within 2^-30 of it: floats tell no nearer ones apart.
    """
    low, guess, fall = -1, high - 1, steps.exponent
    seen: tuple[int, float] | None = None
    while high - low > 1 + (high >> 30):
        excess = steps.log_tail(guess) - log_chance
        high, low = (guess, low) if excess <= 0 else (high, guess)
        if seen is not None:  # by how much the tail's logarithm falls a step
            fall = max((seen[1] - excess) / (guess - seen[0]), steps.exponent / 100)
        seen = guess, excess
        guess = min(max(guess + ceil(excess / fall), low + 1), high - 1)
    return high
