"""Numbers as pages write them: thousands apart by a narrow space that no line breaks."""

from __future__ import annotations

from math import floor, isfinite, log10

THIN = "\N{NARROW NO-BREAK SPACE}"
MINUS = "\N{MINUS SIGN}"
NO_NUMBER = "–"
"""Stands where there is no number."""
_DIGITS = 3


def grouped(value: float | None) -> str:
    """A number for people: whole from 100 on, else to three digits; a true minus sign.

    >>> grouped(1234567).replace(THIN, "_"), grouped(-12.345), grouped(0.01234), grouped(None)
    ('1_234_567', '−12.3', '0.0123', '–')
    """
    if value is None or not isfinite(value):
        return NO_NUMBER
    places = 0 if isinstance(value, int) or not value else _DIGITS - 1 - floor(log10(abs(value)))
    rounded = round(value, places) if 0 < places < 12 else round(value)
    text = f"{rounded:,}" if isinstance(rounded, int) else f"{rounded:,.{max(places, 0)}f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return text.replace(",", THIN).replace("-", MINUS)


def between(low: float | None, high: float | None) -> str:
    """An interval.

    >>> between(-3.0, 1200.0).replace(THIN, "_"), between(None, 1.0)
    ('−3 to 1_200', '–')
    """
    if low is None or high is None:
        return NO_NUMBER
    return f"{grouped(low)} to {grouped(high)}"


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
