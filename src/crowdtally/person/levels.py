"""What a person allows for each category of items."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Literal

from crowdtally.core.numbers import show
from crowdtally.core.privacy import Epsilon
from crowdtally.core.row_files import opened
from crowdtally.errors import InputError, UsageError, did_you_mean

# What a person allows for each category: no release, perturbed with an ε of its own, all release.
#
# A level is public: a recommender that never sees a category may guess why. So it is to be chosen
# by what one thinks of the category, not by what one's history has in it.

Kind = Literal["no", "perturbed", "all"]

LEAST = Fraction(1, 10**6)
"""Below this ε the noise on a count is a million and more: it says nothing."""
MOST = Fraction(10**6)
"""Above this ε nothing is protected."""


@dataclass(frozen=True)
class Level:
    """What may leave the device of one category."""

    kind: Kind
    """``no``: nothing; ``perturbed``: noisy, within ``epsilon``; ``all``: as it is."""
    epsilon: Epsilon | None = None
    """For ``perturbed``: the most that an item of the category may lose."""

    def __post_init__(self) -> None:
        if (self.kind == "perturbed") != (self.epsilon is not None):
            raise UsageError("a level has an epsilon where it is perturbed, and only there.")
        if self.epsilon is not None:
            checked(self.epsilon)

    @classmethod
    def of(cls, value: object) -> Level:
        """From what a person typed: ``no``, ``all``, or an epsilon.

        >>> Level.of("no"), Level.of("0.5").epsilon
        (Level(kind='no', epsilon=None), Epsilon(value=Fraction(1, 2)))
        """
        if isinstance(value, Level):
            return value
        if value in ("no", "all"):
            return cls("no" if value == "no" else "all")
        try:
            return cls("perturbed", Epsilon.of(value))
        except UsageError as error:
            raise UsageError(
                f"a level is no (nothing leaves), all (everything leaves as it is) or an epsilon: "
                f"{error}"
            ) from None

    def __str__(self) -> str:
        return self.kind if self.epsilon is None else str(self.epsilon)


@dataclass(frozen=True)
class Levels:
    of_category: Mapping[str, Level] = field(default_factory=dict)
    """By the category's name; a category that is not named has the request's ε."""

    @classmethod
    def of(cls, levels: Levels | Mapping[str, object] | None) -> Levels:
        """From a mapping such as ``{"horror": "no", "comedy": 2}``."""
        if isinstance(levels, Levels):
            return levels
        if levels is None:
            return cls()
        if not isinstance(levels, Mapping):
            raise UsageError(
                'levels are given for each category, such as {"horror": "no", "comedy": 2}: '
                f"received a {type(levels).__name__}."
            )
        return cls({name: _named(name, value) for name, value in sorted(levels.items())})

    def require_known(self, categories: tuple[str, ...]) -> None:
        for name in self.of_category:
            if name not in categories:
                raise UsageError(
                    f"there is a level for {name!r}, which is no category of the catalogue. "
                    f"{did_you_mean(str(name), categories)}"
                )

    def each(self, categories: tuple[str, ...], epsilon: Epsilon) -> tuple[Level, ...]:
        """The level of each category, ``epsilon`` where none was given."""
        usual = Level("perturbed", epsilon)
        return tuple(self.of_category.get(name, usual) for name in categories)

    def as_json(self) -> dict[str, str]:
        return {name: str(level) for name, level in sorted(self.of_category.items())}


def _named(name: object, value: object) -> Level:
    try:
        return Level.of(value)
    except UsageError as error:
        raise UsageError(f"the level of {str(name)[:80]!r}: {error}") from None


def checked(epsilon: Epsilon) -> Epsilon:
    """``epsilon`` if noise of it says something and protects something."""
    if not LEAST <= epsilon.value <= MOST:
        small = epsilon.value < LEAST
        noisy = "noise of a million and more on every count would say nothing"
        why = noisy if small else "it would protect nothing"
        raise UsageError(
            f"epsilon {show(epsilon.value)[:40]} is too {'small' if small else 'large'}: {why}. "
            f"Give one between {show(LEAST)} and {show(MOST)}; 0.1 to 3 is usual."
        )
    return epsilon


# Levels from a file and from options: ``CATEGORY=no|all|EPSILON``.

COLUMNS = ("category", "level")


def read_levels(source: str | os.PathLike[str]) -> dict[str, str]:
    """The levels in a table with the columns ``category`` and ``level``: CSV or JSON lines."""
    path = Path(os.fspath(source))
    with opened(path) as file:
        for name in COLUMNS:
            if name not in file.columns:
                raise InputError(
                    f"the levels in {str(path)!r} need the columns category and level. "
                    f"{did_you_mean(name, file.columns)}"
                )
        rows = list(file.rows([file.columns.index(name) for name in COLUMNS]))
    return _once(((category or "", level or "") for category, level in rows), repr(str(path)))


def typed_levels(texts: Iterable[str]) -> dict[str, str]:
    """The levels of repeated options.

    >>> typed_levels(["horror=no", "a=b=0.5"])
    {'horror': 'no', 'a=b': '0.5'}
    """
    pairs = []
    for text in texts:
        category, equals, level = text.rpartition("=")
        if not equals or not category:
            raise UsageError(
                f"--level is CATEGORY=no, CATEGORY=all or CATEGORY=EPSILON: received {text[:80]!r}."
            )
        pairs.append((category, level))
    return _once(pairs, "--level")


def together(file: Mapping[str, str] | None, typed: Mapping[str, str]) -> Levels:
    return Levels.of({**(file or {}), **typed})


def _once(pairs: Iterable[tuple[str, str]], where: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for category, level in pairs:
        if category in found:
            raise UsageError(f"{where} gives two levels to {category[:80]!r}: keep one.")
        found[category] = level
    return found
