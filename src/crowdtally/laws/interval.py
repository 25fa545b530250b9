"""Interval noise: Pr[z] ∝ e^(−rate·(max z⁺ + max z⁻)) over the K cells of a table together.

The rate is an exact rational. What is shown of the law (deviations, intervals, probabilities) is in
floats. The proofs are in ``interval.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt, sqrt
from statistics import NormalDist
from typing import Any, ClassVar, Self

import numpy as np
from flint import arb
from numpy.typing import ArrayLike, NDArray

from crowdtally.core.counts import Keeping
from crowdtally.core.numbers import exact_product, exact_sum, is_whole, recorded, show
from crowdtally.core.privacy import Epsilon, Price
from crowdtally.errors import UsageError
from crowdtally.laws.law import ONE_CELL, Combination, EmptyCell, Source
from crowdtally.laws.shapes import one_cell, several
from crowdtally.laws.terms import FLOOR_SHARE, ONE_LINE, Terms
from crowdtally.laws.widths import mean_square

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
        if not isinstance(self.rate, Fraction | int) or isinstance(self.rate, bool):
            raise UsageError(
                f"the rate of interval noise must be an exact Fraction: received {type(self.rate)}."
            )
        if self.rate <= 0:
            raise UsageError("the rate of interval noise must be greater than 0.")
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
        object.__setattr__(self, "rate", Fraction(self.rate))

    @property
    def unit(self) -> Fraction:
        """What one unit of the noise means as a count: a mean over D+1 has that denominator."""
        return self.counted / (self.phantoms + 1)

    @property
    def size(self) -> int:
        """How many cells all draws have."""
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
        """Pr[|X| > width] for one cell."""
        return one_cell(self.rate, self.cells, self.phantoms).tail(width)

    def inclusion(self, keeping: Keeping) -> arb:
        """1: every cell is kept."""
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
        """Its words, unit, rate and numbers of cells, exact."""
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
        """The law of a table's ``noise``."""
        unit, phantoms = recorded(str(facts["unit"])), facts["phantoms"]
        rate = recorded(str(facts["rate"]))
        return cls(rate, facts["cells"], phantoms, unit * (phantoms + 1), facts["blocks"])
