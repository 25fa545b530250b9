"""How likely an error is at least so large, where it is a sum of independent errors of any law.

By the saddlepoint: Lugannani and Rice's formula on the sum of the cumulant generating functions,
and never more than Chernoff's bound. ``changes.md`` says how near that is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from crowdtally.laws.cumulants import Cumulants, Floats, Three
from crowdtally.reader.axes import Ints

_STEPS = 45
_LIKELY = 2.0
"""Standard deviations below which a tail is taken for 1: no discovery has one so large."""
_SAFE = 1.1
"""By how much the formula is raised: more than it was ever found too low."""
_FAR = 1000.0
_erfc = np.frompyfunc(math.erfc, 1, 1)


@dataclass(frozen=True, eq=False)
class Noise:
    """Noise of one law on every line, times a factor for each."""

    law: Cumulants
    factors: Floats

    def at(self, s: Floats) -> Three:
        value, slope, bend = self.law.at(s * self.factors)
        return value, slope * self.factors, bend * self.factors**2

    def take(self, lines: Ints) -> Noise:
        return Noise(self.law, self.factors[lines])


@dataclass(frozen=True, eq=False)
class Sample:
    """What sampling adds at most: a Poisson number of steps, less its mean.

    K(s) = (μ/C)(e^(Cs) − 1 − Cs), and with −s where it counts downwards.
    """

    means: Floats
    """μ of each line."""
    step: float
    """C; below 0 where it counts downwards."""

    def at(self, s: Floats) -> Three:
        power = np.clip(s * self.step, -700, 700)
        rates = self.means / abs(self.step)
        grown = np.expm1(power)
        value, slope = rates * (grown - power), rates * self.step * grown
        return value, slope, rates * self.step**2 * (grown + 1)

    def take(self, lines: Ints) -> Sample:
        return Sample(self.means[lines], self.step)


@dataclass(frozen=True, eq=False)
class Errors:
    """The errors of all lines, each the sum of independent parts."""

    noises: Sequence[Noise]
    samples: Sequence[Sample]
    variances: Floats
    """Of what is nearly normal."""

    def at(self, s: Floats) -> Three:
        value, slope = self.variances * s**2 / 2, self.variances * s
        bend = self.variances.copy()
        parts: list[Noise | Sample] = [*self.noises, *self.samples]
        for part in parts:
            more = part.at(s)
            value, slope, bend = value + more[0], slope + more[1], bend + more[2]
        return value, slope, bend

    def take(self, lines: Ints) -> Errors:
        return Errors(
            [one.take(lines) for one in self.noises],
            [one.take(lines) for one in self.samples],
            self.variances[lines],
        )

    @property
    def deviations(self) -> Floats:
        return np.sqrt(self.at(np.zeros_like(self.variances))[2])

    def _most(self) -> Floats:
        """The largest s of each line: within what converges, and not farther than needed."""
        most = _FAR / np.maximum(self.deviations, 1e-300)
        for one in self.noises:
            with np.errstate(divide="ignore"):
                edges = one.law.edge / one.factors
            most = np.minimum(most, edges * (1 - 1e-9))
        return most

    def _lattice(self) -> Floats:
        widest = np.zeros_like(self.variances)
        for one in self.noises:
            widest = np.maximum(widest, one.law.lattice * one.factors)
        return widest


def tail(errors: Errors, values: Floats) -> Floats:
    """Pr[error ≥ value] of each line, or somewhat more; 1 below two standard deviations."""
    found = np.ones(len(values))
    likely = np.flatnonzero(values > _LIKELY * errors.deviations)
    if not len(likely):
        return found
    some = errors.take(likely)
    # A sum on a lattice is at least t if the continuous one is above t less half a step.
    asked = values[likely] - some._lattice() / 2
    low, high = np.zeros(len(likely)), some._most()
    for _ in range(_STEPS):
        middle = (low + high) / 2
        above = some.at(middle)[1] > asked
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    found[likely] = _at_saddle(some, low, asked)
    return found


def _at_saddle(errors: Errors, s: Floats, values: Floats) -> Floats:
    value, slope, bend = errors.at(s)
    exponent = np.maximum(s * values - value, 0.0)
    with np.errstate(under="ignore", over="ignore", divide="ignore", invalid="ignore"):
        bound = np.exp(-exponent)
        root, width = np.sqrt(2 * exponent), s * np.sqrt(bend)
        density = bound / math.sqrt(2 * math.pi)
        upper = np.asarray(_erfc(root / math.sqrt(2)), dtype=np.float64) / 2
        near = upper + density * (1 / width - 1 / root)
    met = np.abs(slope - values) <= 1e-6 * np.maximum(np.abs(values), 1e-300)
    usable = met & np.isfinite(near) & (near > 0)
    return np.asarray(np.where(usable, np.minimum(_SAFE * near, bound), bound), dtype=np.float64)


def reach(errors: Errors, chances: Floats) -> Floats:
    """The least value of each line whose tail is at most so likely, about."""
    low, high = np.zeros(len(chances)), errors._most()
    for _ in range(_STEPS):
        middle = (low + high) / 2
        values = errors.at(middle)[1]
        likely = _at_saddle(errors, middle, values)
        above = likely > chances
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return np.asarray(errors.at(high)[1] + errors._lattice() / 2, dtype=np.float64)
