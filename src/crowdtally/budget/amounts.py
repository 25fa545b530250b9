"""Exact amounts as text: one form for the record, one for people.

The record's form is canonical, ``"1/3"`` or ``"2"``, so that equal amounts have equal hashes. Its
length has no bound: a sum over many denominators can outgrow the number of digits that Python's
``str`` and ``int`` accept, and a ledger must neither round it nor stop.
"""

from __future__ import annotations

import re
from decimal import Decimal, localcontext
from fractions import Fraction

from crowdtally.values.rational import show

_CHUNK = 4000  # digits; Python converts up to 4300 at once
_BASE = 10**_CHUNK
_CANONICAL = re.compile(r"(0|-?[1-9][0-9]*)(?:/([1-9][0-9]*))?")
_SHOWN_BITS = 4096
_SHOWN_LENGTH = 80


def to_text(amount: Fraction) -> str:
    """The amount in lowest terms, exactly.

    >>> to_text(Fraction(2, 6)), to_text(Fraction(4))
    ('1/3', '4')
    """
    numerator = _digits(amount.numerator)
    return numerator if amount.denominator == 1 else f"{numerator}/{_digits(amount.denominator)}"


def from_text(text: object) -> Fraction:
    """The amount that ``to_text`` wrote; anything else is a ``ValueError``.

    >>> from_text("1/3")
    Fraction(1, 3)
    """
    match = _CANONICAL.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise ValueError("not an exact amount in canonical form")
    denominator = _integer(match[2]) if match[2] else 1
    amount = Fraction(_integer(match[1]), denominator)
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


def _digits(number: int) -> str:
    if number < 0:
        return "-" + _digits(-number)
    chunks: list[str] = []
    while number >= _BASE:
        number, low = divmod(number, _BASE)
        chunks.append(str(low).rjust(_CHUNK, "0"))
    return str(number) + "".join(reversed(chunks))


def _integer(digits: str) -> int:
    if digits.startswith("-"):
        return -_integer(digits[1:])
    first = len(digits) % _CHUNK
    number = int(digits[:first] or "0")
    for start in range(first, len(digits), _CHUNK):
        number = number * _BASE + int(digits[start : start + _CHUNK])
    return number
