"""Certified sums of a bell over whole steps: Σ_{j≥0} x^power·e^(−x²/(2v)), x = start + j.

Term by term where the bell is narrow, and by Euler and Maclaurin's formula with its remainder where
it is wide: as many bits as the precision in force, at a cost that does not grow with the width. The
proofs are in ``gaussian.md``.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import count
from math import factorial, isqrt

from flint import arb, ctx, fmpz

from crowdtally.laws.balls import as_ball, precision

_NARROW = 8
"""A bell that falls over less than so many steps, or √bits/2, is summed term by term."""
_GUARD = 64
"""Bits for what cancels."""
_MOST_TERMS = 4000


def bell_sum(variance: Fraction, start: arb | int, power: int = 0) -> arb:
    """The sum above for power 0, 1 or 2, as a ball at the precision in force.

    ``start`` may be any real number.

    >>> with precision(64):
    ...     float(bell_sum(Fraction(1), 0)).__round__(6)
    1.753314
    """
    bits = ctx.prec
    with precision(bits + _GUARD):
        start, width = arb(start), as_ball(variance).sqrt()
        ahead = start if start > 0 else arb(0)
        if as_ball(variance) / (width + ahead) < max(_NARROW, isqrt(bits) // 2):
            return _term_by_term(as_ball(variance), start, power, bits)
        return _in_derivatives(as_ball(variance), start, power, bits)


def bell_total(variance: Fraction) -> arb:
    """Σ e^(−k²/(2v)) over all integers k."""
    return 2 * bell_sum(variance, 0) - 1


def _term_by_term(variance: arb, start: arb, power: int, bits: int) -> arb:
    """All terms that matter, and a bound of the others, which fall faster than a geometric series.

    From x on, e^(−x²/(2v)) falls by e^(−(2x+1)/(2v)) a step or more, and x^power grows by at most
    (1+1/x)^power. Where the product q of both is below 1, what follows is at most term/(1−q).
    """
    # Over the largest weight: others compare with it however small it is.
    before = max(int((arb(1) / 2 - start).mid().floor().unique_fmpz()), 0)
    base = start + before
    total, peak = arb(0), arb(0)
    for step in count(-before):
        x = base + step
        term = x**power * (-step * (2 * base + step) / (2 * variance)).exp()
        if x > 1:
            ratio = (-(2 * x + 1) / (2 * variance)).exp() * (1 + 1 / x) ** power
            rest = term / (1 - ratio) if ratio < 1 else None
            if rest is not None and rest.upper() <= arb((1, -bits)) * peak:
                total += arb(0).union(rest.upper())
                break
        total += term
        peak = peak.max(abs(term)) if power else total
    return total * (-base * base / (2 * variance)).exp()


def _in_derivatives(variance: arb, start: arb, power: int, bits: int) -> arb:
    """By x·f = −v·f′ and x²·f = v²·f″ + v·f, f the bell."""
    if power == 0:
        return _derivative_sum(variance, start, 0, bits)
    if power == 1:
        return -variance * _derivative_sum(variance, start, 1, bits)
    second, plain = (_derivative_sum(variance, start, order, bits) for order in (2, 0))
    return variance**2 * second + variance * plain


def _derivative_sum(variance: arb, start: arb, order: int, bits: int) -> arb:
    """Σ_{j≥0} g(start + j) for g = f^(order): ∫g + g(a)/2 − Σ_i B_2i/(2i)!·g^(2i−1)(a) + rest."""
    bell = _Derivatives(variance, start)
    sqrt = variance.sqrt()
    if order:
        total = -bell.at(order - 1)
    else:
        total = sqrt * (arb.pi() / 2).sqrt() * (start / (2 * variance).sqrt()).erfc()
    total += bell.at(order) / 2
    rest = best = None
    for i in range(1, _MOST_TERMS):
        share = arb.bernoulli(2 * i) / fmpz(factorial(2 * i))
        total -= share * bell.at(2 * i - 1 + order)
        rest = abs(share) * bell.beyond(2 * i + order)
        if best is None or rest.upper() < best[1].upper():
            best = total, rest
        if rest.upper() <= abs(total).lower() * arb((1, -bits)) or i > 2 * bits:
            break
    assert best is not None
    total, rest = best
    return total + arb(0, rest.upper())


class _Derivatives:
    """f^(n)(a) = (−1)^n·v^(−n/2)·He_n(a/√v)·f(a), one after the other."""

    def __init__(self, variance: arb, place: arb) -> None:
        self._variance, self._place = variance, place
        first = (-place * place / (2 * variance)).exp()
        self._found = [first, -place / variance * first]
        self._wide = (place / (4 * variance).sqrt()).erfc()

    def at(self, n: int) -> arb:
        """The n-th: f^(n+1) = −(x·f^(n) + n·f^(n−1))/v."""
        while len(self._found) <= n:
            k = len(self._found) - 1
            last, before = self._found[-1], self._found[-2]
            self._found.append(-(self._place * last + k * before) / self._variance)
        return self._found[n]

    def beyond(self, n: int) -> arb:
        """At least the integral of |f^(n)| from the place on.

        Beyond its last zero, which √(4n+2)·√v is past, it is |f^(n−1)|. Before it Cramér's
        inequality holds everywhere: |He_n(y)| ≤ 1.09·√n!·e^(y²/4).
        """
        if self._place > 0 and self._place**2 > (4 * n + 2) * self._variance:
            return abs(self.at(n - 1))
        scale = arb("1.09") * arb(fmpz(factorial(n))).sqrt() * arb.pi().sqrt()
        return scale * self._wide * self._variance ** (arb(1 - n) / 2)
