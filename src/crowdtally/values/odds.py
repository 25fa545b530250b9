"""What ε means as odds: how far a belief can move at most, whatever is released.

Somebody thinks that a person is in the data with probability p. Under ε-differential privacy every
outcome multiplies the odds p : 1−p by at most e^ε, so the belief becomes at most

    p·e^ε / (1 − p + p·e^ε) = 1 / (1 + e^(−ε)·(1−p)/p).

Numbers here are exact and rounded up: a bound that is shown is never less than the true one.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

BELIEFS = (Fraction(1, 100), Fraction(1, 10), Fraction(1, 2))
"""The beliefs that are shown: unlikely, possible, as likely as not."""

_DIGITS = 40
_NEARLY = Fraction(1, 10**9)
_HUGE = 10**5
"""An ε beyond which e^(−ε) counts as 0: the bound on a belief is then 1, which is always true."""


def belief(epsilon: Fraction, prior: Fraction) -> Fraction:
    """The most that a belief of ``prior`` can become, rounded up in the fortieth digit.

    >>> float(belief(Fraction(1), Fraction(1, 2))).__round__(6)
    0.731059
    """
    if not 0 < prior < 1:
        raise ValueError("a belief is between 0 and 1")
    return 1 / (1 + shrinking(epsilon) * (1 - prior) / prior)


def shrinking(epsilon: Fraction) -> Fraction:
    """A lower bound of e^(−ε), right to forty digits: ``decimal``'s exp is correctly rounded."""
    if epsilon > _HUGE:
        return Fraction(0)
    below, down = _DIGITS + 10, Context(prec=_DIGITS + 10, rounding=ROUND_FLOOR)
    power = down.divide(Decimal(-epsilon.numerator), Decimal(epsilon.denominator))
    return Fraction(Context(prec=below).exp(power).next_minus(Context(prec=below)))


def percent(share: Fraction) -> str:
    """A probability in per cent, rounded up to three digits; near 1 by what is left to it.

    >>> [percent(Fraction(share)) for share in ("0.02673", "0.5", "0.99554", "0.9999999")]
    ['2.68%', '50%', '99.56%', '99.99999%']
    """
    rest = 1 - share
    if rest < _NEARLY:
        return "almost 100%"
    if share < Fraction(99, 100):
        return f"{_rounded(share * 100, 3, ROUND_CEILING)}%"
    left = _rounded(rest * 100, 2, ROUND_FLOOR)
    return f"{(100 - left).normalize():f}%"


def decimal_above(share: Fraction) -> str:
    """The same for programs: a decimal of nine places that is not less.

    >>> decimal_above(Fraction(1, 3))
    '0.333333334'
    """
    places = 10**9
    return f"{Decimal(-(-share * places // 1)) / places:f}"


def factor(epsilon: Fraction, times: int = 1) -> str:
    """e^ε in words, or a multiple: three digits below 1,000, else whole, else a power of ten.

    >>> factor(Fraction(1)), factor(Fraction(10)), factor(Fraction(100))
    ('2.72', '22,026', '2.7·10^43')
    """
    if epsilon > _HUGE:
        return f"10^{int(epsilon * 43429 // 10**5):,}, or more"
    context = Context(prec=30)
    power = context.divide(Decimal(epsilon.numerator), Decimal(epsilon.denominator))
    value = times * context.exp(power)
    if value < 1000:
        return f"{_rounded(Fraction(value), 3, None)}"
    if value < 10**9:
        return f"{int(value.to_integral_value()):,}"
    digits, power = f"{value:.1e}".split("e")
    return f"{digits}·10^{int(power)}"


def _rounded(number: Fraction, digits: int, rounding: str | None) -> Decimal:
    """So many digits, without zeros at the end."""
    context = Context(prec=digits) if rounding is None else Context(prec=digits, rounding=rounding)
    found = context.divide(Decimal(number.numerator), Decimal(number.denominator))
    return Decimal(f"{found.normalize():f}")
