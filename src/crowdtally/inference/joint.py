"""Cells that were measured twice: both values speak, under the one prior of all cells."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from crowdtally.inference.empirical_bayes import Prior
from crowdtally.inference.posterior import (
    BELOW,
    FINENESS,
    Floats,
    Ints,
    Noise,
    Posterior,
    normal,
    rows,
)

_MOST_ROWS = 6000
"""Of different pairs in an EM step; more are taken together more coarsely."""
_CHUNK = 20_000
"""Cells whose posteriors are computed at once."""


@dataclass(frozen=True, eq=False)
class Again:
    """Some cells' second noisy values, already brought to the size of the first."""

    places: Ints
    """Which cells."""
    values: Floats
    """In units of the first table's law."""
    noise: Noise
    """Of those values, in the same units."""

    def largest(self, first: Floats) -> float:
        """The largest value of either kind."""
        values = np.concatenate([self.values, first[self.places]])
        return float(values.max(initial=0.0))

    def parted(self, first: Floats, far: float) -> tuple[Again, Again]:
        """Cells of which no value is above ``far``, and the others."""
        near = np.maximum(first[self.places], self.values) <= far
        return (
            Again(self.places[near], self.values[near], self.noise),
            Again(self.places[~near], self.values[~near], self.noise),
        )

    def far_apart(self, first: Floats, noise: Noise, level: Fraction) -> Posterior:
        """Of values far above the noise: weighted by their variances, whatever the prior."""
        one, two = 1 / noise.deviation**2, 1 / self.noise.deviation**2
        mean = (one * first[self.places] + two * self.values) / (one + two)
        return normal(mean, np.full(mean.shape, 1 / (one + two)), level)


def twice_binned(first: Floats, noise: Noise, also: Again, grid: Floats) -> tuple[Floats, Floats]:
    """The likelihoods of pairs of values that were taken together, and how many of each."""
    one, two = first[also.places], also.values
    fineness = float(FINENESS)
    while True:
        widths = (_width(noise, fineness), _width(also.noise, fineness))
        pairs = np.stack([np.rint(one / widths[0]), np.rint(two / widths[1])], axis=1)
        pairs, counts = np.unique(pairs, axis=0, return_counts=True)
        if len(pairs) <= _MOST_ROWS or fineness < 1:
            break
        fineness /= 2
    found = _likelihoods(pairs[:, 0] * widths[0], pairs[:, 1] * widths[1], noise, also.noise, grid)
    return found, counts.astype(np.float64)


def seen_twice(
    first: Floats, noise: Noise, also: Again, prior: Prior, level: Fraction
) -> Posterior:
    """The posterior of each cell that was measured twice, from its own two values. In units."""
    found = Posterior.empty(len(also.places))
    one = first[also.places]
    for start in range(0, len(one), _CHUNK):
        part = slice(start, start + _CHUNK)
        likelihoods = _likelihoods(one[part], also.values[part], noise, also.noise, prior.grid)
        places = np.arange(start, start + len(likelihoods))
        found.put(places, prior.posterior(likelihoods, level))
    return found


def _width(noise: Noise, fineness: float) -> float:
    return float(max(1.0, np.rint(noise.scale / fineness)))


def _likelihoods(one: Floats, two: Floats, noise: Noise, again: Noise, grid: Floats) -> Floats:
    one = np.maximum(one, -BELOW * max(noise.scale, 1.0))
    two = np.maximum(two, -BELOW * max(again.scale, 1.0))
    return rows(noise.log(one[:, None] - grid) + again.log(two[:, None] - grid))
