"""How likely a noisy value is under each true count of a grid."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from crowdtally.laws.base import NoiseLaw

Floats = NDArray[np.float64]

FINENESS = 40
"""Values are taken together within 1/40 of the noise scale."""
_STEPS = 8
"""The grid of true counts starts with steps of 1/8 of the noise scale."""
_FINE = 8
"""It keeps them for so many noise scales, then widens."""
_WIDER, _WIDEST = 1.04, 0.5
"""By how much from step to step, and to which share of the noise scale."""
FAR = 54
"""Counts beyond so many standard deviations are left alone: no prior moves them."""
BELOW = 60
"""Values more than so many noise scales below 0 are as good as that."""


@dataclass(frozen=True)
class Noise:
    """One law, as an estimate sees it. All in units of the law."""

    law: NoiseLaw
    ratio: float = 1.0
    """What the values, and so their noise, were multiplied by."""

    @property
    def deviation(self) -> float:
        """The standard deviation, in units."""
        return self.ratio * self.law.std() / float(self.law.unit)

    @property
    def scale(self) -> float:
        """The scale b of a Laplace law of the same variance."""
        return self.deviation / sqrt(2)

    @property
    def width(self) -> float:
        """What is taken together: whole units, exact where the noise is of few units."""
        return float(max(1.0, np.rint(self.scale / FINENESS)))

    def log(self, differences: Floats) -> Floats:
        """Log Pr[noise = difference], the next whole unit of it."""
        return np.asarray(
            self.law.log_probabilities(np.rint(differences / self.ratio)), dtype=np.float64
        )


def grid_of(scale: float, largest: float) -> Floats:
    """True counts from 0 to a little beyond ``largest``, whole and increasing."""
    end = max(largest, 0.0) + 12 * max(scale, 1.0)
    first = max(scale / _STEPS, 1.0)
    steps = [0.0]
    at, step = 0.0, first
    while at < end:
        at += step
        steps.append(at)
        if at > _FINE * scale:
            step = max(min(step * _WIDER, _WIDEST * scale), first)
    return np.unique(np.rint(np.array(steps)))


def rows(log_likelihoods: Floats) -> Floats:
    """Likelihoods, each row over its largest: so that none vanishes."""
    shifted = log_likelihoods - log_likelihoods.max(axis=1, keepdims=True)
    return np.asarray(np.exp(np.maximum(shifted, -700.0)), dtype=np.float64)
