"""From ρ-zCDP to (ε, δ) and back, certified, each rounded the safe way; and ε as odds.

A mechanism is ρ-zCDP (Bun and Steinke, 2016) if on neighbours its Rényi divergence of every order
a > 1 is at most aρ. It is then (ε, δ)-differentially private for every ε ≥ 0 with

    δ(a) = e^((a−1)(aρ−ε)) / (a−1) · (1−1/a)^a,    any a > 1    (Canonne, Kamath, Steinke 2020).

Proof: let Z be the privacy loss under P. Then δ ≤ E[(1 − e^(ε−Z))+], and for every a > 1 and real
z, (1 − e^(ε−z))+ ≤ e^((a−1)(z−ε)) / (a−1) · (1−1/a)^a: put t = e^(z−ε), the ratio
(1 − 1/t)·t^(1−a) of the two sides is largest at t = a/(a−1). And E[e^((a−1)Z)] ≤ e^((a−1)aρ) is the
definition of ρ-zCDP.

The bound holds at every a, so the choice of a decides how tight a number is, never whether it is
true. Decimal arithmetic that rounds alike everywhere chooses it, so that two computers that replay
one ledger decide alike. A ball then encloses the bound at that very rational, and its safe end is
taken: reported δ and ε are rounded up, a granted ρ is rounded down. A later version may find a
smaller δ or ε than this one, and never a larger one: ``verify`` asks again whether each charge of
an old record fitted.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from math import floor, isqrt, log10

from flint import arb

from crowdtally.core.numbers import show
from crowdtally.core.privacy import Delta, Epsilon, Rho
from crowdtally.errors import UsageError
from crowdtally.laws.balls import as_ball, precision

LARGEST_DELTA = Fraction(1, 10)
"""A larger δ is refused: more than one person in ten might be exposed."""
_SMALLEST_DELTA = Fraction(1, 1 << 4096)
"""A smaller δ is rounded up to it: nobody asks for less, and its digits would fill the memory."""
_BITS = 256
_KEPT = 64  # significant bits of a reported number
_DIGITS = 12  # significant decimal digits of a granted ρ
_CERTAIN_LOSS = 50  # where ρ − ε exceeds it, no order gives a δ below 1 − 1e-20: it is 1
_CHOOSING = Context(prec=40, rounding=ROUND_HALF_EVEN, Emin=-(10**9), Emax=10**9)


def delta_of(rho: Fraction, epsilon: Fraction) -> Fraction:
    """A δ for which ρ-zCDP is (ε, δ)-differentially private, rounded up; at most 1.

    >>> float(delta_of(Fraction(1, 100), Fraction(1))) < 1e-9
    True
    """
    if epsilon < 0:
        return Fraction(1)
    if rho <= 0:
        return Fraction(0)  # the outputs on neighbours have one law
    rho, epsilon = _up(rho), _down(epsilon)
    if rho - epsilon > _CERTAIN_LOSS:
        return Fraction(1)
    order = Fraction(_order_for_delta(_decimal(rho), _decimal(epsilon)))
    exponent = order * ((1 + order) * rho - epsilon)
    with precision(_BITS):
        logarithm = as_ball(exponent) + _shape(order)
        if logarithm < as_ball(_SMALLEST_DELTA).log():
            return _SMALLEST_DELTA
        return Fraction(1) if not logarithm < 0 else min(_upper(logarithm.exp()), Fraction(1))


def epsilon_of(rho: Fraction, delta: Fraction) -> Fraction:
    """An ε for which ρ-zCDP is (ε, δ)-differentially private, rounded up; at least 0.

    The same bound solved for ε: ε(a) = aρ + (ln(1/δ) − ln a)/(a−1) + ln(1−1/a).

    >>> float(epsilon_of(Fraction(1, 100), Fraction(1, 10**9))) < 0.91
    True
    """
    if rho <= 0:
        return Fraction(0)
    if not 0 < delta < 1:
        raise UsageError(f"a delta between 0 and 1 is needed: received {show(delta)}.")
    rho, delta = _up(rho), _down(delta)
    order = Fraction(_order_for_epsilon(_decimal(rho), _surprise(delta)))
    with precision(_BITS):
        ball = (_shape(order) - as_ball(delta).log()) / as_ball(order)
        least = as_ball((1 + order) * rho) + ball
        return max(_upper(least), Fraction(0))


@lru_cache(maxsize=1024)  # a plan asks for the same few, hundreds of times
def rho_of(epsilon: Epsilon | Fraction, delta: Delta | Fraction) -> Fraction:
    """The ρ that (ε, δ) grants: as large as the bound allows, rounded down; 0 where ε or δ is.

    Certified by ``delta_of``, which a budget asks: a dataset of (ε, δ) takes a first charge of this
    ρ. Rounded to 12 digits, so that records are short.

    >>> rho_of(Fraction(1), Fraction(1, 10**9))
    Fraction(29946115347, 2000000000000)
    """
    allowed = epsilon.value if isinstance(epsilon, Epsilon) else epsilon
    left = approximate(delta) if isinstance(delta, Delta) else delta
    if allowed <= 0 or left <= 0:
        return Fraction(0)
    candidate = _granted(_decimal(allowed), _surprise(left))
    # The first one fits, or is a rounding beyond the edge, which the next step is well within.
    while delta_of(candidate, allowed) > left:
        candidate = rounded_down(candidate * (1 - Fraction(1, 10**_DIGITS)))
    return candidate


def approximate(delta: Delta) -> Fraction:
    """The δ of an (ε, δ) guarantee: above 0 and at most 1/10; anything else is refused."""
    if delta.value == 0:
        raise UsageError(
            "Gaussian noise needs a delta above 0: received 0. Type a small one, such as "
            "--delta 1e-9, well below one over the number of users; for a guarantee without delta "
            "use the discrete Laplace noise of pure epsilon."
        )
    if delta.value > LARGEST_DELTA:
        raise UsageError(
            f"a delta above 1/10 is refused: received {delta}. Delta is the chance that someone is "
            "not protected at all; at 1/10 that could be one person in ten. Type a small one, such "
            "as --delta 1e-9, well below one over the number of users."
        )
    return delta.value


def selection_rho(epsilon: Epsilon) -> Rho:
    """The cost of an exponential-mechanism choice of parameter ε: ρ = ε²/8.

    Guarantee: with scores that change by at most Δ between neighbours and weights e^(ε·score/(2Δ)),
    or e^(ε·score/Δ) where all scores move one way, every log ratio of probabilities lies in an
    interval of length ε (Dong, Durfee, Rogers 2020: it has bounded range ε). By Hoeffding's lemma
    for that interval its Rényi divergence of order a is at most aε²/8 (Cesar and Rogers 2021).

    >>> selection_rho(Epsilon.of(1)).value
    Fraction(1, 8)
    """
    return Rho(epsilon.value**2 / 8)


def selection_epsilon(rho: Rho, draws: int = 1) -> Epsilon:
    """The largest parameter ε of choices that cost at most ρ together, rounded down to 12 digits.

    >>> selection_epsilon(Rho.of("1/8")).value, selection_epsilon(Rho.of("1/8"), 4).value
    (Fraction(1, 1), Fraction(1, 2))
    >>> draws, each = 300, selection_epsilon(Rho.of("0.01"), 300)
    >>> Fraction("0.00999") < draws * selection_rho(each).value <= Fraction("0.01")
    True
    """
    squared = 8 * rho.value / draws
    # The power of 100 leaves at least 24 digits, so that the root has 12.
    scale = Fraction(100) ** max(
        13 - floor(log10(squared.numerator) - log10(squared.denominator)) // 2, 0
    )
    return Epsilon(rounded_down(Fraction(isqrt(int(squared * scale)), isqrt(int(scale)))))


def pure_rho(epsilon: Fraction) -> Fraction:
    """The cost of pure ε as ρ: ε²/2 (Bun and Steinke 2016, proposition 1.4)."""
    return epsilon**2 / 2


def rounded_down(number: Fraction) -> Fraction:
    """The number, or 0 if it is negative, rounded down to 12 decimal digits.

    >>> rounded_down(Fraction(2, 3))
    Fraction(333333333333, 500000000000)
    """
    unit = _digit(number)
    return number // unit * unit if number > 0 else Fraction(0)


def rounded_up(number: Fraction) -> Fraction:
    """The number, or 0 if it is negative, rounded up to 12 decimal digits.

    >>> rounded_up(Fraction(2, 3))
    Fraction(666666666667, 1000000000000)
    """
    unit = _digit(number)
    return -(-number // unit) * unit if number > 0 else Fraction(0)


def _digit(number: Fraction) -> Fraction:
    """The value of the last digit that is kept of a positive number."""
    # Cut off, not rounded: just below a power of ten, rounding would add a digit before the point.
    cut = Context(prec=1, rounding=ROUND_DOWN, Emin=-(10**9), Emax=10**9)
    first = cut.divide(Decimal(number.numerator), Decimal(number.denominator))
    return Fraction(10) ** (first.adjusted() - _DIGITS + 1)


def _shape(order: Fraction) -> arb:
    """Ln of (1−1/a)^a/(a−1) at a = 1 + ``order``, which is (a−1)·ln(1−1/a) − ln a."""
    u = as_ball(order)
    kept = (-1 / (1 + u)).log1p() if order > 1 else u.log() - u.log1p()  # both are ln(1−1/a)
    return u * kept - u.log1p()


def _order_for_delta(rho: Decimal, epsilon: Decimal) -> Decimal:
    """The a − 1 near the least δ: the root u of (2u+1)ρ − ε = ln(1+1/u).

    Left minus right is rising and concave, so Newton's steps from the left of the root stay left.
    """
    with localcontext(_CHOOSING):
        if epsilon > rho:
            u = (epsilon - rho) / (2 * rho)
        else:
            u = (epsilon - rho - (1 + 2 * rho).ln() - 1).exp()
        for _ in range(200):
            value = (2 * u + 1) * rho - epsilon - (1 + 1 / u).ln()
            step = -value / (2 * rho + 1 / (u * (1 + u)))
            u += max(step, Decimal(0))
            if step < u * Decimal("1e-25"):
                break
        return u


def _order_for_epsilon(rho: Decimal, surprise: Decimal) -> Decimal:
    """The a − 1 near the least ε: the root u of ρu² + ln(1+u) = ln(1/δ), whose left side rises."""
    with localcontext(_CHOOSING):
        low = 2 * surprise / (1 + (1 + 4 * rho * surprise).sqrt())  # as if ln(1+u) were u
        high = (surprise / rho).sqrt()  # as if it were 0
        return _halved(lambda u: rho * u * u + (1 + u).ln() < surprise, low, high)


def _granted(epsilon: Decimal, surprise: Decimal) -> Fraction:
    """Nearly the ρ whose least ε is the given one, by the order at which that is."""

    def rho(u: Decimal) -> Decimal:
        return (surprise - (1 + u).ln()) / (u * u)

    def is_left(u: Decimal) -> bool:  # the least ε of a ρ falls as its order grows
        return (1 + 2 * u) * rho(u) - (1 + 1 / u).ln() > epsilon

    with localcontext(_CHOOSING):
        high = surprise.exp() - 1  # the order of ρ = 0
        low = min(Decimal(1), high / 2)
        while not is_left(low):
            low /= 4
        return rounded_down(Fraction(rho(_halved(is_left, low, high))))


def _halved(is_left: Callable[[Decimal], bool], low: Decimal, high: Decimal) -> Decimal:
    """The end of the range in which ``is_left`` holds, to 15 digits."""
    while high > low * (1 + Decimal("1e-15")):
        middle = (low * high).sqrt()
        low, high = (middle, high) if is_left(middle) else (low, middle)
    return low


def _decimal(number: Fraction) -> Decimal:
    with localcontext(_CHOOSING):
        return Decimal(number.numerator) / Decimal(number.denominator)


def _surprise(delta: Fraction) -> Decimal:
    """ln(1/δ)."""
    with localcontext(_CHOOSING):
        return -_decimal(delta).ln()


def _upper(ball: arb) -> Fraction:
    """A rational of few bits at the upper end of a ball, or above it."""
    mantissa, exponent = ball.upper().man_exp()
    return _up(Fraction(int(mantissa)) * Fraction(2) ** int(exponent), _KEPT)


def _up(number: Fraction, bits: int = _BITS) -> Fraction:
    """The number, or a slightly larger one with fewer bits."""
    return -_down(-number, bits)


def _down(number: Fraction, bits: int = _BITS) -> Fraction:
    """The number, or a slightly smaller one with fewer bits."""
    if max(number.numerator.bit_length(), number.denominator.bit_length()) <= bits:
        return number
    unit = Fraction(2) ** (number.numerator.bit_length() - number.denominator.bit_length() - bits)
    return number // unit * unit


PRIORS = (Fraction(1, 100), Fraction(1, 10), Fraction(1, 2))  # beliefs that are shown as examples
_ODDS_BITS = 128
_FINEST = 10**6  # steps of a shown belief between 0 and 1, where it is close to 1


def odds(epsilon: Epsilon | Fraction, prior: Fraction) -> Fraction:
    """The most that a reader's belief about one person can become by a release of this ε.

    p·e^ε/(1 − p + p·e^ε), rounded up to a tenth of a percent; where that would be certainty, to a
    millionth, and to 1 only beyond it.

    >>> odds(Epsilon.of(1), Fraction(1, 10)), odds(Fraction(10), Fraction(1, 2))
    (Fraction(29, 125), Fraction(199991, 200000))
    """
    value = epsilon.value if isinstance(epsilon, Epsilon) else Fraction(epsilon)
    if not isinstance(prior, Fraction) or not 0 < prior < 1:
        raise UsageError("a belief is an exact Fraction above 0 and below 1.")
    if value < 0:
        raise UsageError("epsilon must not be negative.")
    with precision(_ODDS_BITS):
        # As 1/(1 + (1−p)/p·e^(−ε)): no ε is too large for it.
        against = as_ball((1 - prior) / prior) * (-as_ball(value)).exp()
        belief = 1 / (1 + against)
        for steps in (1000, _FINEST):
            above = int((belief * steps).upper().ceil().unique_fmpz())
            if above < steps:
                return Fraction(above, steps)
    return Fraction(1)


def percent(share: Fraction) -> str:
    """A share for people, exact.

    >>> percent(Fraction(1, 100)), percent(Fraction(29, 125)), percent(Fraction(1))
    ('1%', '23.2%', '100%')
    """
    text = f"{float(share * 100):.4f}".rstrip("0").rstrip(".")
    return f"{text}%"


def odds_words(epsilon: Epsilon | Fraction) -> str:
    """What ε means, in a sentence.

    >>> odds_words(Epsilon.of(1))
    'a belief of 1% can become at most 2.7%, one of 10% at most 23.2%, one of 50% at most 73.2%'
    """
    first, *others = ((percent(prior), percent(odds(epsilon, prior))) for prior in PRIORS)
    more = "".join(f", one of {prior} at most {belief}" for prior, belief in others)
    return f"a belief of {first[0]} can become at most {first[1]}{more}"
