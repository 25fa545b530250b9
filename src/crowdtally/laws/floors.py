"""How large the largest of many pure noises gets: the noise floor of a list.

From public numbers alone: the scale, how many lines a list has, and what is summed for each line.
The arguments are in ``floors.md``.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from math import exp, floor, inf, nextafter

from flint import arb

from crowdtally.core.counts import Keeping
from crowdtally.laws.balls import as_ball, certified_ceiling, precision
from crowdtally.laws.seen import seen
from crowdtally.laws.stepwise import Steps, least_passing
from crowdtally.laws.terms import Terms

_BITS = 128
_SEARCH = 80
"""Steps of the search for the best exponent; any exponent is right, a poor one is wasteful."""
_STEEPEST = Fraction(10) ** 300
"""The largest rate that is a float with room above it."""
_LOW, _HIGH = -60.0, 30.0
"""Where it lies, as log(s/(end − s))."""


def chance_of_each(lines: int, share: Fraction, *, independent: bool) -> arb:
    """How likely each of so many lines may pass, for any of them to do so with ``share``.

    1 − (1−share)^(1/lines) where lines are independent, else share/lines: whatever the dependence.
    """
    if not independent:
        return as_ball(share) / lines
    return -((-as_ball(share)).log1p() / lines).expm1()


@lru_cache(maxsize=256)
def noise_floor(
    scale: Fraction, lines: int, terms: Terms, share: Fraction, *, independent: bool
) -> Fraction:
    """A t that the largest of so many lines exceeds with a probability of at most ``share``."""
    return least_width(scale, terms, lambda: chance_of_each(lines, share, independent=independent))


def least_width(scale: Fraction, terms: Terms, chance: Callable[[], arb]) -> Fraction:
    """A t ≥ 0 with Pr[S > t] ≤ chance for the sum S of the terms: the least, or a little more.

    Where other cells decide what is kept, S is the largest that it can be.
    """
    if terms.is_one_cell:  # whatever is kept: what is not seen is no larger
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
    """The s of about the least width, by golden sections of log(s/(end − s))."""
    end = float(min(1 / scale, _STEEPEST)) / max(abs(weight) for weight, _ in terms.weights)

    def at(place: float) -> float:
        return end / (1 + exp(-place))

    def width(place: float) -> float:
        return float(_width(scale, terms, wanted, arb(at(place))))

    low, high, golden = _LOW, _HIGH, (5**0.5 - 1) / 2
    left, right = high - golden * (high - low), low + golden * (high - low)
    at_left, at_right = width(left), width(right)
    for _ in range(_SEARCH):
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - golden * (high - low)
            at_left = width(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + golden * (high - low)
            at_right = width(right)
    return at((low + high) / 2)


def _width(scale: Fraction, terms: Terms, wanted: arb, exponent: arb) -> arb:
    """Chernoff's bound: Pr[S ≥ t] ≤ E[e^(sS)]·e^(−st) for every s > 0, solved for t."""
    rate, total = 1 / as_ball(scale), -wanted.log()
    for weight, times in felt(terms):
        generating = 1 + seen(rate, arb(weight) * exponent, rule(terms))
        total += times * generating.log()
    return total / exponent


def rule(terms: Terms) -> Keeping:
    """What is seen of a cell: where other cells decide, whatever is above 0 and passes the cut."""
    return terms.keeping if terms.by_itself else Keeping(terms.keeping.cut, None, "one")


def felt(terms: Terms) -> list[tuple[float, int]]:
    """The weights; without their signs where what is kept may be the worst of both."""
    if terms.by_itself:
        return list(terms.weights)
    return [(abs(weight), times) for weight, times in terms.weights]
