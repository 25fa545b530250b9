"""How damage is said."""

from __future__ import annotations

from pathlib import Path

from crowdtally.errors import InputError

_LONGEST = 60


def damaged(path: Path, what: str) -> InputError:
    """The error for a file of a release; ``what`` says what is wrong with it."""
    return InputError(f"{str(path)!r} is damaged: {what}. Copy the release again.")


def received(value: object) -> str:
    """What was found in a field, for a message.

    >>> received(None), received([1, 2]), received("ab")
    ('null', 'a list', "'ab'")
    """
    if value is None:
        return "null"
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 100:
        return "a number of too many digits"
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
