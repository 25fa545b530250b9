"""The discrete Gaussian law in certified balls: sums of a bell over whole steps, tails, floors.

``gaussian.md`` has the proofs.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache, partial
from itertools import count
from math import exp, factorial, floor, inf, isfinite, isqrt, nextafter

from flint import arb, ctx, fmpz

from crowdtally.core.counts import Keeping
from crowdtally.core.numbers import is_whole
from crowdtally.errors import UsageError
from crowdtally.laws.balls import as_ball, precision
from crowdtally.laws.base import Terms, first_passing
from crowdtally.laws.floors import chance_of_each, felt, kept, narrowed, on_sides, rule

_NARROW = 8  # a bell that falls over fewer steps, or fewer than √bits/2, is summed term by term
_GUARD = 64  # bits that may cancel
_MOST_TERMS = 4000


def bell_sum(variance: Fraction, start: arb | int, power: int = 0) -> arb:
    """Σ_{j≥0} x^power·e^(−x²/(2v)), x = start + j, for power 0, 1 or 2 and any real start.

    A ball at the precision in force. Term by term where the bell is narrow, and by Euler and
    Maclaurin's formula with its remainder where it is wide, so that the cost does not grow with the
    width.

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
    (1+1/x)^power. Where the product q of both is below 1, the rest is at most term/(1−q).
    """
    # Terms are divided by the largest one, which may be tiny.
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
    """The sum by x·f = −v·f′ and x²·f = v²·f″ + v·f, f the bell."""
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

        Beyond the last zero, which is below √(4n+2)·√v, it is |f^(n−1)|. Elsewhere Cramér's
        inequality bounds it: |He_n(y)| ≤ 1.09·√n!·e^(y²/4).
        """
        if self._place > 0 and self._place**2 > (4 * n + 2) * self._variance:
            return abs(self.at(n - 1))
        scale = arb("1.09") * arb(fmpz(factorial(n))).sqrt() * arb.pi().sqrt()
        return scale * self._wide * self._variance ** (arb(1 - n) / 2)


WIDE = 4
"""From this variance on a sum of noises is discrete Gaussian too, as far as floats can tell."""
_BITS = 128
_PATIENCE = 1 << 12
_SHOWN_BITS = 64
_SMALLEST = Fraction(1, 10**400)  # a smaller chance is rounded up to this


def beyond(variance: Fraction, least: int) -> arb:
    """Pr[Z ≥ least], as a ball at the precision in force.

    >>> with precision(64):
    ...     float(beyond(Fraction(1), 2)).__round__(6)
    0.058558
    """
    if least <= 0:
        return 1 - beyond(variance, 1 - least)
    return bell_sum(variance, least) / bell_total(variance)


def beyond_at_most(variance: Fraction, least: int) -> Fraction:
    """Pr[Z ≥ least] rounded up to about 64 bits: a promise may not be too small."""
    with precision(_BITS):
        return rounded_up(beyond(variance, least))


def rounded_up(chance: arb) -> Fraction:
    """A rational of about 64 bits, at most 1, that is certainly no less than a chance."""
    if chance.upper() <= as_ball(_SMALLEST).lower():
        return _SMALLEST
    scale = _SHOWN_BITS - int((chance.upper().log() / arb(2).log()).lower().floor().unique_fmpz())
    units = int((chance * arb((1, scale))).upper().ceil().unique_fmpz())
    return min(Fraction(units, 1 << scale) if scale >= 0 else Fraction(1), Fraction(1))


def moment(variance: Fraction, power: int, low: int, high: int | None = None) -> arb:
    """E[Z^power; low ≤ Z ≤ high] for low ≥ 0, or from ``low`` on: one side of the law."""
    total = bell_sum(variance, low, power)
    if high is not None:
        total = total - bell_sum(variance, max(high + 1, low), power)
    return total / bell_total(variance)


def first_within(variance: Fraction, chance: Callable[[], arb]) -> int:
    """The least k ≥ 1 with Pr[Z ≥ k] ≤ chance, as far as balls can tell, else one more."""
    return first_passing(lambda k: _at_most(lambda: beyond(variance, k), chance), 0, 1)


def _at_most(value: Callable[[], arb], chance: Callable[[], arb]) -> bool:
    """Whether value ≤ chance, certainly: False if balls overlap at the highest precision."""
    bits = _BITS
    while True:
        with precision(bits):
            ball, wanted = value(), chance()
            if ball <= wanted:
                return True
            if ball > wanted or bits > _PATIENCE:
                return False
        bits *= 2


def unknown_threshold(variance: Fraction, limit: int, delta: Fraction) -> int:
    """The least T ≥ 1 with 1 − (1−p)^limit ≤ delta, where p = Pr[1 + Z ≥ T], rounded up.

    For cells that no public list names, published where their noisy count is *at least* T: if a
    user alone has ``limit`` of them, with a count of 1 each, one of them appears with probability
    ``delta`` or less.

    >>> unknown_threshold(Fraction(100), 10, Fraction(1, 10**6))
    54
    """
    if not is_whole(limit) or limit < 1:
        raise UsageError(f"the cells of one user are a whole number of 1 or more: {limit!r}.")
    if not isinstance(delta, Fraction) or not 0 < delta < 1:
        raise UsageError("delta must be an exact Fraction above 0 and below 1.")
    return first_passing(lambda t: unknown_delta(variance, limit, t) <= delta, 0, 1)


def unknown_delta(variance: Fraction, limit: int, threshold: int) -> Fraction:
    """1 − (1−p)^limit for p = Pr[1 + Z ≥ threshold], each rounded up: the cost of a threshold."""
    alone = beyond_at_most(variance, threshold - 1)
    if alone == 1:
        return alone
    with precision(_BITS):
        return rounded_up(-(limit * (-as_ball(alone)).log1p()).expm1())


_SEARCH = 24
"""Steps of the search for the best exponent; any exponent is right, a poor one is wasteful."""
_RANGE = 1.5
"""How far, as a logarithm, the best exponent is at most from that of a normal law; and from one
under which a cell is likely to pass a high cut."""
_FLOOR_PATIENCE = 1 << 13


@lru_cache(maxsize=256)
def bell_floor(
    variance: Fraction, lines: int, terms: Terms, share: Fraction, *, independent: bool
) -> float:
    """A noise floor, as in ``floors.md`` and ``gaussian.md``."""

    def chance() -> arb:
        return chance_of_each(lines, share, independent=independent)

    cells = _plain(terms)
    if terms.is_one_cell or (cells and variance >= WIDE):
        return first_within((cells or 1) * variance, chance) - 1
    bits = _BITS
    while True:
        with precision(bits):
            bound = _chernoff(variance, terms, chance())
        if isfinite(bound) or bits > _FLOOR_PATIENCE:
            return _whole(bound, terms.step)
        bits *= 2  # sampled cells are a small difference of two sums


def _whole(bound: float, step: Fraction) -> float:
    """The largest whole number of steps within the bound, as the sum is whole too."""
    steps = step * floor(Fraction(bound) / step)
    return steps.numerator if steps.denominator == 1 else float(steps)


def _plain(terms: Terms) -> int:
    """The number of cells, if all of them are seen and have weight 1; else 0."""
    if not terms.keeping.keeps_all or any(weight != 1 for weight, _ in terms.weights):
        return 0
    return sum(times for _, times in terms.weights)


def _chernoff(variance: Fraction, terms: Terms, wanted: arb) -> float:
    """The least bound over a stretch of exponents, by golden sections, rounded up."""
    squares = sum(weight**2 * times for weight, times in felt(terms))
    cells = sum(times for _, times in terms.weights)
    # At most the chance that any cell is seen: where that is small enough the floor is 0.
    if not squares or cells * kept(partial(moment, variance), rule(terms)) <= wanted:
        return 0.0
    middle = (-2 * wanted.log() / (as_ball(variance) * as_ball(Fraction(squares)))).sqrt()

    def width(place: float) -> float:
        return float(_width(variance, terms, wanted, middle * arb(exp(place))).upper())

    high = float((as_ball(Fraction(terms.keeping.least)) / as_ball(variance) / middle + 1).log())
    *_, least = narrowed(width, -_RANGE, high + _RANGE, _SEARCH)
    return nextafter(max(least, 0.0), inf)


def _width(variance: Fraction, terms: Terms, wanted: arb, exponent: arb) -> arb:
    """Pr[S ≥ t] ≤ E[e^(sS)]·e^(−st) for every s > 0, solved for t."""
    total = -wanted.log()
    for weight, times in felt(terms):
        total += times * (1 + seen_bell(variance, arb(weight) * exponent, rule(terms))).log()
    return total / exponent


def seen_bell(variance: Fraction, power: arb, keeping: Keeping) -> arb:
    """E[e^(power·Y)] − 1 for an empty cell: Y is its noise, or 0 if it is dropped."""
    return on_sides(partial(_grown, variance), power, keeping) / bell_total(variance)


def _grown(variance: Fraction, power: arb, by: int, low: int) -> arb:
    """Σ_{k ≥ low} k^by·(e^(power·k) − 1)·e^(−k²/(2σ²)).

    e^(uk − k²/(2σ²)) = e^(u²σ²/2)·e^(−(k − uσ²)²/(2σ²)): the same bell, moved by uσ².
    """
    moved = power * as_ball(variance)
    shifted = bell_sum(variance, low - moved)
    if by:
        shifted = bell_sum(variance, low - moved, 1) + moved * shifted
    return (power * moved / 2).exp() * shifted - bell_sum(variance, low, by)
