"""Interval noise: law, widths, shapes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil, isqrt, sqrt
from statistics import NormalDist
from typing import Any, ClassVar, Literal, Self

import numpy as np
from flint import arb
from numpy.typing import ArrayLike, NDArray

from crowdtally.core.counts import Keeping
from crowdtally.core.integers import exact_product, exact_sum
from crowdtally.core.numbers import is_whole, recorded, show
from crowdtally.core.privacy import Epsilon, Price
from crowdtally.errors import UsageError
from crowdtally.laws.base import (
    FLOOR_SHARE,
    ONE_CELL,
    ONE_LINE,
    Combination,
    EmptyCell,
    Source,
    Terms,
    above_zero,
)

# The law of the width s of interval noise: Pr[s] ∝ (s+1)^n·e^(−rate·s) for s ≥ 0.
#
# Display only: floats are fine here, because nothing private depends on them.

Floats = NDArray[np.float64]

_SMALL = 0.01  # a rate below which the sum over s is an integral, and a few waves on it
_WAVES = 20
_NEGLIGIBLE = 60.0  # −log of a weight beside the largest
_FINE = 256  # a typical width that is as good as a continuous one


@lru_cache(maxsize=256)
def mean_square(rate: Fraction, power: int) -> float:
    """E[(s+1)²], relative to about 1e-11.

    Σ_s (s+1)^p·e^(−x(s+1)) = p!·Σ_k (x+2πik)^−(p+1) over all integers k (Lipschitz). For small x
    the term of k = 0 is nearly all of it, and (n+1)(n+2)/x² nearly the answer.
    """
    x, n = float(rate), power
    if x == 0.0:
        return float("inf")
    if x >= _SMALL:
        widths, chances = _widths(x, n)
        return float(((widths + 1) ** 2) @ chances)
    waves = 1 + 2j * np.pi * np.arange(1, _WAVES + 1) / x
    upper, lower = (1 + 2 * np.exp(-p * np.log(waves)).real.sum() for p in (n + 3, n + 1))
    return float((n + 1) * (n + 2) / x / x * upper / lower)


def _widths(x: float, n: int) -> tuple[Floats, Floats]:
    """All widths of any weight, and their probabilities."""
    widths = np.arange(ceil((n + 12 * sqrt(n) + 3 * _NEGLIGIBLE) / x) + 2, dtype=np.float64)
    logs = n * np.log1p(widths) - x * widths
    logs -= logs.max()
    heavy = logs > -_NEGLIGIBLE
    chances = np.exp(logs[heavy])
    return widths[heavy], chances / chances.sum()


@dataclass(frozen=True, eq=False)
class Nodes:
    """The law of s, in steps of ``step``: exact where that is 1, else within about 1e-5."""

    step: float
    """What one step of ``widths`` is in units; a power of 2."""
    widths: NDArray[np.int64]
    """Widths, in steps."""
    chances: Floats
    """Their probabilities."""


@lru_cache(maxsize=64)
def nodes(rate: Fraction, power: int) -> Nodes:
    """The law of s, made coarser where a typical s is far above what one can tell from continuous.

    Uniform numbers on 0 … s are, divided by s+1, the nearer to uniform on [0, 1) the larger s is:
    so is noise of rate x about c times noise of rate c·x.
    """
    x, step, wanted = float(rate), 1.0, min(_FINE, 64 * power)
    while x > 0 and power / (x * step) > 2 * wanted:
        step *= 2
    widths, chances = _widths(x * step or power / wanted, power)
    return Nodes(step, widths.astype(np.int64), chances)


# Probabilities of interval noise, of one cell and of sums of cells, as floats for display.
#
# Given the width s, the noise of a cell in units of 1/(D+1) is Y = T − (D+1)·U, where T is the
# sum of D+1 integers and U one, all uniform on 0 … s and independent; that of c cells is c·T −
# (D+1)·(U_1 + … + U_c). See ``interval.md``.

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


# Interval noise: Pr[z] ∝ e^(−rate·(max z⁺ + max z⁻)) over the K cells of a table together.
#
# The rate is an exact rational. What is shown of the law (deviations, intervals, probabilities)
# is in floats. The proofs are in ``interval.md``.

MOST_CELLS = 4096
"""The largest number of cells of one draw, phantoms included."""
MOST_PHANTOMS = 64
"""The largest number of phantom cells."""
_BEYOND = 2**62


def phantoms_for(cells: int) -> int:
    """D = round(√(K/2)) − 1, at least 0: the least variance of a cell, about.

    >>> phantoms_for(1), phantoms_for(7), phantoms_for(20), phantoms_for(30)
    (0, 1, 2, 3)
    """
    twice = isqrt(2 * cells)  # ⌊2·√(K/2)⌋: its half, rounded, is √(K/2) rounded
    return max((twice + 1) // 2 - 1, 0)


@dataclass(frozen=True)
class IntervalNoise:
    """Noise on K cells that is drawn together, so that every pair of them is correlated.

    For counts of distinct users, which one user changes by 0 or 1 in each cell, all the same way.

    >>> law = IntervalNoise(Fraction(1), 7)
    >>> round(law.std(), 2), law.correlation, law.half_width(Fraction(19, 20))
    (3.85, Fraction(1, 2), 8)
    """

    kind: ClassVar[str] = "interval"
    per_cell: ClassVar[bool] = True
    bounded_by: ClassVar[Literal["l1", "l2", "cell"]] = "cell"
    drawn_together: ClassVar[bool] = True
    words: ClassVar[str] = (
        "interval: Pr[z] proportional to exp(-rate*(max z+ + max z-)) over all cells together, "
        "the phantoms' mean subtracted, in units"
    )

    rate: Fraction
    """ε per counted integer: ε itself where users are counted, ε/g on a grid of g."""
    cells: int
    """K: the cells of one draw, without phantoms."""
    phantoms: int = 0
    """D: cells of true count 0 that show the common shift, which is subtracted."""
    counted: Fraction = Fraction(1)
    """What one of the counted integers means as a count."""
    blocks: int = 1
    """How many independent draws there are: 1, or one for each context. As they are drawn, cell c
    is of number c % blocks; in a table, rows of one context share a draw, in whatever order."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "rate", above_zero(self.rate, "the rate of interval noise"))
        for value, least, words in (
            (self.cells, 1, "cells"),
            (self.phantoms, 0, "phantoms"),
            (self.blocks, 1, "blocks"),
        ):
            if not is_whole(value) or value < least:
                raise UsageError(
                    f"the {words} of interval noise are a whole number of at least {least}: "
                    f"received {value!r}."
                )
        if self.phantoms > MOST_PHANTOMS or self.cells + self.phantoms > MOST_CELLS:
            raise UsageError(
                f"interval noise is for at most {MOST_CELLS} cells, of which at most "
                f"{MOST_PHANTOMS} are phantoms: received {self.cells} and {self.phantoms}."
            )

    @property
    def unit(self) -> Fraction:
        """What one unit of the noise means as a count: a mean over D+1 has that denominator."""
        return self.counted / (self.phantoms + 1)

    @property
    def size(self) -> int:
        return self.cells * self.blocks

    @property
    def correlation(self) -> Fraction:
        """Of any two cells of one draw: 1/(D+2)."""
        return Fraction(1, self.phantoms + 2)

    def std(self, of: Combination = ONE_CELL) -> float:
        """√(E[s(s+2)]/12·(D+2)/(D+1)) for one cell; Σ a² and (Σ a)² add up by the correlation."""
        one, shared = self._units(), float(self.correlation)
        variance = (1 - shared) * of.squares + shared * self._together(of)
        return one * sqrt(max(variance, 0.0)) * float(self.unit)

    def _units(self) -> float:
        """The standard deviation of one cell, in units."""
        spread = mean_square(self.rate, self.cells + self.phantoms + 1) - 1
        pieces = self.phantoms + 1
        return sqrt(spread / 12 * (pieces + 1) * pieces)

    def _together(self, of: Combination) -> float:
        """Σ over the draws of (Σ a)²."""
        return of.total**2 if self.blocks == 1 or of.within is None else of.within

    def half_width(self, level: Fraction, cells: int = 1) -> int:
        """The least w with Pr[|noise of the sum of so many cells of one draw| ≤ w] ≥ level."""
        if not isinstance(level, Fraction | int) or not 0 <= level < 1:
            raise UsageError("the level of a noise interval is an exact Fraction in [0, 1).")
        return self._least(self._tail_of(cells), float(1 - level))

    def reach(self, level: Fraction, of: Combination) -> float:
        """About the least w with Pr[|Σ a·X| ≤ w] ≥ level.

        Exact for whole cells of one draw. Else as many standard deviations as one cell needs, or as
        a normal law does: sums of several draws are near to one.
        """
        whole = of.squares == int(of.squares) and of.squares == of.total
        if whole and self._together(of) == of.total**2:
            return self.half_width(level, int(of.squares))
        units = self._units()
        if not units:  # a rate so large that floats do not tell the noise from none
            return 0.0
        one = self.half_width(level) / units
        normal = NormalDist().inv_cdf((1 + float(level)) / 2)
        return max(one, normal) * self.std(of) / float(self.unit)

    def floor(
        self,
        lines: int,
        of: Terms = ONE_LINE,
        share: Fraction = FLOOR_SHARE,
        *,
        independent: bool = True,
    ) -> float:
        """The least t that the largest of so many lines of pure noise exceeds with ≤ ``share``.

        Lines are correlated: each may exceed it with ``share`` divided by their number.

        >>> IntervalNoise(Fraction(1), 7).floor(7)
        10
        """
        if not isinstance(share, Fraction) or not 0 < share < 1 or lines < 1:
            raise UsageError("a floor has a share within 0 … 1, and is that of one line or more.")
        self._whole(of.keeping)
        chance = min(2 * float(share) / lines, 1.0)  # of both sides
        if all(weight == 1 for weight, _ in of.weights):
            return self._least(self._tail_of(sum(times for _, times in of.weights)), chance)
        squares = sum(weight**2 * times for weight, times in of.weights)
        total = sum(abs(weight) * times for weight, times in of.weights)
        weighted, units = self.std(Combination(squares, total)) / float(self.unit), self._units()
        return self._least(self._tail_of(1), chance) * weighted / units if units else 0.0

    def _tail_of(self, cells: int) -> Callable[[int], float]:
        """Width ↦ Pr[|noise of the sum of so many cells| > width]."""
        if cells == 1:
            return one_cell(self.rate, self.cells, self.phantoms).tail
        if not 1 <= cells <= self.size:
            raise UsageError(f"there are 1 to {self.size} cells to sum: received {cells}.")
        return several(self.rate, self.cells, self.phantoms, cells).tail

    def _least(self, tail: Callable[[int], float], chance: float) -> int:
        """The least width whose tail is within the chance; of what floats can hold."""
        least, most = -1, 1
        while tail(most) > chance:
            if most >= _BEYOND:
                return _BEYOND
            least, most = most, 2 * most
        while most - least > 1:
            middle = (least + most) // 2
            least, most = (least, middle) if tail(middle) <= chance else (middle, most)
        return most

    def log_probabilities(self, values: ArrayLike) -> NDArray[np.float64]:
        """Log Pr[X = k] of one cell by itself.

        >>> law = IntervalNoise(Fraction(1, 2), 3)
        >>> float(np.exp(law.log_probabilities(range(-300, 301))).sum().round(9))
        1.0
        """
        found = one_cell(self.rate, self.cells, self.phantoms)
        return found.log_probabilities(np.asarray(values).astype(np.float64))

    def tail(self, width: int) -> float:
        return one_cell(self.rate, self.cells, self.phantoms).tail(width)

    def inclusion(self, keeping: Keeping) -> arb:
        self._whole(keeping)
        return arb(1)

    def empty_cell(self, keeping: Keeping) -> EmptyCell:
        """The noise itself, as every cell is kept."""
        self._whole(keeping)
        return EmptyCell(1.0, 0.0, self._units() ** 2, 0.0)

    def _whole(self, keeping: Keeping) -> None:
        if not keeping.keeps_all:
            raise UsageError(
                "interval noise is drawn for all cells of a table together: none of them can be "
                "left out."
            )

    def draw(self, source: Source, size: int) -> NDArray[Any]:
        """The noise of all ``size`` cells; an own draw, with phantoms of its own, for each block.

        Of one draw over K+D cells, in units: (D+1)·z_i − Σ z of the phantoms.
        """
        if size != self.size:
            raise UsageError(
                f"interval noise is drawn for all {self.size} cells at once: received {size}."
            )
        drawn = [self._block(source) for _ in range(self.blocks)]
        return np.stack(drawn, axis=1).reshape(-1)

    def _block(self, source: Source) -> NDArray[Any]:
        noise = source.interval(self.rate, self.cells + self.phantoms)
        shift = sum(map(int, noise[self.cells :].tolist()))
        return exact_sum(exact_product(noise[: self.cells], self.phantoms + 1), -shift)

    def disagreement(self, price: Price, sensitivity: int, squared: int, cells: int) -> str | None:
        """What does not go with a table of this sensitivity, cost and number of cells, in words."""
        if not isinstance(price, Epsilon):
            return "has interval noise, and is paid for in rho"
        if self.rate * sensitivity != price.value:
            return "has a noise rate that is not its epsilon divided by its sensitivity"
        if self.size != cells:
            return f"has interval noise of {self.size} cells on {cells} cells"
        return None

    def to_json(self) -> dict[str, Any]:
        return {
            "law": self.words,
            "unit": show(self.unit),
            "rate": show(self.rate),
            "cells": self.cells,
            "phantoms": self.phantoms,
            "blocks": self.blocks,
        }

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> Self:
        unit, phantoms = recorded(str(facts["unit"])), facts["phantoms"]
        rate = recorded(str(facts["rate"]))
        return cls(rate, facts["cells"], phantoms, unit * (phantoms + 1), facts["blocks"])
