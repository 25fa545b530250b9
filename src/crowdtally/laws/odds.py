"""ε as odds: what a reader's belief about one person can become."""

from __future__ import annotations

from fractions import Fraction

from crowdtally.core.privacy import Epsilon
from crowdtally.errors import UsageError
from crowdtally.laws.balls import as_ball, precision

PRIORS = (Fraction(1, 100), Fraction(1, 10), Fraction(1, 2))
"""Beliefs that are shown: 1%, 10% and 50%."""
_BITS = 128
_FINEST = 10**6
"""Steps of a shown belief between 0 and 1, where it is close to 1."""


def odds(epsilon: Epsilon | Fraction, prior: Fraction) -> Fraction:
    """The most that a belief of ``prior`` can become: p·e^ε/(1 − p + p·e^ε), rounded up.

    Whatever a reader believed about one person before a release of this ε, no outcome can make
    that belief larger. Rounded up to a tenth of a percent; where that would be certainty, to a
    millionth, and to 1 only beyond it.

    >>> odds(Epsilon.of(1), Fraction(1, 10)), odds(Fraction(10), Fraction(1, 2))
    (Fraction(29, 125), Fraction(199991, 200000))
    """
    value = epsilon.value if isinstance(epsilon, Epsilon) else Fraction(epsilon)
    if not isinstance(prior, Fraction) or not 0 < prior < 1:
        raise UsageError("a belief is an exact Fraction above 0 and below 1.")
    if value < 0:
        raise UsageError("epsilon must not be negative.")
    with precision(_BITS):
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
