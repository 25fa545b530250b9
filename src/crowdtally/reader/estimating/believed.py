"""What is believed of many counts, and of sums of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import hypot, inf, sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from crowdtally.inference.items import chances_among

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

TRUE = "the true counts"
"""What an interval covers where what bounding left out was measured, or nothing was bounded."""
BOUNDED = "the bounded counts"
"""What it covers where a release cannot tell what bounding left out."""


@dataclass(frozen=True, eq=False)
class Believed:
    """What is believed of many counts. All arrays are equally long."""

    mean: Floats
    """The posterior mean: what the count is believed to be."""
    median: Floats
    """The posterior median: nearer to most small counts."""
    low: Floats
    high: Floats
    """The interval of the level that was asked for."""
    deviation: Floats
    """The posterior standard deviation."""
    own: Floats
    """The part of it that is the count's own; the rest is an error that all counts share."""

    def __len__(self) -> int:
        return len(self.mean)

    def parts(self) -> tuple[Floats, ...]:
        """The arrays, in order."""
        return self.mean, self.median, self.low, self.high, self.deviation, self.own

    def chance_among(self, k: int) -> Floats:
        """How likely each is one of the k largest."""
        return np.clip(chances_among(self.mean, self.own, k), 0.0, 1.0)

    def total(self, mask: Mask, level: Fraction, whole: float = 0.0, cell: float = inf) -> Total:
        """The sum of those that ``mask`` picks.

        Own errors are independent, and what all counts share adds up: but the more of the whole a
        sum holds, the more its error is that of the whole, which was measured (or, where nothing
        was calibrated, is no better known than the sum of the noisy counts). Given the whole, own
        errors of variance V, of which V_s is the sum's, leave it V_s(1 − V_s/V).

        Args:
            mask: which counts.
            level: of the interval.
            whole: the standard deviation of the sum of all counts.
            cell: that of one noisy count, where nothing was calibrated: no sum of estimates is
                less certain than that of the noisy counts.
        """
        number = int(np.count_nonzero(mask))
        picked = slice(None) if number == len(self) else np.flatnonzero(mask)
        mean = float(self.mean[picked].sum())
        if number == 1:
            place = int(np.argmax(mask))
            return Total(
                mean, float(self.deviation[place]), float(self.low[place]), float(self.high[place])
            )
        squares = np.square(self.own[picked])
        shared = 0.0
        if self.deviation is not self.own:
            beyond = np.square(self.deviation[picked]) - squares
            shared = float(np.sqrt(np.maximum(beyond, 0.0)).sum())
        mass = mean if number == len(self) else float(self.mean.sum())
        part = mean / mass if mass > 0 else 0.0
        learned = min(part * whole, cell * sqrt(number))
        theirs = float(squares.sum())
        every = theirs if number == len(self) else float(np.square(self.own).sum())
        left = theirs * max(1 - theirs / every, 0.0) if every > 0 else 0.0
        error = hypot(sqrt(left), (1 - part) * shared, learned)
        return Total.normal(mean, error, level)


@dataclass(frozen=True)
class Total:
    """What is believed of one sum."""

    mean: float
    """The sum."""
    error: float
    """Its standard deviation."""
    low: float
    high: float
    """Its interval."""

    @classmethod
    def normal(cls, mean: float, error: float, level: Fraction) -> Total:
        """A sum of many: nearly normal, and none of its counts is below 0."""
        reach = deviations(level) * error
        return cls(mean, error, max(mean - reach, 0.0), mean + reach)


def deviations(level: Fraction) -> float:
    """How many standard deviations an interval of a normal law reaches.

    >>> round(deviations(Fraction(19, 20)), 2)
    1.96
    """
    return NormalDist().inv_cdf((1 + float(level)) / 2)


def together(parts: Sequence[Believed], level: Fraction) -> Believed:
    """Sums of equally many counts, one from each part, whose own errors are independent."""
    if len(parts) == 1:
        return parts[0]
    mean = np.sum([part.mean for part in parts], axis=0)
    own = np.sqrt(np.sum([part.own**2 for part in parts], axis=0))
    shared = np.sum(
        [np.sqrt(np.maximum(part.deviation**2 - part.own**2, 0.0)) for part in parts], axis=0
    )
    deviation = np.hypot(own, shared)
    reach = deviations(level) * deviation
    return Believed(mean, mean, np.maximum(mean - reach, 0.0), mean + reach, deviation, own)
