"""ε, δ and ρ as values: exact, validated where they are made."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from crowdtally.errors import UsageError
from crowdtally.values.rational import exact, show


@dataclass(frozen=True, order=True)
class Epsilon:
    """A privacy loss bound, exact and positive."""

    letter: ClassVar[str] = "ε"
    """What people read."""
    field: ClassVar[str] = "epsilon"
    """What files call it."""

    value: Fraction
    """The rational itself."""

    def __post_init__(self) -> None:
        if not isinstance(self.value, Fraction):
            raise UsageError(f"epsilon must be a Fraction here: received {type(self.value)}.")
        if self.value <= 0:
            raise UsageError(
                f"epsilon must be greater than 0: received {show(self.value)}. "
                "Smaller is more private; 0.1 to 1 is usual."
            )

    @classmethod
    def of(cls, number: object) -> Epsilon:
        """From what a person typed: ``"0.1"``, ``"1/3"``, an int, a Fraction, a float.

        >>> Epsilon.of(0.1) * 10 == Epsilon.of("1")
        True
        """
        return number if isinstance(number, cls) else cls(exact(number, "epsilon"))

    def __mul__(self, share: int | Fraction) -> Epsilon:
        return Epsilon(self.value * share)

    def __str__(self) -> str:
        return show(self.value)


@dataclass(frozen=True, order=True)
class Delta:
    """A probability of exceeding ε, exact, in [0, 1). Zero is pure differential privacy."""

    value: Fraction = Fraction(0)
    """The rational itself."""

    def __post_init__(self) -> None:
        if not 0 <= self.value < 1:
            raise UsageError(
                f"delta must be at least 0 and below 1: received {show(self.value)}. "
                "A usual choice is 1e-9 or less, well below one over the number of users."
            )

    @classmethod
    def of(cls, number: object) -> Delta:
        """From what a person typed."""
        return number if isinstance(number, cls) else cls(exact(number, "delta"))

    def __str__(self) -> str:
        return show(self.value)


@dataclass(frozen=True, order=True)
class Rho:
    """A loss of zero-concentrated differential privacy (zCDP), exact and positive."""

    letter: ClassVar[str] = "ρ"
    """What people read."""
    field: ClassVar[str] = "rho"
    """What files call it."""

    value: Fraction
    """The rational itself."""

    def __post_init__(self) -> None:
        if not isinstance(self.value, Fraction):
            raise UsageError(f"rho must be a Fraction here: received {type(self.value)}.")
        if self.value <= 0:
            raise UsageError(
                f"rho must be greater than 0: received {show(self.value)}. "
                "Smaller is more private; 0.001 to 0.1 is usual."
            )

    @classmethod
    def of(cls, number: object) -> Rho:
        """From what a person typed: ``"0.01"``, ``"1/3"``, an int, a Fraction, a float.

        >>> Rho.of("0.01") * 2 == Rho.of("1/50")
        True
        """
        return number if isinstance(number, cls) else cls(exact(number, "rho"))

    def __mul__(self, share: int | Fraction) -> Rho:
        return Rho(self.value * share)

    def __str__(self) -> str:
        return show(self.value)


Price = Epsilon | Rho
"""What a mechanism costs: pure ε, or ρ of zCDP."""


def in_words(price: Price) -> str:
    """With its letter.

    >>> in_words(Epsilon.of("1/2")), in_words(Rho.of("0.015"))
    ('ε 0.5', 'ρ 0.015')
    """
    return f"{price.letter} {price}"
