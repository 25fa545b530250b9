"""One text for one meaning: the JSON that is hashed.

Keys sorted, no spaces, ASCII only, no floats. Two programs that agree on the content agree on the
bytes, and therefore on the hash.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from fractions import Fraction
from typing import TypeAlias

from crowdtally.budget.amounts import to_text
from crowdtally.core.privacy import Delta, Epsilon, Rho
from crowdtally.errors import UsageError

Json: TypeAlias = "bool | int | str | list[Json] | dict[str, Json] | None"

# Readers in other languages hold a JSON number in a float; beyond this it would change silently.
_LARGEST_NUMBER = 2**53
# What is nested without end can be written, and not be read again by a program that recurses.
_DEEPEST = 22
_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)


def canonical(value: Json) -> str:
    """The text that is hashed.

    >>> canonical({"b": "1/3", "a": [1, None]})
    '{"a":[1,null],"b":"1/3"}'
    """
    return _ENCODER.encode(value)


def exact_json(value: object, name: str, room: int = _DEEPEST) -> Json:
    """``value`` as JSON without loss; ``name`` is what a message calls it.

    Lists and mappings within each other are refused beyond ``room`` levels.

    Rationals become strings, and so do integers that a reader's float could not hold. A float is
    refused: nobody can say which number its author meant.

    >>> exact_json({"scale": Fraction(1, 3), "bound": 4}, "parameters")
    {'scale': '1/3', 'bound': 4}
    """
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, Epsilon | Delta | Rho):
        return to_text(value.value)
    if isinstance(value, int):
        return value if abs(value) <= _LARGEST_NUMBER else to_text(Fraction(value))
    if isinstance(value, Fraction):
        return to_text(value)
    if isinstance(value, Mapping):
        _require_room(room, name)
        return {
            _key(key, name): item
            if type(item) is str  # most are, and need no name
            else exact_json(item, f"{name}.{key}", room - 1)
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        _require_room(room, name)
        return [exact_json(item, f"{name}[{place}]", room - 1) for place, item in enumerate(value)]
    raise UsageError(
        f"{name} cannot be recorded exactly: received a {type(value).__name__}; "
        "give a Fraction, an integer, a string, or a list or mapping of these."
    )


def _require_room(room: int, name: str) -> None:
    if room <= 0:
        raise UsageError(
            f"{name[:80]} cannot be recorded: lists and mappings within each other go deeper than "
            f"{_DEEPEST} levels. Give flatter ones."
        )


def _key(key: object, name: str) -> str:
    if not isinstance(key, str):
        raise UsageError(f"{name} has a key that is not a string: received {key!r}.")
    return key
