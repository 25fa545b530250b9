"""Probabilities of interval noise, of one cell and of sums of cells, as floats for display.

Given the width s, the noise of a cell in units of 1/(D+1) is Y = T − (D+1)·U, where T is the sum of
D+1 integers and U one, all uniform on 0 … s and independent; that of c cells is c·T − (D+1)·(U_1 +
… + U_c). See ``interval.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import sqrt

import numpy as np

from crowdtally.laws.widths import Floats, Nodes, nodes

_KNOWN = 1e-17  # beside the largest probability
_MOST_NODES = 300
_MOST_WAVES = 3000


@dataclass(frozen=True, eq=False)
class OneCell:
    """The law of the noise of one cell, which is the same on both sides of 0."""

    step: float
    """What one place of the arrays is in units."""
    logs: Floats
    """Log Pr[Y = k], for k = 0, 1, … as far as it is known."""
    slope: float
    """How it goes on from there, for each place."""
    tails: Floats
    """Pr[|Y| > k]."""

    def log_probabilities(self, values: Floats) -> Floats:
        """Log Pr[Y = k]; beyond the arrays it goes on as a straight line."""
        places = np.abs(values) / self.step
        last = len(self.logs) - 1
        known = np.interp(places, np.arange(last + 1), self.logs)
        beyond = np.maximum(places - last, 0.0)
        return np.asarray(known + self.slope * beyond - np.log(self.step), dtype=np.float64)

    def tail(self, width: float) -> float:
        """Pr[|Y| > width], for a whole number of units."""
        if width < 0:
            return 1.0
        place = (width + 0.5) / self.step - 0.5
        if place < 0:  # between 0 and the first half step
            return float(1 - (1 - self.tails[0]) * (2 * place + 1))
        return float(np.interp(place, np.arange(len(self.tails)), self.tails, right=0.0))


@lru_cache(maxsize=64)
def one_cell(rate: Fraction, cells: int, phantoms: int) -> OneCell:
    """The law of one cell's noise beside ``cells`` − 1 others and so many phantoms."""
    law = nodes(rate, cells + phantoms + 1)
    pieces = phantoms + 1
    found = np.zeros(int(law.widths[-1]) * pieces + 1)
    for width, chance in zip(law.widths.tolist(), law.chances.tolist(), strict=True):
        found[: width * pieces + 1] += chance * _given(width, pieces)
    beyond = np.concatenate((np.cumsum(found[:0:-1])[::-1], [0.0]))
    # The farthest values lack the widths that were left out, so they are left out too.
    known = np.flatnonzero(found >= found.max() * _KNOWN)[-1] + 1
    logs = np.log(found[:known])
    stretch = min(known - 1, 8 * pieces)
    slope = (logs[-1] - logs[-1 - stretch]) / stretch if stretch else -float(rate) * law.step
    return OneCell(law.step, logs, float(slope), np.minimum(2 * beyond, 1.0))


def _given(width: int, pieces: int) -> Floats:
    """Pr[Y = k | s] for k = 0 … pieces·s: Σ_u Pr[T = k + pieces·u]/(s+1).

    All terms are positive, so that small probabilities have as many right digits as large ones.
    """
    total = _sum_of_uniforms(width, pieces)
    padded = np.zeros((width + 1) * pieces)
    padded[: len(total)] = total
    rows = padded.reshape(width + 1, pieces)
    sums = np.cumsum(rows[::-1], axis=0)[::-1].reshape(-1)
    return np.asarray(sums[: len(total)] / (width + 1), dtype=np.float64)


def _sum_of_uniforms(width: int, pieces: int) -> Floats:
    """Pr[T = k]: the lower half, which grows, by differences of sums; the upper is its mirror."""
    law = np.full(width + 1, 1 / (width + 1))
    for more in range(2, pieces + 1):
        size = more * width + 1
        half = (size + 1) // 2
        sums = np.cumsum(law)[:half]
        sums = np.concatenate((sums, np.full(half - len(sums), sums[-1])))
        lower = sums.copy()
        lower[width + 1 :] -= sums[: max(half - width - 1, 0)]
        law = np.concatenate((lower, lower[: size - half][::-1])) / (width + 1)
    return law


@dataclass(frozen=True, eq=False)
class Several:
    """The law of the noise of a sum of several cells, by Fourier inversion; about 1e-6."""

    step: float
    """What one place is in units."""
    period: int
    """The law is known modulo this many places, beyond all that is likely."""
    halves: Floats
    """Half of each frequency above 0."""
    moments: Floats
    """The characteristic function there, twice."""

    def tail(self, width: float) -> float:
        """Pr[|S| > width]."""
        odd = 2 * width + 1  # 2·width + 1 units are that many half places
        if odd / self.step >= self.period:
            return 0.0
        kernel = np.sin(odd / self.step * self.halves) / np.sin(self.halves)
        inside = (odd / self.step + float(self.moments @ kernel)) / self.period
        return min(max(1 - inside, 0.0), 1.0)


@lru_cache(maxsize=64)
def several(rate: Fraction, cells: int, phantoms: int, summed: int) -> Several:
    """The law of the noise of the sum of ``summed`` cells."""
    law, pieces = _thinned(nodes(rate, cells + phantoms + 1)), phantoms + 1
    widths = law.widths.astype(np.float64)
    variance = float((widths * (widths + 2)) @ law.chances) / 12
    spread = sqrt(variance * (summed**2 * pieces + pieces**2 * summed))
    period = 2 * int(12 * spread) + 101
    halves = np.pi * np.arange(1, min(period // 2, _MOST_WAVES) + 1) / period
    moments = np.zeros_like(halves)
    for width, chance in zip(law.widths.tolist(), law.chances.tolist(), strict=True):
        shared, own = (_wave(width, halves * times) for times in (summed, pieces))
        with np.errstate(under="ignore"):
            moments += chance * shared**pieces * own**summed
    return Several(law.step, period, halves, 2 * moments)


def _wave(width: int, halves: Floats) -> Floats:
    """E[e^(iω(U − s/2))] at ω = 2·halves: sin((s+1)ω/2)/((s+1)·sin(ω/2))."""
    sines = np.sin(halves)
    still = np.abs(sines) < 1e-12
    waves = np.sin((width + 1) * halves) / np.where(still, 1.0, (width + 1) * sines)
    turns = np.rint(halves / np.pi) * width  # at whole turns it is 1 or −1
    return np.asarray(np.where(still, np.cos(np.pi * turns), waves), dtype=np.float64)


def _thinned(law: Nodes) -> Nodes:
    """A few hundred nodes at equal distances: sums of so smooth a law are as good with them."""
    every = -(-len(law.widths) // _MOST_NODES)
    if every == 1:
        return law
    chances = law.chances[::every]
    return Nodes(law.step, law.widths[::every], chances / chances.sum())
