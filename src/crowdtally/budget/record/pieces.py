"""Canonical texts cut into their members, and values known by their texts.

Pieces that are each the canonical text of a value, put together between the keys of an object in
their order, are the canonical text of that object. So it does not matter how the cuts were found:
where every piece is such a text, they are the right ones.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from crowdtally.budget.record.canonical import canonical

_MOST = 4096
_LONGEST = 2000  # characters; longer texts are read each time, so that the memory stays bounded
T = TypeVar("T")


def value_of(text: str) -> Any:
    """The value that a canonical text stands for; a ``ValueError`` where it is not canonical.

    >>> value_of('{"a":1}')
    {'a': 1}
    """
    inside = text[1:-1]
    # Most texts by far: printable ASCII without an escape stands for itself.
    if (
        text == f'"{inside}"'
        and inside.isascii()
        and inside.isprintable()
        and '"' not in inside
        and "\\" not in inside
    ):
        return inside
    value = json.loads(text)
    if canonical(value) != text:
        raise ValueError("not in canonical form")
    return value


class Keys:
    """The keys of an object in canonical form, at which its text is cut."""

    def __init__(self, *keys: str) -> None:
        self._first = f'{{"{keys[0]}":'
        self._others = [f',"{key}":' for key in reversed(keys[1:])]

    def cut(self, text: str) -> list[str]:
        """The texts of the members, in order; a ``ValueError`` where a key is not found.

        A key is looked for from the end. One that occurs again, deeper in the member of its own
        name or after it, leads to a wrong cut, and that to a piece that is no JSON.

        >>> Keys("a", "b").cut('{"a":{"b":1},"b":[2]}')
        ['{"b":1}', '[2]']
        """
        end, found = len(text) - 1, []
        for key in self._others:
            start = text.rindex(key, 0, end)
            found.append(text[start + len(key) : end])
            end = start
        if not text.startswith(self._first) or not text.endswith("}"):
            raise ValueError("other keys")
        found.append(text[len(self._first) : end])
        found.reverse()
        return found


class Known(Generic[T]):
    """What was made of values, by their canonical texts: the same text is read once."""

    def __init__(self, made: Callable[[Any], T]) -> None:
        self._made = made
        self._found: dict[str, T] = {}

    def of(self, text: str) -> T:
        """What is made of the value; a ``ValueError`` where the text is not canonical."""
        try:
            return self._found[text]
        except KeyError:
            pass
        found = self._made(value_of(text))
        if len(text) <= _LONGEST:
            if len(self._found) >= _MOST:
                self._found.clear()
            self._found[text] = found
        return found
