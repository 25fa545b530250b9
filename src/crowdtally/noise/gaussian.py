"""Exact discrete Gaussian noise: Pr[Z=k] ∝ e^(−k²/(2σ²)), any rational σ² > 0.

The integers of each side are cut into cells of 2^shift neighbours. A cell is drawn by a table of
weights, an integer in it evenly, and accepted with e^(−(k² − p²)/(2σ²)), p the least distance from
0 in the cell. A cell weighs 2^shift times its likeliest integer, so each k is proposed with a
probability ∝ e^(−p²/(2σ²)), and what is accepted has the law. Up to σ = 128 a cell is one integer:
one word, nothing is ever rejected. With cells from κ on it is the law given |Z| ≥ κ or Z ≥ κ.
``gaussian.md`` has the proof.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, count
from math import isqrt
from typing import Any

import numpy as np
from flint import arb
from numpy.typing import NDArray

from crowdtally.core.counts import Sides
from crowdtally.core.numbers import is_whole
from crowdtally.errors import UsageError
from crowdtally.laws.balls import as_ball, precision, rational
from crowdtally.noise.bernoulli import Coins, falling
from crowdtally.noise.geometric import Integers, in_blocks, table
from crowdtally.noise.source import Uniform, WordSource, uniforms_below

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
    """A cell has 2^shift integers. Any shift is right; ``of`` chooses a fast one."""

    @classmethod
    def of(cls, variance: Fraction, starts: tuple[int, ...]) -> CellLaw:
        """Cells of at most 1/64 of σ, and of σ²/start, the length over which the law falls."""
        length = variance / (isqrt(variance.__floor__()) + 1 + starts[0])
        return cls(variance, starts, max((length // _FINENESS).bit_length() - 1, 0))

    def nearest(self, cell: int) -> int:
        """The least distance from 0 in a cell."""
        turn, side = divmod(cell, len(self.starts))
        return self.starts[side] + (turn << self.shift)

    def weights(self, bits: int) -> tuple[list[arb], arb]:
        """Balls around the weights, relative to the first, that matter; and around the sum of all.

        On each side the ratio of neighbouring weights falls, so the rest is less than a geometric
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
        sides = range(len(self.starts))
        rest = sum((self._rest(len(found) + side, slope) for side in sides), arb(0))
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
        """The cell of U, extended as far as needed."""
        while (cell := self._cell(uniform, 128 + 2 * uniform.bits)) is None:
            uniform.extend(source)
        return cell

    def _cell(self, uniform: Uniform, bits: int) -> int | None:
        """The cell, if ``bits`` bits show that it is the same for every U of the interval."""
        with precision(bits):
            low, high = uniform.ends()
            for cell, boundary in enumerate(self.boundaries(bits)):
                if high <= boundary:
                    return cell
                if not low >= boundary:
                    return None
        return None


def discrete_gaussian(variance: Fraction, size: int, source: WordSource) -> Integers:
    """Returns ``size`` independent integers distributed as Pr[Z=k] ∝ e^(−k²/(2·variance)).

    The variance is σ², not the deviation σ. For counts whose L2 distance between neighbours is at
    most Δ, ρ = Δ²/(2σ²) is their zero-concentrated privacy loss.

    >>> from crowdtally.noise.source import system_words
    >>> discrete_gaussian(Fraction(1, 10**6), 3, system_words())
    array([0, 0, 0])
    """
    return _drawn(CellLaw.of(_checked(variance), (0, 1)), size, source)


def gaussian_beyond(
    variance: Fraction, least: int, sides: Sides, size: int, source: WordSource
) -> Integers:
    """Returns ``size`` independent integers of the same law given |Z| ≥ κ or, one-sided, Z ≥ κ.

    ``least`` is κ ≥ 0, and at least 1 for both sides.

    >>> from crowdtally.noise.source import system_words
    >>> gaussian_beyond(Fraction(1, 10**6), 7, "one", 3, system_words())
    array([7, 7, 7])
    """
    if not is_whole(least) or least < (1 if sides == "two" else 0):
        raise UsageError("the law beyond a cut needs a whole cut: 1 or more for both sides, or 0.")
    starts = (int(least),) if sides == "one" else (int(least), int(least))
    return _drawn(CellLaw.of(_checked(variance), starts), size, source)


def _checked(variance: object) -> Fraction:
    exact = rational(variance, "a noise variance")
    if exact <= 0:
        raise UsageError("a noise variance must be greater than 0.")
    return exact


def _drawn(law: CellLaw, size: int, source: WordSource) -> Integers:
    if not law.shift:  # each cell is one integer
        return in_blocks(size, lambda n: _integers(law, _cells(law, n, source), 0))
    return in_blocks(size, lambda n: _accepted(law, n, source))


def _cells(law: CellLaw, n: int, source: WordSource) -> NDArray[np.int64]:
    return table(law).digits(source.words(n), source)


def _accepted(law: CellLaw, n: int, source: WordSource) -> Integers:
    """Each the first accepted one of its own proposals."""
    drawn, taken = _proposed(law, n, source)
    rejected = np.flatnonzero(~taken)
    while rejected.size:
        again, taken = _proposed(law, rejected.size, source)
        if again.dtype == object and drawn.dtype != object:
            drawn = drawn.astype(object)
        drawn[rejected] = again  # those rejected again are overwritten
        rejected = rejected[~taken]
    return drawn


def _proposed(law: CellLaw, n: int, source: WordSource) -> tuple[Integers, Coins]:
    cells = _cells(law, n, source)
    offsets = _offsets(law, n, source)
    return _integers(law, cells, offsets), _coins(law, cells, offsets, source)


def _offsets(law: CellLaw, n: int, source: WordSource) -> Integers:
    """Uniform on 0 … 2^shift − 1: how much farther from 0 than the nearest of the cell."""
    if law.shift > 62:
        return uniforms_below(np.full(n, 1 << law.shift, dtype=object), source)
    return (source.words(n) & np.uint64((1 << law.shift) - 1)).view(np.int64)


def _coins(law: CellLaw, cells: NDArray[np.int64], offsets: Integers, source: WordSource) -> Coins:
    """Each True with e^(−d(2p+d)/(2σ²)): k = p + d is d farther from 0 than the nearest p.

    In floats everything is in units of a cell, so that nothing is large.
    """
    size = 1 << law.shift
    first, *others = (float(Fraction(start, size)) for start in law.starts)
    turns, sides = _turns(law, cells)
    nearest = turns + (first + (others[0] - first) * sides if others else first)
    part = np.asarray(offsets / size, dtype=np.float64)
    near = part * (2 * nearest + part) * float(size**2 / (2 * law.variance))

    def exact(place: int) -> Fraction:
        least, farther = law.nearest(int(cells[place])), int(offsets[place])
        return farther * (2 * least + farther) / (2 * law.variance)

    return falling(near, exact, source.words(cells.size), source)


def _turns(law: CellLaw, cells: NDArray[np.int64]) -> tuple[NDArray[np.int64], Any]:
    """The number of cells nearer to 0 on its side, and the side: 1 is the negative one."""
    return (cells, 0) if len(law.starts) == 1 else (cells >> 1, cells & 1)


def _integers(law: CellLaw, cells: NDArray[np.int64], offsets: Integers | int) -> Integers:
    """The integers of cells and offsets: int64 if they must fit, else Python's own."""
    turns, sides = _turns(law, cells)
    beyond = ((int(turns.max(initial=0)) + 1) << law.shift) + max(law.starts)
    if beyond > 1 << 63:
        turns = turns.astype(object)
    distances = (turns << law.shift) + offsets + law.starts[0]
    if len(law.starts) == 1:
        return np.asarray(distances)
    back = law.starts[0] - law.starts[1]
    return np.asarray(np.where(sides == 1, back - distances, distances))
