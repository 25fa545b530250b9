"""Whole numbers that a person gave."""

from __future__ import annotations

from fractions import Fraction

from crowdtally.errors import UsageError


def is_whole(value: object) -> bool:
    """Whether it is a Python integer; True and False are not numbers here."""
    return isinstance(value, int) and not isinstance(value, bool)


def whole_number(value: object, name: str, least: int, most: int) -> int:
    """The number, or a UsageError unless it is whole and between ``least`` and ``most``.

    >>> whole_number(10, "--max-records", 1, 100)
    10
    """
    if not isinstance(value, int) or not is_whole(value) or not least <= value <= most:
        raise UsageError(
            f"{name} must be a whole number between {least} and {most}: received {received(value)}."
        )
    return value


def received(value: object) -> str:
    """What a message repeats of a parameter: a value that was typed, never a frame of records.

    >>> received("ten"), received(1.5), received([1])
    ("'ten'", '1.5', 'a list')
    """
    if value is None or isinstance(value, str | int | float | Fraction):
        return repr(value)
    return f"a {type(value).__name__}"
