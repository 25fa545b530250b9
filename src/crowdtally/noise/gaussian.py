"""Exact discrete Gaussian noise: Pr[Z=k] ∝ e^(−k²/(2σ²)), any rational σ² > 0.

A cell of neighbouring integers by its table (``gaussian_cells.py``), an integer in it evenly,
accepted with e^(−(k² − p²)/(2σ²)), p the least distance from 0 in the cell. Each k is proposed with
a probability ∝ e^(−p²/(2σ²)), so what is accepted has the law. Up to σ = 128 a cell is one integer:
one word, nothing is ever rejected. The same with cells from κ on draws the law given |Z| ≥ κ or
Z ≥ κ. The proof is in gaussian.md.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdtally.core.counts import Sides
from crowdtally.core.numbers import is_whole
from crowdtally.errors import UsageError
from crowdtally.laws.balls import rational
from crowdtally.noise.bernoulli import Coins
from crowdtally.noise.digits import table
from crowdtally.noise.falling import falling
from crowdtally.noise.gaussian_cells import CellLaw
from crowdtally.noise.geometric import Integers, in_blocks
from crowdtally.noise.source import WordSource
from crowdtally.noise.uniform import uniforms_below


def discrete_gaussian(variance: Fraction, size: int, source: WordSource) -> Integers:
    """Returns ``size`` independent integers distributed as Pr[Z=k] ∝ e^(−k²/(2·variance)).

    Args:
        variance: σ² > 0, exact: not the deviation σ. For counts whose L2 distance between
            neighbours is at most Δ, ρ = Δ²/(2σ²) is their zero-concentrated privacy loss.
        size: how many to draw.
        source: where the words come from.

    >>> from crowdtally.noise.source import system_words
    >>> discrete_gaussian(Fraction(1, 10**6), 3, system_words())
    array([0, 0, 0])
    """
    return _drawn(CellLaw.of(_checked(variance), (0, 1)), size, source)


def gaussian_beyond(
    variance: Fraction, least: int, sides: Sides, size: int, source: WordSource
) -> Integers:
    """Returns ``size`` independent integers of the same law given |Z| ≥ least, or Z ≥ least.

    Args:
        variance: σ² > 0, exact.
        least: κ ≥ 0, and at least 1 for both sides.
        sides: ``two`` for |Z| ≥ κ, ``one`` for Z ≥ κ.
        size: how many to draw.
        source: where the words come from.

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
    found, taken = _proposed(law, n, source)
    rejected = np.flatnonzero(~taken)
    while rejected.size:
        again, taken = _proposed(law, rejected.size, source)
        if again.dtype == object and found.dtype != object:
            found = found.astype(object)
        found[rejected] = again  # what is rejected again is overwritten
        rejected = rejected[~taken]
    return found


def _proposed(law: CellLaw, n: int, source: WordSource) -> tuple[Integers, Coins]:
    """Proposals, and which of them are accepted."""
    cells = _cells(law, n, source)
    offsets = _offsets(law, n, source)
    return _integers(law, cells, offsets), _coins(law, cells, offsets, source)


def _offsets(law: CellLaw, n: int, source: WordSource) -> Integers:
    """Even on 0 … 2^shift − 1: how much farther from 0 than the nearest of the cell."""
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
    """How many cells of its own side are nearer to 0, and which side: 1 is the negative one."""
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
