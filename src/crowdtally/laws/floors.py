"""Noise floors, and what a reader sees of an empty cell; ``floors.md`` has the arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from math import ceil, exp, floor, inf, log, log1p, nextafter, pi, sqrt
from typing import Any

import numpy as np
from flint import arb
from numpy.typing import NDArray

from crowdtally.core.counts import Keeping
from crowdtally.laws.balls import as_ball, certified_ceiling, precision
from crowdtally.laws.base import EmptyCell, Terms

# An empty cell, from the moments of one side of its noise's law. For the discrete Laplace law they
# are in closed form: with α = e^(−x), x = 1/scale, a noisy empty cell is X with Pr[X=k] =
# (1−α)/(1+α)·α^|k|. All is built from Σ_{ν≥a} ν^j·α^ν, whose terms are positive; where two sums are
# subtracted, balls show how many bits that costs.

_ENOUGH = 60
_KEPT = 256  # empty cells whose moments are cached: each question to a table asks for the same ones


def tail(x: arb, start: int, power: int) -> arb:
    """Σ_{ν≥start} ν^power·e^(−xν) for power 0, 1 or 2, at the precision in force.

    >>> with precision(64):
    ...     float(tail(as_ball(1), 3, 0)).__round__(6)
    0.078762
    """
    alpha, gap = (-x).exp(), -(-x).expm1()
    zeroth, first = 1 / gap, alpha / gap**2
    second = first * (1 + alpha) / gap
    sums = (zeroth, start * zeroth + first, start**2 * zeroth + 2 * start * first + second)
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
    return kept(partial(moment, x), keeping)


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
    """The moments of an empty cell with Laplace noise.

    >>> round(empty_cell(Fraction(10), Keeping()).variance ** 0.5, 4)
    14.1362
    """
    return seen_of(lambda *given: moment(1 / as_ball(scale), *given), keeping)


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
    """The float next to a number, computed as precisely as its cancellation needs."""
    bits = 128
    while True:
        with precision(bits):
            ball = function()
            if ball.rel_accuracy_bits() >= _ENOUGH or bits > 1 << 14:
                return float(ball)
        bits *= 2


# The moments E[e^(uY)] of an empty cell, from which a tail follows: once in certified balls, for
# bounds, and once in floats, for arrays of complex powers.

Grown = Callable[[Any, int, int], Any]
Number = Callable[[Fraction], Any]


def seen(rate: arb, power: arb, keeping: Keeping) -> arb:
    """E[e^(power·Y)] − 1, |power| < rate, for an empty cell: Y is its noise, or 0 if dropped."""
    return on_sides(partial(_grown, rate), power, keeping)


def on_sides(grown: Grown, power: Any, keeping: Keeping, number: Number = as_ball) -> Any:
    """Σ over the kept noises k of (e^(power·k) − 1)·Pr[k is kept]·w(k), w alike on both sides.

    ``grown`` gives Σ_{k ≥ low} k^by·(e^(power·k) − 1)·w(k) from the power, ``by`` and ``low``, and
    ``number`` makes a ball or a float of the threshold.
    """
    first, last = max(keeping.least, 1), keeping.doubtful_to

    def side(one: Any) -> Any:
        total = grown(one, 0, max(last + 1, first))
        if keeping.samples and keeping.threshold is not None:
            partly = grown(one, 1, first) - grown(one, 1, last + 1)
            total = total + partly / number(keeping.threshold)
        return total

    sides = (power, -power) if keeping.sides == "two" else (power,)
    return sum(map(side, sides))


def _grown(rate: arb, power: arb, by: int, low: int) -> arb:
    """Σ_{k ≥ low} k^by·(e^(power·k) − 1)·Pr[X = k]."""
    return (rate / 2).tanh() * (tail(rate - power, low, by) - tail(rate, low, by))


def seen_floats(rate: float, power: Any, keeping: Keeping) -> Any:
    """The same in floats, for an array of real or complex powers."""
    if keeping.keeps_all:
        # (cosh(power) − 1)·c, c = 2α/(1−α)²: nothing is subtracted that is nearly equal.
        part = (np.sinh(power / 2) / np.sinh(rate / 2)) ** 2
        return part / (1 - part)
    return on_sides(partial(_grown_floats, rate), power, keeping, float)


def _grown_floats(rate: float, power: Any, by: int, low: int) -> Any:
    peak = np.tanh(rate / 2)
    return peak * (_tail_floats(rate - power, low, by) - _tail_floats(rate, low, by))


def _tail_floats(x: Any, start: int, power: int) -> Any:
    gap = -np.expm1(-x)
    total = 1 / gap if power == 0 else start / gap + np.exp(-x) / gap**2
    return np.exp(-x * start) * total


# The tail of a sum of noises that is a whole number of steps, by Fourier inversion. It is for
# display only, so floats are fine. The law is first tilted by e^(sk), which brings its tail to the
# middle: so a tail of 10^-30 has as many right digits as one of 1/2. The error of summing over
# finitely many frequencies is never negative, so a tail is never too small, but for rounding, which
# ``_DOUBT`` covers.

Floats = NDArray[np.float64]

_DOUBT = 1e-7  # a bound of rounding, relative to a tail
_NEGLIGIBLE = 1e-15
_STEEPEST = 700.0  # a rate beyond which e^rate is no float: the noise is 0, and any bound is 0 too
_MOST_SEEN = 10**7
"""Cells whose logarithms, with errors of about 10^-16, may be added up where some are dropped."""
_FEW, _MANY = 1 << 16, 1 << 18
"""Frequencies that are summed: enough where the rest is negligible, and the most."""


@dataclass(frozen=True, eq=False)
class Steps:
    """A sum S of noises in steps: S = Σ weight·Y, of whole weights."""

    exponent: float
    """s, by which the law is tilted."""
    log_moment: float
    """log E[e^(sS)]."""
    period: int
    """N: tails N steps apart are added up."""
    angles: Floats
    """2πl/N"""
    values: NDArray[Any]
    """E[e^((s+iω)S)] / E[e^(sS)] / (1 − e^(−s−iω)) at each, counted twice but for 0: N is odd."""

    @classmethod
    def of(
        cls, scale: Fraction, weights: Sequence[tuple[int, int]], keeping: Keeping, exponent: float
    ) -> Steps | None:
        """None where it would take too many frequencies, or more digits than floats have."""
        rate = float(1 / scale)
        cells = sum(times for _, times in weights)
        if rate > _STEEPEST or (cells > _MOST_SEEN and not keeping.keeps_all):
            return None
        log_moment = partial(_log_moment, rate, weights, keeping)
        middle = float(log_moment(exponent))
        period = _period(exponent, [float(log_moment(exponent * f)) for f in (0.999, 1, 1.001)])
        # Of plain sums the moments fall with the frequency, so that the rest is smaller.
        plain = keeping.keeps_all and all(weight == 1 for weight, _ in weights)
        most = _frequencies(period // 2, plain)
        angles = 2 * pi * np.arange(most + 1) / period
        tilted = exponent + 1j * angles
        values = np.exp(log_moment(tilted) - middle)
        if most < period // 2 and abs(values[-1]) > _NEGLIGIBLE:
            return None
        values[1:] *= 2
        return cls(exponent, middle, period, angles, values / -np.expm1(-tilted))

    def log_tail(self, width: int) -> float:
        """An upper bound of log Pr[S > width], nearly that."""
        # Without whole turns: sines of large numbers have few right digits.
        turns = np.exp(-1j * self.angles * float((width + 1) % self.period))
        mean = float((self.values * turns).real.sum()) / self.period
        if mean <= 0:
            return self.log_moment - self.exponent * (width + 1)
        return self.log_moment - self.exponent * (width + 1) + log(mean) + log1p(_DOUBT)


def _frequencies(half: int, plain: bool) -> int:
    """How many frequencies to sum; none where those left out would not be negligible."""
    if half <= _MANY:
        return half
    return _FEW if plain else 0


def _log_moment(
    rate: float, weights: Sequence[tuple[int, int]], keeping: Keeping, power: Any
) -> Any:
    return sum(
        times * np.log1p(seen_floats(rate, weight * power, keeping)) for weight, times in weights
    )


def _period(exponent: float, near: Sequence[float]) -> int:
    """N: so many steps that the next tail is e^-40 of this one, or 16 deviations of the tilted law.

    ``near`` has log E[e^(sS)] at 0.999, 1 and 1.001 times the exponent: its curvature there is the
    variance.
    """
    spread = sqrt(max(near[0] - 2 * near[1] + near[2], 0.0)) / (exponent * 0.001)
    return ceil(max(40 / exponent, 16 * spread)) | 1


def least_passing(steps: Steps, log_chance: float, high: int) -> int:
    """The least width whose tail is within the chance; that of ``high`` is known to be.

    Beyond 2^30 only to within 2^-30 of it, as precisely as floats allow.
    """
    low, guess, fall = -1, high - 1, steps.exponent
    seen: tuple[int, float] | None = None
    while high - low > 1 + (high >> 30):
        excess = steps.log_tail(guess) - log_chance
        high, low = (guess, low) if excess <= 0 else (high, guess)
        if seen is not None:  # the tail's logarithm falls by this much a step
            fall = max((seen[1] - excess) / (guess - seen[0]), steps.exponent / 100)
        seen = guess, excess
        guess = min(max(guess + ceil(excess / fall), low + 1), high - 1)
    return high


# The noise floor of a list, from public numbers alone: the scale, the number of lines, and the
# terms of each line.

_BITS = 128
_SEARCH = 80
"""Steps of the search for the best exponent; any exponent is right, a poor one is wasteful."""
_STEEPEST_RATE = Fraction(10) ** 300  # the largest rate that is a float with room above it
_LOW, _HIGH = -60.0, 30.0  # the range of the exponent s, as log(s/(end − s))


def chance_of_each(lines: int, share: Fraction, *, independent: bool) -> arb:
    """The chance with which each line may pass, if any of them shall do so with ``share``.

    1 − (1−share)^(1/lines) where lines are independent; share/lines is right for any dependence.
    """
    if not independent:
        return as_ball(share) / lines
    return -((-as_ball(share)).log1p() / lines).expm1()


@lru_cache(maxsize=256)
def noise_floor(
    scale: Fraction, lines: int, terms: Terms, share: Fraction, *, independent: bool
) -> Fraction:
    return least_width(scale, terms, lambda: chance_of_each(lines, share, independent=independent))


def least_width(scale: Fraction, terms: Terms, chance: Callable[[], arb]) -> Fraction:
    """A t ≥ 0 with Pr[S > t] ≤ chance for the sum S of the terms: the least, or a little more.

    Where other cells decide what is kept, S is the largest possible sum.
    """
    if terms.is_one_cell:  # whatever is kept: a cell that is not seen counts 0
        return Fraction(_one_cell(scale, chance))
    with precision(_BITS):
        wanted = chance()
        exponent = _exponent(scale, terms, wanted)
        most = _width(scale, terms, wanted, arb(exponent)).upper()
        bound, log_chance = Fraction(nextafter(float(most), inf)), float(wanted.log())
    step = terms.step
    weights = [(int(Fraction(weight) / step), times) for weight, times in felt(terms)]
    steps = Steps.of(scale, weights, rule(terms), exponent * float(step))
    high = max(floor(bound / step), 0)
    return step * (high if steps is None else least_passing(steps, log_chance, high))


def _one_cell(scale: Fraction, chance: Callable[[], arb]) -> int:
    """The least t ≥ 0 with Pr[X > t] ≤ chance for the noise X of one cell.

    Pr[X > t] = α^(t+1)/(1+α), so the condition is t+1 ≥ b·log(1/(chance·(1+α))), which is never an
    integer: α is transcendental and the chance algebraic.
    """

    def steps() -> arb:
        b = as_ball(scale)
        return -b * (chance() * (1 + (-1 / b).exp())).log()

    return max(certified_ceiling(steps) - 1, 0)


def _exponent(scale: Fraction, terms: Terms, wanted: arb) -> float:
    """About the best s, by golden sections of log(s/(end − s))."""
    end = float(min(1 / scale, _STEEPEST_RATE)) / max(abs(weight) for weight, _ in terms.weights)

    def at(place: float) -> float:
        return end / (1 + exp(-place))

    def width(place: float) -> float:
        return float(_width(scale, terms, wanted, arb(at(place))))

    low, high, _ = narrowed(width, _LOW, _HIGH, _SEARCH)
    return at((low + high) / 2)


def narrowed(
    width: Callable[[float], float], low: float, high: float, steps: int
) -> tuple[float, float, float]:
    """Golden sections: the ends around the place of the least width, and the least width found."""
    golden = (sqrt(5) - 1) / 2
    left, right = high - golden * (high - low), low + golden * (high - low)
    at_left, at_right = width(left), width(right)
    for _ in range(steps):
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - golden * (high - low)
            at_left = width(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + golden * (high - low)
            at_right = width(right)
    return low, high, min(at_left, at_right)


def _width(scale: Fraction, terms: Terms, wanted: arb, exponent: arb) -> arb:
    """Chernoff's bound: Pr[S ≥ t] ≤ E[e^(sS)]·e^(−st) for every s > 0, solved for t."""
    rate, total = 1 / as_ball(scale), -wanted.log()
    for weight, times in felt(terms):
        generating = 1 + seen(rate, arb(weight) * exponent, rule(terms))
        total += times * generating.log()
    return total / exponent


def rule(terms: Terms) -> Keeping:
    """Which cells are seen; where other cells decide, any that is above 0 and passes the cut."""
    return terms.keeping if terms.by_itself else Keeping(terms.keeping.cut, None, "one")


def felt(terms: Terms) -> list[tuple[float, int]]:
    """The weights; without signs where other cells decide, as the worst may be kept."""
    if terms.by_itself:
        return list(terms.weights)
    return [(abs(weight), times) for weight, times in terms.weights]
