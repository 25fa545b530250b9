"""Privacy losses, and the unit that they protect."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal, Self

from crowdtally.core.numbers import exact, show
from crowdtally.errors import UsageError


@dataclass(frozen=True, order=True)
class _Loss:
    """An exact and positive bound of a privacy loss; bounds of different kinds are never equal."""

    letter: ClassVar[str]
    """Its name for people."""
    field: ClassVar[str]
    """Its name in files."""
    usual: ClassVar[str]

    value: Fraction

    def __post_init__(self) -> None:
        if not isinstance(self.value, Fraction):
            raise UsageError(f"{self.field} must be a Fraction here: received {type(self.value)}.")
        if self.value <= 0:
            raise UsageError(
                f"{self.field} must be greater than 0: received {show(self.value)}. "
                f"Smaller is more private; {self.usual} is usual."
            )

    @classmethod
    def of(cls, number: object) -> Self:
        """From a number that a person typed: ``"0.1"``, ``"1/3"``, an int, a Fraction, a float.

        >>> Epsilon.of(0.1) * 10 == Epsilon.of("1"), Rho.of("0.01") * 2 == Rho.of("1/50")
        (True, True)
        """
        return number if isinstance(number, cls) else cls(exact(number, cls.field))

    def __mul__(self, share: int | Fraction) -> Self:
        return type(self)(self.value * share)

    def __str__(self) -> str:
        return show(self.value)


class Epsilon(_Loss):
    """A privacy loss bound, exact and positive."""

    letter, field, usual = "ε", "epsilon", "0.1 to 1"


class Rho(_Loss):
    """A loss of zero-concentrated differential privacy (zCDP), exact and positive."""

    letter, field, usual = "ρ", "rho", "0.001 to 0.1"


@dataclass(frozen=True, order=True)
class Delta:
    """A probability of exceeding ε, exact, in [0, 1). Zero is pure differential privacy."""

    value: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        if not 0 <= self.value < 1:
            raise UsageError(
                f"delta must be at least 0 and below 1: received {show(self.value)}. "
                "A usual choice is 1e-9 or less, well below one over the number of users."
            )

    @classmethod
    def of(cls, number: object) -> Delta:
        return number if isinstance(number, cls) else cls(exact(number, "delta"))

    def __str__(self) -> str:
        return show(self.value)


Price = Epsilon | Rho  # the cost of a mechanism: pure ε, or ρ of zCDP


def in_words(price: Price) -> str:
    """The price with its letter.

    >>> in_words(Epsilon.of("1/2")), in_words(Rho.of("0.015"))
    ('ε 0.5', 'ρ 0.015')
    """
    return f"{price.letter} {price}"


Kind = Literal["user", "same-person", "row", "bounded-elsewhere", "person", "item"]

NEIGHBOURS = {
    "user": "databases that differ by all records of one user, added or removed",
    "same-person": "databases that differ by all records of one person, under all ids that a table "
    "says are that person's, added or removed",
    "row": "databases that differ by one row, added or removed; each row is one person",
    "bounded-elsewhere": "databases that differ by all rows of one person, added or removed; how "
    "many these are at most is the publisher's statement, which is not checked",
    "person": "databases that differ by one person, added or removed; a row stands for as many "
    "persons as its weight says",
    "item": "histories of one person that differ by one item, added or removed, on that device",
}
"""Neighbouring databases, for each kind of unit."""

_NAMING = ("user", "same-person", "person")


@dataclass(frozen=True)
class PrivacyUnit:
    """What neighbouring databases differ by. Epsilons of different units never add up."""

    kind: Kind
    column: str | None = None
    """For ``user`` and ``same-person``: the column, or columns, that say whose record it is. For
    ``person``: the weight."""

    def __post_init__(self) -> None:
        if self.kind not in NEIGHBOURS:
            raise UsageError(f"unknown privacy unit {self.kind!r}: use {', '.join(NEIGHBOURS)}.")
        if (self.kind in _NAMING) != (self.column is not None):
            kinds = " or ".join(map(repr, _NAMING))
            raise UsageError(f"a privacy unit of kind {kinds} names its column, and only those.")

    @property
    def key(self) -> str:
        """One string that is equal for equal units.

        >>> PrivacyUnit("user", "user_id").key
        'user:user_id'
        """
        return f"{self.kind}:{self.column}" if self.column is not None else self.kind

    @property
    def typed(self) -> str:
        """The options of a release that mean this unit.

        >>> PrivacyUnit("same-person", "shop, customer").typed
        '--user shop,customer --same-person FILE'
        """
        columns = (self.column or "").replace(", ", ",")
        return {
            "user": f"--user {columns}",
            "same-person": f"--user {columns} --same-person FILE",
            "row": "--user-per-row",
            "bounded-elsewhere": "--bounded-to L",
            "person": f"--user-per-row --weight {columns}",
            "item": "",
        }[self.kind]

    @property
    def neighbours(self) -> str:
        return NEIGHBOURS[self.kind]

    @property
    def unchecked(self) -> str | None:
        """The statement of the publisher that is not checked, in a sentence."""
        if self.kind != "bounded-elsewhere":
            return None
        return (
            "That no person has more rows than --bounded-to says is the publisher's statement, and "
            "is not checked."
        )

    @property
    def who(self) -> str:
        return "user" if self.kind == "user" else "person"
