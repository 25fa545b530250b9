"""What becomes of an empty cell, from the moments of one side of its noise's law.

For the discrete Laplace law they are in closed form here: with α = e^(−x), x = 1/scale, a noisy
empty cell is X with Pr[X=k] = (1−α)/(1+α)·α^|k|. Everything is built from Σ_{ν≥a} ν^j·α^ν, whose
terms are all positive; where two of them are subtracted, ball arithmetic says what that costs.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

from flint import arb

from crowdtally.core.counts import Keeping
from crowdtally.laws.balls import as_ball, precision
from crowdtally.laws.law import EmptyCell

_ENOUGH = 60
_KEPT = 256
"""Empty cells whose moments are remembered: each question to a table asks for the same ones."""


def tail(x: arb, start: int, power: int) -> arb:
    """Σ_{ν≥start} ν^power·e^(−xν) for power 0, 1 or 2, at the precision in force.

    >>> with precision(64):
    ...     float(tail(as_ball(1), 3, 0)).__round__(6)
    0.078762
    """
    alpha, gap = (-x).exp(), -(-x).expm1()
    zeroth, first = 1 / gap, alpha / gap**2
    second = first * (1 + alpha) / gap
    sums = (
        zeroth,
        start * zeroth + first,
        start**2 * zeroth + 2 * start * first + second,
    )
    return (-x * start).exp() * sums[power]


def moment(x: arb, power: int, low: int, high: int | None = None) -> arb:
    """E[X^power; low ≤ X ≤ high] for low ≥ 0, or from ``low`` on: one side of the law."""
    total = tail(x, low, power)
    if high is not None:
        total = total - tail(x, max(high + 1, low), power)
    return (x / 2).tanh() * total


Moment = Callable[[int, int, int | None], arb]
"""From a power, low ≥ 0 and high or None to a ball around E[X^power; low ≤ X ≤ high]."""


def _sided(keeping: Keeping) -> int:
    return 2 if keeping.sides == "two" else 1


def inclusion(x: arb, keeping: Keeping) -> arb:
    """The probability that an empty cell with Laplace noise is kept."""
    return kept(lambda power, low, high: moment(x, power, low, high), keeping)


def kept(side: Moment, keeping: Keeping) -> arb:
    """The probability that an empty cell is kept, for noise of any law that has two equal sides.

    The sum over the kept weights w ≥ 1 of min(w/τ, 1)·Pr[X=w], twice if both signs are kept. A cut
    of 0 also keeps X = 0, once: with both signs that is every cell, and the sum is 1.
    """
    if keeping.keeps_all:
        return arb(1)
    sure = side(0, max(keeping.doubtful_to + 1, keeping.least), None)
    if keeping.samples and keeping.threshold is not None:
        partly = side(1, keeping.least, keeping.doubtful_to)
        sure = sure + partly / as_ball(keeping.threshold)
    return _sided(keeping) * sure


@lru_cache(_KEPT)
def empty_cell(scale: Fraction, keeping: Keeping) -> EmptyCell:
    """What a reader sees of an empty cell with Laplace noise.

    >>> round(empty_cell(Fraction(10), Keeping()).variance ** 0.5, 4)
    14.1362
    """
    return seen_of(lambda power, low, high: moment(1 / as_ball(scale), power, low, high), keeping)


def seen_of(side: Moment, keeping: Keeping) -> EmptyCell:
    """The moments as floats; the reader's value has mean E[v] and square E[w·max(w, τ)]."""
    sides = _sided(keeping)
    first, last = keeping.least, keeping.doubtful_to
    mean = 0.0 if sides == 2 else _float(lambda: side(1, first, None))
    square = _float(lambda: sides * side(2, first, None))
    sampling = 0.0
    if keeping.samples and keeping.threshold is not None:
        tau = keeping.threshold
        sampling = _float(
            lambda: sides * (as_ball(tau) * side(1, first, last) - side(2, first, last))
        )
    probability = _float(lambda: kept(side, keeping))
    return EmptyCell(probability, mean, square + sampling - mean**2, sampling)


def _float(function: Callable[[], arb]) -> float:
    """The float next to a number, of whatever precision the cancellation inside it needs."""
    bits = 128
    while True:
        with precision(bits):
            ball = function()
            if ball.rel_accuracy_bits() >= _ENOUGH or bits > 1 << 14:
                return float(ball)
        bits *= 2
