"""Amounts as text: one form for the record, one for people.

The record's form is canonical, ``"1/3"`` or ``"2"``, so that equal amounts have equal hashes.
"""

from __future__ import annotations

import re
from decimal import Decimal, localcontext
from fractions import Fraction

from crowdtally.core.numbers import digits, show

LONGEST = 3000
"""Digits of an amount that a charge states, those of a denominator of 1 among them."""
_LONGEST_READ = 4000
_CANONICAL = re.compile(r"(0|-?[1-9][0-9]*)(?:/([1-9][0-9]*))?")
_SHOWN_BITS = 4096
_SHOWN_LENGTH = 80


def is_long(amount: Fraction) -> bool:
    """Whether it has more digits than a charge may state."""
    return digits(amount.numerator) + digits(amount.denominator) > LONGEST


def to_text(amount: Fraction) -> str:
    """The amount in lowest terms, exactly.

    >>> to_text(Fraction(2, 6)), to_text(Fraction(4))
    ('1/3', '4')
    """
    return str(amount)


def from_text(text: object) -> Fraction:
    """The amount that ``to_text`` wrote; anything else is a ``ValueError``.

    >>> from_text("1/3")
    Fraction(1, 3)
    """
    match = _CANONICAL.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise ValueError("not an exact amount in canonical form")
    if len(match[0]) > _LONGEST_READ:
        raise ValueError("an amount with more digits than any has")
    denominator = int(match[2] or 1)
    amount = Fraction(int(match[1]), denominator)
    if amount.denominator != denominator or match[2] == "1":
        raise ValueError("not an amount in lowest terms")
    return amount


def for_people(amount: Fraction) -> str:
    """Exactly where that is readable, with a decimal beside a ratio; else to 12 digits.

    >>> for_people(Fraction(1, 10**9)), for_people(Fraction(1, 3))
    ('1e-9', '1/3 (about 0.333333333333)')
    """
    if max(amount.numerator.bit_length(), amount.denominator.bit_length()) <= _SHOWN_BITS:
        shown = show(amount)
        if len(shown) <= _SHOWN_LENGTH:
            return f"{shown} (about {_rounded(amount)})" if "/" in shown else shown
    return f"about {_rounded(amount)}"


def _rounded(amount: Fraction) -> str:
    with localcontext() as context:
        context.prec = 12
        ratio = Decimal(amount.numerator) / Decimal(amount.denominator)
        return f"{ratio.normalize():g}"
