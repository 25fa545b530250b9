"""The hockey-stick divergence between two releases with Gaussian noise, in certified arithmetic.

Two releases of neighbouring databases, with one sampling key, are tables of exact counts plus
independent discrete Gaussian noise; counts differ by a vector v_t in table t. With S_t = Σ v_ti·k_i
for the noise k of the first, the ratio of the two probabilities of one outcome is

    e^L,   L = Σ_t (|v_t|² − 2·S_t) / (2σ_t²),

so that Σ (P − e^ε·Q)⁺ = E[(1 − e^(ε−L))⁺]: a sum over the values of the S_t, whose laws are
products of polynomials with ball coefficients. What is left out of each law is added as if all of
it were lost, so that the result is never too small.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import product
from math import isqrt

from flint import arb, arb_poly, ctx

BITS = 128
_WIDE = 11
"""Standard deviations of one cell's noise that are looked at; beyond it is less than 1e-25."""


@dataclass(frozen=True)
class Change:
    """What one user changes in a table, and the variance of its noise, in units."""

    variance: Fraction
    by: tuple[int, ...]
    """The changes of its cells, those that are not 0."""

    @classmethod
    def of(cls, variance: Fraction, by: Iterable[int]) -> Change:
        return cls(variance, tuple(sorted(abs(int(one)) for one in by if one)))

    @property
    def squares(self) -> int:
        return sum(one**2 for one in self.by)


def divergence(changes: Sequence[Change], epsilon: Fraction) -> arb:
    """Σ (P − e^ε·Q)⁺, or a little more, as a ball."""
    held, ctx.prec = ctx.prec, BITS
    try:
        laws = [_sums(change) for change in changes]
        lost = sum((left for _, left in laws), arb(0))
        total = arb(0)
        for place in product(*(law for law, _ in laws)):
            loss = sum((one.loss for one in place), Fraction(0))
            if loss <= epsilon:
                continue
            chance = arb(1)
            for one in place:
                chance *= one.chance
            total += chance * (1 - _ball(epsilon - loss).exp())
        return total + lost
    finally:
        ctx.prec = held


@dataclass(frozen=True)
class _Value:
    """One value of S_t."""

    loss: Fraction
    chance: arb


@cache
def _sums(change: Change) -> tuple[tuple[_Value, ...], arb]:
    """The values of S_t with their probabilities, and what is left out."""
    reach = _WIDE * (isqrt(int(change.variance)) + 2)
    weights, left = _weights(change.variance, reach)
    law, lowest = arb_poly([1]), 0
    for by in change.by:
        spread = [arb(0)] * (2 * reach * by + 1)
        spread[::by] = weights
        law, lowest = law * arb_poly(spread), lowest - reach * by
    values = tuple(
        _Value((change.squares - 2 * Fraction(lowest + place)) / (2 * change.variance), chance)
        for place, chance in enumerate(law.coeffs())
    )
    return values, left * len(change.by)


@cache
def _weights(variance: Fraction, reach: int) -> tuple[list[arb], arb]:
    """Pr[k] for |k| ≤ reach, from its definition, and the rest: less than a geometric series."""
    rate = 1 / (2 * variance)
    raw = [_ball(-rate * k * k).exp() for k in range(reach + 2)]
    rest = 2 * raw[reach + 1] / (1 - _ball(-rate * (2 * reach + 3)).exp())
    inside = raw[0] + 2 * sum(raw[1 : reach + 1], arb(0))
    total = inside.union(inside + rest)
    return [raw[abs(k)] / total for k in range(-reach, reach + 1)], rest / inside


def _ball(value: Fraction) -> arb:
    return arb(value.numerator) / value.denominator
