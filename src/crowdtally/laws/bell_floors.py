"""The noise floor of discrete Gaussian noise: how large the largest of many pure noises gets.

The arguments are in ``floors.md`` and ``gaussian.md``.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import exp, floor, inf, isfinite, nextafter, sqrt

from flint import arb

from crowdtally.core.counts import Keeping
from crowdtally.laws.balls import as_ball, precision
from crowdtally.laws.bells import WIDE, first_within, moment
from crowdtally.laws.floors import chance_of_each, felt, rule
from crowdtally.laws.lattice import bell_sum, bell_total
from crowdtally.laws.tails import kept
from crowdtally.laws.terms import Terms

_BITS = 128
_SEARCH = 24
"""Steps of the search for the best exponent; any exponent is right, a poor one is wasteful."""
_RANGE = 1.5
"""How far, as a logarithm, the best exponent is from that of a normal law, at most; and from what
makes a cell that passes a high cut likely."""
_PATIENCE = 1 << 13


@lru_cache(maxsize=256)
def bell_floor(
    variance: Fraction, lines: int, terms: Terms, share: Fraction, *, independent: bool
) -> float:
    """A t that the largest of so many lines exceeds with a probability of at most ``share``."""

    def chance() -> arb:
        return chance_of_each(lines, share, independent=independent)

    cells = _plain(terms)
    if terms.is_one_cell or (cells and variance >= WIDE):
        return first_within((cells or 1) * variance, chance, 1) - 1
    bits = _BITS
    while True:
        with precision(bits):
            bound = _chernoff(variance, terms, chance())
        if isfinite(bound) or bits > _PATIENCE:
            return _whole(bound, terms.step)
        bits *= 2  # what is sampled is the small difference of two sums


def _whole(bound: float, step: Fraction) -> float:
    """The sum is a whole number of steps: the last one that is no larger than the bound."""
    steps = step * floor(Fraction(bound) / step)
    return steps.numerator if steps.denominator == 1 else float(steps)


def _plain(terms: Terms) -> int:
    """How many cells are added up, where all of them are seen and have weight 1; else 0."""
    if not terms.keeping.keeps_all or any(weight != 1 for weight, _ in terms.weights):
        return 0
    return sum(times for _, times in terms.weights)


def _chernoff(variance: Fraction, terms: Terms, wanted: arb) -> float:
    """The least bound over a stretch of exponents, by golden sections, rounded up."""
    squares = sum(weight**2 * times for weight, times in felt(terms))
    if not squares or _seldom(variance, terms) <= wanted:
        return 0.0
    middle = (-2 * wanted.log() / (as_ball(variance) * as_ball(Fraction(squares)))).sqrt()

    def width(place: float) -> float:
        return float(_width(variance, terms, wanted, middle * arb(exp(place))).upper())

    high = float((as_ball(Fraction(terms.keeping.least)) / as_ball(variance) / middle + 1).log())
    low, high, golden = -_RANGE, high + _RANGE, (sqrt(5) - 1) / 2
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
    return nextafter(max(min(at_left, at_right), 0.0), inf)


def _seldom(variance: Fraction, terms: Terms) -> arb:
    """At least the chance that any cell is seen: where that is small enough the floor is 0."""
    cells = sum(times for _, times in terms.weights)
    return cells * kept(lambda *of: moment(variance, *of), rule(terms))


def _width(variance: Fraction, terms: Terms, wanted: arb, exponent: arb) -> arb:
    """Pr[S ≥ t] ≤ E[e^(sS)]·e^(−st) for every s > 0, solved for t."""
    total = -wanted.log()
    for weight, times in felt(terms):
        total += times * (1 + seen_bell(variance, arb(weight) * exponent, rule(terms))).log()
    return total / exponent


def seen_bell(variance: Fraction, power: arb, keeping: Keeping) -> arb:
    """E[e^(power·Y)] − 1 for what is seen of an empty cell: Y is its noise, or 0 if dropped."""
    sides = (power, -power) if keeping.sides == "two" else (power,)
    total = sum((_side(variance, one, keeping) for one in sides), arb(0))
    return total / bell_total(variance)


def _side(variance: Fraction, power: arb, keeping: Keeping) -> arb:
    """Σ over the kept k ≥ 1 of (e^(power·k) − 1)·Pr[k is kept]·e^(−k²/(2σ²))."""
    first, last = max(keeping.least, 1), keeping.doubtful_to
    total = _grown(variance, power, 0, max(last + 1, first))
    if keeping.samples and keeping.threshold is not None:
        partly = _grown(variance, power, 1, first) - _grown(variance, power, 1, last + 1)
        total += partly / as_ball(keeping.threshold)
    return total


def _grown(variance: Fraction, power: arb, by: int, low: int) -> arb:
    """Σ_{k ≥ low} k^by·(e^(power·k) − 1)·e^(−k²/(2σ²)).

    e^(uk − k²/(2σ²)) = e^(u²σ²/2)·e^(−(k − uσ²)²/(2σ²)): the same bell, moved by uσ².
    """
    moved = power * as_ball(variance)
    shifted = bell_sum(variance, low - moved)
    if by:
        shifted = bell_sum(variance, low - moved, 1) + moved * shifted
    return (power * moved / 2).exp() * shifted - bell_sum(variance, low, by)
