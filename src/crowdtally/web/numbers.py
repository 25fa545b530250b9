"""Numbers as pages write them: by themselves thousands apart by a narrow space."""

from __future__ import annotations

from math import floor, isfinite, log10

from crowdtally.web.numerals import THIN, current

__all__ = ["THIN", "between", "chance", "grouped", "percent"]
MINUS = "\N{MINUS SIGN}"
NO_NUMBER = "–"
"""Stands where there is no number."""
_DIGITS = 3


def grouped(value: float | None) -> str:
    """A number for people: whole from 100 on, else to three digits or a thousandth.

    >>> grouped(1234567).replace(THIN, "_"), grouped(-12.345), grouped(0.01234), grouped(None)
    ('1_234_567', '−12.3', '0.012', '–')
    >>> grouped(-1e-9), grouped(10**20 + 1).replace(THIN, "")
    ('0', '100000000000000000001')
    """
    if value is None or not isfinite(value):
        return NO_NUMBER
    if isinstance(value, int):
        text = f"{value}"
    else:
        digits = _DIGITS - 1 - floor(log10(abs(value))) if value else 0
        places = min(max(digits, 0), _DIGITS)
        text = f"{round(value, places) + 0.0:.{places}f}"  # no minus sign before a zero
        text = text.rstrip("0").rstrip(".") if "." in text else text
    return current().written(text.replace("-", MINUS))


def between(low: float | None, high: float | None) -> str:
    """An interval.

    >>> between(-3.0, 1200.0).replace(THIN, "_"), between(None, 1.0)
    ('−3 to 1_200', '–')
    """
    if low is None or high is None:
        return NO_NUMBER
    return f"{grouped(low)} to {grouped(high)}"


def chance(probability: float | None) -> str:
    """A probability that follows from estimates: never certain.

    >>> chance(0.42), chance(1.0), chance(0.0), chance(None)
    ('42%', 'over 99%', 'under 1%', '–')
    """
    return percent(None if probability is None else min(max(probability, 1e-9), 1 - 1e-9))


def percent(share: float | None) -> str:
    """A share or a probability; what is not quite 0 or 1 does not look like it.

    >>> percent(0.5), percent(0.9999), percent(1.0), percent(0.0004), percent(None)
    ('50%', 'over 99%', '100%', 'under 1%', '–')
    """
    if share is None:
        return NO_NUMBER
    if 0 < share < 0.01:
        return "under 1%"
    return "over 99%" if 0.99 < share < 1 else f"{share:.0%}"
