"""What an address says: how much may be revealed, overall and of single categories.

Categories stand in it by their places in the public catalogue. Nothing of a history does: browsers
keep addresses.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Self
from urllib.parse import urlencode

from crowdtally.core.privacy import Epsilon
from crowdtally.errors import UsageError
from crowdtally.person.levels import Level, Levels, checked

POLICY = "policy"
"""Stands for an ε that a public policy finds."""
LONGEST = 40
"""Letters of an ε that is typed."""


@dataclass(frozen=True)
class Choice:
    """What a person chose; all of it public."""

    epsilon: str = ""
    """Exact, or ``policy``; empty where nothing is chosen yet."""
    levels: Mapping[int, str] = field(default_factory=dict)
    """The level of each category that has its own, by its place in the catalogue."""

    @classmethod
    def of(cls, epsilon: str, levels: str, categories: int) -> Self:
        """From the parameters of an address; what is wrong in it is refused."""
        return cls(typed_epsilon(epsilon), dict(_spread(levels, categories)))

    def with_levels(self, changed: Mapping[int, str]) -> Choice:
        """With other levels of some categories; an empty one is none of its own."""
        together = {**self.levels, **{place: _level(text) for place, text in changed.items()}}
        return Choice(self.epsilon, {place: text for place, text in together.items() if text})

    def named(self, categories: tuple[str, ...]) -> Levels:
        """The levels by the names of their categories."""
        return Levels.of({categories[place]: text for place, text in self.levels.items()})

    @property
    def packed(self) -> str:
        """The levels as an address has them.

        >>> Choice("1", {7: "no", 8: "no", 9: "no", 2: "1/2", 5: "no"}).packed
        '1/2:2;no:5,7-9'
        """
        places: dict[str, list[int]] = {}
        for place, level in sorted(self.levels.items()):
            places.setdefault(level, []).append(place)
        return ";".join(f"{level}:{','.join(_runs(places[level]))}" for level in sorted(places))

    def query(self, **more: object) -> str:
        """The end of an address that says the same, and what else shall be in it."""
        pairs = [("epsilon", self.epsilon), ("levels", self.packed)]
        pairs += [(name, str(value)) for name, value in more.items() if value not in (None, "")]
        return urlencode(pairs, safe=":;,/")

    @property
    def fields(self) -> list[tuple[str, str]]:
        """The same for a form."""
        return [("epsilon", self.epsilon), ("levels", self.packed)]


def typed_epsilon(text: str) -> str:
    """An ε as it is kept: exact and in one spelling.

    >>> typed_epsilon(" 0.50 "), typed_epsilon("policy"), typed_epsilon("")
    ('0.5', 'policy', '')
    """
    plain = text.strip()
    if plain in ("", POLICY):
        return plain
    if len(plain) > LONGEST:
        raise UsageError(f"an epsilon has at most {LONGEST} letters: received {len(plain):,}.")
    return str(checked(Epsilon.of(plain)))


def _level(text: str) -> str:
    plain = text.strip()
    return plain if plain in ("", "no", "all") else str(Level.of(typed_epsilon(plain)))


def _spread(text: str, categories: int) -> Iterator[tuple[int, str]]:
    """The place and the level of each category that is named."""
    for part in filter(None, text.split(";")):
        level, _, places = part.partition(":")
        plain = _level(level)
        if not plain or plain == POLICY:
            raise _damaged()
        for place in _places(places, categories):
            yield place, plain


def _places(text: str, categories: int) -> Iterator[int]:
    for part in text.split(","):
        first, dash, last = part.partition("-")
        ends = [first, last if dash else first]
        if not all(end.isascii() and end.isdecimal() and len(end) < 10 for end in ends):
            raise _damaged()
        low, high = map(int, ends)
        if not low <= high < categories:
            raise _damaged()
        yield from range(low, high + 1)


def _runs(places: Iterable[int]) -> Iterator[str]:
    """Ascending places, neighbours together."""
    begun: list[int] = []
    for place in [*places, -1]:
        if begun and place != begun[-1] + 1:
            yield str(begun[0]) if len(begun) == 1 else f"{begun[0]}-{begun[-1]}"
            begun = []
        begun.append(place)


def _damaged() -> UsageError:
    return UsageError("the levels in the address are damaged: choose them anew on the first page.")
