"""Exact rationals and whole numbers that people type.

A rational goes from the user's string to the noise table without ever being a float. A Python float
means its shortest decimal, which is what its author typed: ``0.1`` is 1/10.
"""

from __future__ import annotations

import re
from fractions import Fraction
from numbers import Rational

from crowdtally.errors import UsageError

Number = str | int | float | Fraction

# Beyond these a number is a typing error, and its digits alone could fill the memory.
_MAX_EXPONENT = 400
_MAX_DIGITS = 1000
_MAX_BITS = 3500  # of a numerator or denominator: enough for 1,000 digits and an exponent
_EXACT, _KEPT = 700, 60
_PLACES = 360  # decimal places that are kept: more than a person can type
_MAX_RECORDED = 8600  # a ratio of the longest integers that Python reads
_DECIMAL = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE](?P<exponent>[+-]?\d+))?", re.ASCII)
_RATIO = re.compile(r"[+-]?\d+/\d+", re.ASCII)
LARGEST = Fraction(10) ** 309


def exact(value: object, name: str) -> Fraction:
    """The rational that ``value`` denotes; messages call it ``name``.

    >>> exact("1/3", "epsilon"), exact(0.1, "epsilon"), exact("1e-9", "delta")
    (Fraction(1, 3), Fraction(1, 10), Fraction(1, 1000000000))
    """
    if isinstance(value, bool) or not isinstance(value, str | int | float | Rational):
        raise UsageError(_not_a_number(value, name))
    if isinstance(value, float):
        value = repr(float(value))
    number = _parse(value, name) if isinstance(value, str) else Fraction(value)
    if max(number.numerator.bit_length(), number.denominator.bit_length()) > _MAX_BITS:
        raise UsageError(f"{name} has more than {_MAX_DIGITS:,} digits: give a shorter number.")
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
    """The number that :func:`show` wrote; it may be longer than what a person types.

    A ValueError where it is no exact number.

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
    """A typed value; of anything else only its type, since it may be a frame of records."""
    if value is not None and not isinstance(value, str | bool | int | float | Rational):
        return f"a {type(value).__name__}"
    text = str(value)
    return repr(text if len(text) <= 40 else text[:40] + "…")


def short(amount: Fraction) -> Fraction:
    """A sum that is not negative: exact up to 700 digits, else rounded up to 60 digits.

    A sum has the digits of all its parts: ten charges of coprime ratios would need 10,000 of them,
    and showing or comparing the sum would fail or take seconds at every later charge. Rounded
    **up**, it is at least what was spent; adding and taking back keep that order.
    ``postgres_functions.sql`` rounds in the same way.

    >>> short(Fraction(1, 3)), short(Fraction(1, 3**2000)) - Fraction(1, 3**2000) >= 0
    (Fraction(1, 3), True)
    """
    top, bottom = digits(amount.numerator), digits(amount.denominator)
    if max(top, bottom) <= _EXACT:
        return amount
    scale = 10 ** min(max(0, _KEPT + bottom - top), _PLACES)
    return Fraction(-(-amount.numerator * scale // amount.denominator), scale)


def digits(number: int) -> int:
    """The number of decimal digits; ``str`` refuses more than 4,300 of them."""
    count = number.bit_length() * 30103 // 100000  # log10(2), a little too large or exact
    while 10**count > number and count:
        count -= 1
    return count + 1


def show(number: Fraction) -> str:
    """The number exactly: as a decimal where a short one exists, else as a ratio.

    >>> show(Fraction(1, 10)), show(Fraction(1, 3)), show(Fraction(1, 10**9)), show(Fraction(2))
    ('0.1', '1/3', '1e-9', '2')
    """
    if number.denominator == 1:
        plain = str(number.numerator)
        stripped = plain.rstrip("0")
        zeros = len(plain) - len(stripped)
        return f"{stripped}e{zeros}" if zeros > 15 else plain
    twos = fives = 0
    rest = number.denominator
    while rest % 2 == 0:
        rest, twos = rest // 2, twos + 1
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    places = max(twos, fives)
    plain = str(abs(number.numerator) * 10**places // number.denominator)
    if rest != 1 or len(plain) > 30:
        return f"{number.numerator}/{number.denominator}"
    sign = "-" if number < 0 else ""
    if places - len(plain) >= 4:
        mantissa = plain[0] + ("." + plain[1:] if len(plain) > 1 else "")
        return f"{sign}{mantissa}e-{places - len(plain) + 1}"
    plain = plain.rjust(places + 1, "0")
    return f"{sign}{plain[:-places]}.{plain[-places:]}"


def is_whole(value: object) -> bool:
    """Whether it is a Python integer; True and False are not numbers here."""
    return isinstance(value, int) and not isinstance(value, bool)


def whole_number(value: object, name: str, least: int, most: int) -> int:
    """The number, or a UsageError unless it is whole and between ``least`` and ``most``.

    >>> whole_number(10, "the bound", 1, 100)
    10
    """
    if not isinstance(value, int) or not is_whole(value) or not least <= value <= most:
        raise UsageError(
            f"{name} must be a whole number between {least} and {most}: received {received(value)}."
        )
    return value


def received(value: object) -> str:
    """A parameter in a message: a value that was typed, never a frame of records.

    >>> received("ten"), received(1.5), received([1])
    ("'ten'", '1.5', 'a list')
    """
    if value is None or isinstance(value, str | int | float | Fraction):
        return repr(value)
    return f"a {type(value).__name__}"
