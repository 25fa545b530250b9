"""Numbers as a reader wants them: a mean and its standard error, rounded together."""

from __future__ import annotations

from math import floor, isfinite, log10

NO_NUMBER = "–"
"""Stands where nothing was measured."""
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_PLAIN = range(-3, 6)
"""Powers of ten of numbers that are written out."""
_DIGITS = 4
"""Significant digits of a mean whose error is 0 or unknown."""
_MOST_DIGITS = 6
"""Significant digits of any mean."""


def with_error(mean: float, error: float) -> str:
    """A mean ± its standard error: the error to two digits, the mean to the same place.

    >>> with_error(234.1234, 1.987), with_error(42_812_345.0, 301_234.0)
    ('234.1 ± 2.0', '(4.281 ± 0.030) × 10⁷')
    >>> with_error(0.5, 0.0), with_error(12_345.6, float("nan")), with_error(float("nan"), 1.0)
    ('0.5 ± 0', '12,350', '–')
    """
    if not isfinite(mean):
        return NO_NUMBER
    power = _power(max(abs(mean), error if isfinite(error) else 0.0))
    shift = 0 if power in _PLAIN else power
    mean, error = mean / 10.0**shift, error / 10.0**shift
    if not isfinite(error) or error == 0:
        text = _significant(mean) + (" ± 0" if error == 0 else "")
        return _scaled(text, shift, bracketed=error == 0)
    places = 1 - _power(error)
    most = _MOST_DIGITS - 1 - _power(mean) if mean else places
    if round(error, most) == 0:  # an error of the arithmetic's own, say: nobody reads so far
        return _scaled(f"{_fixed(mean, most)} ± 0", shift, bracketed=True)
    places = min(places, most)
    text = f"{_fixed(mean, places)} ± {_fixed(error, places)}"
    return _scaled(text, shift, bracketed=True)


def alone(number: float) -> str:
    """A number without an error.

    >>> alone(0.25), alone(1234567.0), alone(0.0)
    ('0.25', '1.235 × 10⁶', '0')
    """
    return with_error(number, float("nan"))


def _power(number: float) -> int:
    """The power of ten of a number's first digit; 0 for 0."""
    return floor(log10(abs(number))) if number else 0


def _significant(number: float) -> str:
    text = _fixed(number, _DIGITS - 1 - _power(number))
    return text.rstrip("0").rstrip(".") if "." in text else text


def _fixed(number: float, places: int) -> str:
    """So many decimal places; where they are negative, that many digits are 0."""
    rounded = round(number, places) + 0.0  # no minus sign before a zero
    return f"{rounded:,.{max(places, 0)}f}"


def _scaled(text: str, shift: int, *, bracketed: bool) -> str:
    if not shift:
        return text
    front = f"({text})" if bracketed else text
    return f"{front} × 10{str(shift).translate(_SUPERSCRIPTS)}"
