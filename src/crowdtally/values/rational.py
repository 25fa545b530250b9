"""Exact numbers from what people type.

A rational goes from the user's string to the noise table without ever being a float. A Python
float means its shortest decimal, which is what its author typed: ``0.1`` is 1/10.
"""

from __future__ import annotations

import re
from fractions import Fraction
from numbers import Rational

from crowdtally.errors import UsageError

Number = str | int | float | Fraction

# Beyond these a number is a slip of the keyboard, and its digits alone could fill the memory.
_MAX_EXPONENT = 400
_MAX_DIGITS = 1000
_MAX_RECORDED = 8600  # a ratio of the longest integers that Python reads
_DECIMAL = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE](?P<exponent>[+-]?\d+))?", re.ASCII)
_RATIO = re.compile(r"[+-]?\d+/\d+", re.ASCII)
LARGEST = Fraction(10) ** 309


def exact(value: object, name: str) -> Fraction:
    """The rational that ``value`` denotes; ``name`` is what a message calls it.

    >>> exact("1/3", "epsilon"), exact(0.1, "epsilon"), exact("1e-9", "delta")
    (Fraction(1, 3), Fraction(1, 10), Fraction(1, 1000000000))
    """
    if isinstance(value, bool) or not isinstance(value, str | int | float | Rational):
        raise UsageError(_not_a_number(value, name))
    if isinstance(value, float):
        value = repr(float(value))
    number = _parse(value, name) if isinstance(value, str) else Fraction(value)
    if abs(number) >= LARGEST:
        raise UsageError(
            f"{name} is too large: received {_clip(value)}; give a number below 1e308."
        )
    return number


def _parse(text: str, name: str) -> Fraction:
    text = text.strip()
    decimal = _DECIMAL.fullmatch(text)
    if (not decimal and not _RATIO.fullmatch(text)) or len(text) > _MAX_DIGITS:
        raise UsageError(_not_a_number(text, name))
    if decimal and abs(int(decimal["exponent"] or 0)) > _MAX_EXPONENT:
        raise UsageError(
            f"{name} is too {'small' if '-' in decimal['exponent'] else 'large'}: "
            f"received {_clip(text)}; give a number between 1e-308 and 1e308."
        )
    try:
        return Fraction(text)
    except ZeroDivisionError:
        raise UsageError(_not_a_number(text, name)) from None


def recorded(text: str) -> Fraction:
    """The number that :func:`show` wrote: what is computed may be longer than what a person types.

    Raises:
        ValueError: it is no exact number.

    >>> recorded("1/3"), recorded("1e-9")
    (Fraction(1, 3), Fraction(1, 1000000000))
    """
    decimal = _DECIMAL.fullmatch(text)
    if len(text) > _MAX_RECORDED or not (decimal or _RATIO.fullmatch(text)):
        raise ValueError("not an exact number")
    if decimal and len(decimal["exponent"] or "") > 4:
        raise ValueError("an exponent without measure")
    try:
        return Fraction(text)
    except ZeroDivisionError:
        raise ValueError("a ratio to nothing") from None


def _not_a_number(value: object, name: str) -> str:
    return (
        f"{name} must be an exact finite number such as 0.1, 1/3 or 1e-6: received {_clip(value)}."
    )


def _clip(value: object) -> str:
    """What was typed; of anything else the type alone, since it may be a frame of records."""
    if value is not None and not isinstance(value, str | bool | int | float | Rational):
        return f"a {type(value).__name__}"
    text = str(value)
    return repr(text if len(text) <= 40 else text[:40] + "…")


def show(number: Fraction) -> str:
    """The number exactly: as a decimal where a short one exists, else as a ratio.

    >>> show(Fraction(1, 10)), show(Fraction(1, 3)), show(Fraction(1, 10**9)), show(Fraction(2))
    ('0.1', '1/3', '1e-9', '2')
    """
    if number.denominator == 1:
        digits = str(number.numerator)
        stripped = digits.rstrip("0")
        zeros = len(digits) - len(stripped)
        return f"{stripped}e{zeros}" if zeros > 15 else digits
    twos = fives = 0
    rest = number.denominator
    while rest % 2 == 0:
        rest, twos = rest // 2, twos + 1
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    places = max(twos, fives)
    digits = str(abs(number.numerator) * 10**places // number.denominator)
    if rest != 1 or len(digits) > 30:
        return f"{number.numerator}/{number.denominator}"
    sign = "-" if number < 0 else ""
    if places - len(digits) >= 4:
        mantissa = digits[0] + ("." + digits[1:] if len(digits) > 1 else "")
        return f"{sign}{mantissa}e-{places - len(digits) + 1}"
    digits = digits.rjust(places + 1, "0")
    return f"{sign}{digits[:-places]}.{digits[-places:]}"
