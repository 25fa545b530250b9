"""Cells of a discrete Gaussian law: which stretch of integers a number falls into, or a bit more.

The integers of each side are cut into cells of 2^shift neighbours. A cell weighs 2^shift times its
likeliest integer, so a cell drawn by these weights and an integer drawn evenly in it are a proposal
for the law: never less likely than the law, and accepted nearly always (``gaussian.md``). With
shift 0 a cell is one integer, and the proposal is the law itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, count
from math import isqrt

from flint import arb

from crowdtally.laws.balls import as_ball, precision
from crowdtally.noise.source import WordSource
from crowdtally.noise.uniform import Uniform

_FINENESS = 64
"""A cell is at most this part of the length over which the law falls: 1 in 100 is rejected."""


@dataclass(frozen=True)
class CellLaw:
    """Pr[cell i] ∝ e^(−p(i)²/(2σ²)), i ≥ 0, where p(i) is the least distance from 0 in cell i.

    Cells take turns between the sides, so the likeliest come first. The law is unbounded.
    """

    variance: Fraction
    """σ², exact."""
    starts: tuple[int, ...]
    """The least distance from 0 on each side: (0, 1) is every integer once, as −0 is not another
    one; (κ,) is one side from κ on; (κ, κ) both."""
    shift: int
    """A cell has 2^shift integers. Any number is right; ``of`` takes a fast one."""

    @classmethod
    def of(cls, variance: Fraction, starts: tuple[int, ...]) -> CellLaw:
        """Cells of at most 1/64 of σ, and of σ²/start: over so much the law falls from a start."""
        length = variance / (isqrt(variance.__floor__()) + 1 + starts[0])
        return cls(variance, starts, max((length // _FINENESS).bit_length() - 1, 0))

    def nearest(self, cell: int) -> int:
        """The least distance from 0 in a cell."""
        turn, side = divmod(cell, len(self.starts))
        return self.starts[side] + (turn << self.shift)

    def weights(self, bits: int) -> tuple[list[arb], arb]:
        """Balls around the weights over the first one, and around the sum of all.

        As far as they matter to ``bits`` bits. What follows is bounded: on each side two weights
        that follow each other are in a ratio that only falls, so the rest is less than a geometric
        series. It stays in the sum: the law is never closed.
        """
        slope = 1 / (2 * as_ball(self.variance))
        first = self.starts[0] ** 2
        found: list[arb] = []
        for cell in count():
            weight = (slope * (first - self.nearest(cell) ** 2)).exp()
            if cell % len(self.starts) == 0 and weight.upper() < arb((1, -bits)):
                break
            found.append(weight)
        rest = sum(
            (self._rest(len(found) + side, slope) for side in range(len(self.starts))), arb(0)
        )
        return found, sum(found, arb(0)) + arb(0).union(rest.upper())

    def _rest(self, cell: int, slope: arb) -> arb:
        """At least the weights of a cell and of all that follow it on its side."""
        near, size = self.nearest(cell), 1 << self.shift
        weight = (slope * (self.starts[0] ** 2 - near**2)).exp()
        return weight / -(-slope * size * (2 * near + size)).expm1()

    def boundaries(self, bits: int) -> Iterator[arb]:
        """The distribution function of the cell."""
        weights, total = self.weights(bits)
        for below in accumulate(weights):
            yield below / total

    def settle(self, uniform: Uniform, source: WordSource) -> int:
        """The cell of U, extended by as many words as that takes."""
        while (cell := self._cell(uniform, 128 + 2 * uniform.bits)) is None:
            uniform.extend(source)
        return cell

    def _cell(self, uniform: Uniform, bits: int) -> int | None:
        """The cell if it is the same for every U of the interval, as ``bits`` bits can tell."""
        with precision(bits):
            low, high = uniform.ends()
            for cell, boundary in enumerate(self.boundaries(bits)):
                if high <= boundary:
                    return cell
                if not low >= boundary:
                    return None
        return None
