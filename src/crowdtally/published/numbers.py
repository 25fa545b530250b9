"""Exact numbers of ``release.json``."""

from __future__ import annotations

from fractions import Fraction

from crowdtally.errors import InputError
from crowdtally.values.rational import recorded


def exact_number(value: object, name: str) -> Fraction:
    """The number that a text denotes; ``name`` is what a message calls it.

    >>> exact_number("1/3", "the unit")
    Fraction(1, 3)
    """
    try:
        return recorded(str(value))
    except ValueError:
        raise InputError(
            f"release.json is damaged: {name} is not a number. Copy the release again."
        ) from None


def maybe_number(value: object, name: str) -> Fraction | None:
    """The same, or None where there is none."""
    return None if value is None else exact_number(value, name)
